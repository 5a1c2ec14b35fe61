"""What each piece of a page is, under which headings it stands and where it can be opened."""

from __future__ import annotations

from wellread.reading.extract import extract
from wellread.text.blocks import passages
from wellread.types import Block

PROSE = "The keeper of the lighthouse wrote down the weather each evening for eleven winters, and his goats listened."


def blocks(body: str) -> tuple[Block, ...]:
    return extract(f"<html><body><article>{body}<p>{PROSE}</p><p>{PROSE}</p></article></body></html>").blocks[:-2]


def test_kinds_and_levels() -> None:
    found = blocks(
        f"<p>{PROSE}</p><h3>What he wrote</h3><ul><li>wind<ul><li>from where</li></ul></li></ul>"
        f"<blockquote><p>It never stops.</p></blockquote><pre>a\n  b</pre>"
        "<table><tr><th>Year</th><th>Storms</th></tr><tr><td>1881</td><td>14</td></tr></table>"
    )
    assert [(block.kind, block.level) for block in found] == [
        ("paragraph", 0),
        ("heading", 3),
        ("item", 1),
        ("item", 2),
        ("quote", 0),
        ("code", 0),
        ("row", 0),
        ("row", 0),
    ]
    assert found[5].text == "a\n  b"
    assert found[7].text == "| 1881 | 14 |"


def test_an_entry_is_its_term_with_what_is_said_of_it() -> None:
    found = blocks(
        f"<p>{PROSE}</p><dl><dt>wind</dt><dd><p>Moving air.</p><p>It has a direction.</p></dd>"
        "<dt>fog</dt><dt>mist</dt><dd>Water that stays.</dd><dt>hail</dt></dl>"
    )
    assert [(block.kind, block.text) for block in found[1:]] == [
        ("entry", "wind: Moving air."),
        ("paragraph", "It has a direction."),
        ("entry", "fog, mist: Water that stays."),
        ("entry", "hail"),
    ]
    assert passages(found[1:]) == ("wind: Moving air.\n  It has a direction.", "fog, mist: Water that stays.", "hail")


def test_a_block_knows_the_place_nearest_before_it() -> None:
    found = blocks(
        f"<section id='weather'><h2>Weather</h2><p>{PROSE}</p><h3><a name='wind'></a>Wind</h3><p>{PROSE} It blows.</p>"
        f"<p>{PROSE} <span id='note-1'></span>It stops.</p></section>"
    )
    assert [block.anchor for block in found] == ["weather", "weather", "wind", "wind", "note-1"]


def test_a_term_of_which_nothing_is_said_keeps_its_place_to_itself() -> None:
    found = blocks(
        f"<p>{PROSE}</p><dl><dt><a name='hail'></a>hail</dt><dt id='sleet'>sleet</dt></dl><h2 id='goats'>Goats</h2><p>{PROSE}</p>"
    )
    assert [block.anchor for block in found] == ["", "hail", "sleet", "goats", "goats"]


def test_a_heading_is_never_part_of_another_passage() -> None:
    found = (Block("item", "wind", 1), Block("heading", "Goats", 2), Block("item", "two", 1), Block("paragraph", "more", 1))
    assert passages(found) == ("- wind", "## Goats", "- two\n  more")


def test_passages_are_made_of_the_blocks() -> None:
    page = extract(f"<body><h2>Weather</h2><p>{PROSE}</p><ul><li>wind</li><li>{PROSE}</li></ul></body>")
    assert page.passages == passages(page.blocks)
