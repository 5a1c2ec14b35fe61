"""Plain text as people and programs write it: what stands out as a heading is one, and prose is put together again."""

from __future__ import annotations

import time

import pytest
from tests.reading.given_bytes import read_bytes

from wellread.types import Page

PROSE = "The keeper wrote down the wind and the cloud each evening\nbefore he went to bed, for eleven winters in a row."
JOINED = PROSE.replace("\n", " ")


def read(text: str) -> Page:
    return read_bytes(text.encode(), "file:///a.txt", name="a.txt")


def said(text: str) -> list[tuple[str, str]]:
    return [(f"{block.kind}{block.level or ''}", block.text) for block in read(text).blocks]


def test_underlined_and_overlined_headings() -> None:
    text = f"******\nLamps\n******\n\nOil\n===\n{PROSE}\n\nWhale oil\n---------\n\nDear.\n\nGas\n===\n\nCheap."
    assert said(text) == [
        ("heading1", "Lamps"), ("heading2", "Oil"), ("paragraph", JOINED), ("heading3", "Whale oil"), ("paragraph", "Dear."),
        ("heading2", "Gas"), ("paragraph", "Cheap."),
    ]  # fmt: skip
    assert read(text).title == "Lamps"


def test_letters_that_are_two_wide_are_underlined_too() -> None:
    assert said("灯台守\n------\n\n風。") == [("heading1", "灯台守"), ("paragraph", "風。")]


def test_numbered_headings_but_no_lists() -> None:
    text = f"1. Oil\n\n1.1. Who fills it?\n\n{PROSE}\n\n2. Wicks\n\nTrim:\n\n1. Open it.\n\n2. Cut.\n\nChapter 3. Glass\n\nClean."
    assert [one for one in said(text) if one[0].startswith("heading")] == [
        ("heading1", "1. Oil"), ("heading2", "1.1. Who fills it?"), ("heading1", "2. Wicks"), ("heading1", "Chapter 3. Glass"),
    ]  # fmt: skip
    steps = "Do this:\n\n1. Open the lamp\n\n2. Fill it\n\n3. Close it"
    assert [kind for kind, _ in said(steps)][:3] == ["paragraph"] * 3


def test_capitals_that_stand_alone_are_a_heading_and_shouting_is_not() -> None:
    assert said("HOW TO BEGIN\n\nFill it.") == [("heading1", "HOW TO BEGIN"), ("paragraph", "Fill it.")]
    assert said("Read this.\n\nTHE LAMP IS PROVIDED AS IT IS.\n\nSo.")[1] == ("paragraph", "THE LAMP IS PROVIDED AS IT IS.")


def test_lines_that_hang_out_of_the_margin_are_headings() -> None:
    """As `man` and pod2text write."""
    inner = PROSE.replace("\n", "\n       ")
    text = f"NAME\n       lamp - light\n\nSYNOPSIS\n       lamp [-q] file\n\n   On oil\n       {inner}\n\n       {inner}\n"
    assert said(text) == [
        ("heading1", "NAME"), ("paragraph", "lamp - light"), ("heading1", "SYNOPSIS"), ("paragraph", "lamp [-q] file"),
        ("heading2", "On oil"), ("paragraph", JOINED), ("paragraph", JOINED),
    ]  # fmt: skip


def test_headings_in_the_middle_and_of_outlines() -> None:
    assert said(f"{' ' * 33}Lamps\n\nFill it.") == [("heading1", "Lamps"), ("paragraph", "Fill it.")]
    outline = "* News\n\n** More oil\n\nFill it.\n\n* A list\n  of one.\n"
    assert said(outline)[:3] == [("heading1", "News"), ("heading2", "More oil"), ("paragraph", "Fill it.")]
    assert said("# Lamps\nFill it.\n\n### oil:\nWhale.") == [
        ("heading1", "Lamps"), ("paragraph", "Fill it."), ("heading3", "oil"), ("paragraph", "Whale."),
    ]  # fmt: skip
    assert said("* One.\n\n* Two.")[0] == ("paragraph", "* One.")


def test_paragraphs_of_books_and_indented_prose_are_joined_and_code_is_not() -> None:
    indented = PROSE.replace("\n", "\n    ")
    code = "    ./configure --with-oil --with-wick --prefix=/opt/lamp --strict\n    make lamp"
    assert said(f"Plain.\n\n    {indented}\n\nSo:\n\n{code}\n\n   {PROSE}\n\n{PROSE}\n\n{PROSE}")[1:5] == [
        ("paragraph", JOINED), ("paragraph", "So:"), ("paragraph", code), ("paragraph", JOINED),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("The keeper lists the lamps of the whole house by 'lamps\n-print', and writes them down.", True),
        ("Each evening he asks the house for its lamps by 'lamps\n--all --brief' and writes all of them down.", True),
        ("  The keeper wrote down the wind each evening before bed;\nhowever, not the cloud, of which he had seen enough.", True),
        ("   The keeper wrote down the wind each evening before he\nwent to bed, and then he used the command", True),
        ("-a  All the lamps of the house, in the order of rooms.\n-b  Those that burn.", False),
        ("The keeper wrote down all of these each single evening:\n-w  the wind\n-c  the cloud", False),
        ("He wrote down the wind of every single evening and then\n- the cloud", False),
    ],
)
def test_a_line_that_was_wrapped_may_begin_with_a_sign(lines: str, joined: bool) -> None:
    assert said(f"Plain.\n\n{lines}\n\nEnd.")[1] == ("paragraph", lines.strip().replace("\n", " ") if joined else lines)


def test_lines_without_blanks_are_joined_without_one() -> None:
    text = "灯台守は毎晩、寝る前に風と雲のことを帳面に書き留めた。それは\n十一年の間続いたのである。"
    assert said(text) == [("paragraph", text.replace("\n", ""))]


def test_what_printers_and_terminals_are_told_is_left_out() -> None:
    assert said("N\bNA\bAM\bME\bE and \x1b[1mbold\x1b[0m words") == [("paragraph", "NAME and bold words")]
    foot = "Moor                      Informational                    [Page 3]\n\f\nRFC 9999       On Lamps       March 2024\n\n"
    assert said(f"First.\n\n\n{foot}\nSecond.") == [("paragraph", "First."), ("paragraph", "Second.")]


def test_lines_of_signs_are_no_text() -> None:
    assert said("One.\n\n==========\n\n━━━━━━━━\n\nTwo.") == [("paragraph", "One."), ("paragraph", "Two.")]


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize(
    "text", ["1. " * 100_000, "A\n=\n" * 50_000, " " * 300_000 + "a", "-" * 300_000, "[Page 1]\n" * 50_000, "a\x08" * 200_000]
)
def test_no_text_takes_long(text: str) -> None:
    begun = time.process_time()
    read(f"Words.\n\n{text}")
    assert time.process_time() - begun < 3
