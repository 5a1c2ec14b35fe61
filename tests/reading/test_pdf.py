"""PDFs with structure, set here line by line."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from tests.reading.given_bytes import read_bytes
from tests.timing import seconds

from wellread.errors import ReadError
from wellread.reading.allowance import Allowance
from wellread.reading.pdflines import mended
from wellread.text.split import Splitting, pieces
from wellread.types import Page

PROSE = ("The keeper wrote down the wind and the cloud each evening", "before he went to bed, for eleven winters in a row.")
Set = tuple[float, float, float, str, str]  # left, height, size, font, words
FONTS = {"F": "Helvetica", "B": "Helvetica-Bold", "M": "Courier"}


def pdf(*pages: Sequence[Set], outline: Sequence[tuple[str, int, float]] = (), title: str = "", picture: bool = False) -> bytes:
    """Pages of lines at their places; the outline's entries are (title, page, height)."""
    fonts = " ".join(f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{base} >>" for name, base in FONTS.items())
    objects = ["", "", f"<< /Title ({title}) >>"]
    kids: list[int] = []
    for lines in pages:
        shown = "".join(f"BT /{font} {size} Tf {x} {y} Td ({words}) Tj ET\n" for x, y, size, font, words in lines)
        if picture and not lines:
            shown = "q 300 0 0 300 50 50 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q"
        objects.append(f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R "
            f"/Resources << /Font << {fonts} >> >> >>"
        )
        kids.append(len(objects))
    first = len(objects) + 2
    for place, (words, page, height) in enumerate(outline):
        after = f"/Next {first + place + 1} 0 R" if place + 1 < len(outline) else ""
        target = f"[{kids[page]} 0 R /XYZ 0 {height} 0]"
        objects += [] if place else [f"<< /First {first} 0 R /Last {first + len(outline) - 1} 0 R /Count {len(outline)} >>"]
        objects.append(f"<< /Title ({words}) /Parent {first - 1} 0 R /Dest {target} {after} >>")
    objects[0] = "<< /Type /Catalog /Pages 2 0 R" + (f" /Outlines {first - 1} 0 R >>" if outline else " >>")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] /Count {len(kids)} >>"
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    at = len(body)
    body += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    body += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{at}\n%%EOF"
    return body.encode("latin-1")


def read(*pages: Sequence[Set], **more: object) -> Page:
    return read_bytes(pdf(*pages, **more), "file:///a.pdf", name="a.pdf")  # type: ignore[arg-type]


def prose(top: float, left: float = 50) -> list[Set]:
    return [(left, top, 10, "F", PROSE[0]), (left, top - 12, 10, "F", PROSE[1])]


JOINED = " ".join(PROSE)


def test_headings_come_from_the_outline_with_their_pages() -> None:
    first = [(50, 780, 10, "F", "1.1 Oil"), *prose(760)]
    second = [*prose(780), (50, 700, 10, "F", "1.2 Wicks"), *prose(680)]
    page = read(first, second, outline=[("Oil", 0, 792), ("Wicks", 1, 712), ("Lamps", 1, 600)])
    found = [(one.heading, one.page) for one in pieces(page.blocks, Splitting())]
    assert found == [("Oil", 1), ("Oil", 2), ("Wicks", 2), ("Lamps", 2)]
    assert "1.1" not in page.text


def test_headings_come_from_the_type_where_there_is_no_outline() -> None:
    lines = [(50, 780, 20, "F", "The Book of Lamps"), (50, 740, 14, "B", "Oil"), *prose(720)]
    page = read([*lines, (50, 680, 10, "B", "Filling the lamp"), *prose(668), (50, 630, 14, "B", "Wicks"), *prose(610)])
    assert page.title == "The Book of Lamps"
    assert [one.heading for one in pieces(page.blocks, Splitting())] == ["Oil", "Oil › Filling the lamp", "Wicks"]
    assert JOINED in page.passages


def test_headings_below_those_of_an_outline_that_names_chapters_alone() -> None:
    names = ("Oil", "Wicks", "Glass")
    pages = [[(50, 780, 14, "B", x), (50, 740, 10, "B", f"Filling {x}"), (50, 728, 10, "F", f"{x}: {PROSE[0]}")] for x in names]
    page = read(*pages, outline=[(name, place, 792) for place, name in enumerate(names)])
    assert list(pieces(page.blocks, Splitting()))[1].heading == "Wicks › Filling Wicks"


def test_a_cell_of_several_lines_is_one() -> None:
    cell = [(150, 724 - 12 * n, 10, "F", f"the lamp {'abcd'[n]}") for n in range(4)]
    once: list[Set] = [(50, 724, 10, "F", "Duties"), *cell]
    again: list[Set] = [(x, y - 60, size, font, words) for x, y, size, font, words in once]
    said = f"| Duties | {' '.join(words for *_, words in cell)} |"
    assert read([*prose(780), *once, *again]).passages[1:] == (f"{said}\n{said}",)


def test_running_heads_numbers_and_contents_are_no_text() -> None:
    heads = ["Oil", "Oil", "Oil", "Wicks", "Wicks", "Wicks"]

    def told(n: int) -> list[Set]:
        return [(50, 700 - 20 * n, 10, "F", f"{['Ada', 'Bea', 'Cleo', 'Dora', 'Eve'][n - 1]} kept the lamp.")]

    contents = [(50, 700 - 12 * n, 10, "F", f"{n} Of lamps . . . . . . . . . {n}") for n in range(8)]
    pages = [
        [(50, 810, 9, "F", f"Chapter: {head}  {n + 5}"), *(told(n) if n else contents), (300, 30, 9, "F", "iv")]
        for n, head in enumerate(heads)
    ]
    names = ["Ada", "Bea", "Cleo", "Dora", "Eve"]
    assert read(*pages).passages == tuple(f"{name} kept the lamp." for name in names)


def test_two_columns_are_read_one_after_the_other() -> None:
    """Set row by row, as some programs do."""
    left = [f"left column line number {n} goes" for n in range(12)]
    right = [f"right column line number {n} goes" for n in range(12)]
    rows = [(x, 700 - 12 * n, 10, "F", words) for n in range(12) for x, words in ((50, left[n]), (320, right[n]))]
    assert read(rows).text == " ".join([*left, *right])


def test_tables_code_items_and_terms() -> None:
    table = [(x, 780 - 14 * n, 10, "F", f"{c}{n}") for n in range(3) for x, c in ((50, "Oil"), (200, "Wick"), (400, "Lamp"))]
    code = [(60, 700, 10, "M", "def light(lamp):"), (84, 688, 10, "M", "return lamp.on()")]
    items = [(50, 650, 10, "F", "\267 the first lamp of the house"), (50, 638, 10, "F", "\267 the second lamp of the house")]
    term = [(50, 600, 10, "M", "--oil"), (80, 588, 10, "F", PROSE[0]), (80, 576, 10, "F", PROSE[1])]
    page = read([*table, *code, *items, *term, *prose(500)])
    assert page.passages == (
        "| Oil0 | Wick0 | Lamp0 |\n| Oil1 | Wick1 | Lamp1 |\n| Oil2 | Wick2 | Lamp2 |",
        "```\ndef light(lamp):\n     return lamp.on()\n```",
        "- the first lamp of the house\n- the second lamp of the house",
        f"--oil: {JOINED}",
        JOINED,
    )


@pytest.mark.parametrize(
    ("set_", "meant"),
    [
        ("Br¨oker", "Bröker"),
        ("na¨ıve caf´e", "naïve café"),
        ("Franc¸ois", "François"),
        ("eﬀort, oﬃce, ﬁre", "effort, office, fire"),
        ("man\ufffeuals", "manuals"),
        ("90 ˚", "90 ˚"),
        ("a ¨ b", "a ¨ b"),
    ],
)
def test_accents_ligatures_and_broken_words(set_: str, meant: str) -> None:
    assert mended(set_) == meant


def test_scanned_pages_are_named() -> None:
    page = read(prose(700), [], [], prose(700), picture=True)
    assert page.notice == "scanned pages without text: 2, 3"
    with pytest.raises(ReadError, match="only pictures"):
        read([], picture=True)


@pytest.mark.parametrize("said", ["", "untitled", "Microsoft Word - thesis.doc", "paper.dvi", "x" * 400])
def test_a_title_is_one(said: str) -> None:
    big = [(50, 780, 18, "F", "On Lamps"), (50, 758, 18, "F", "and Wicks"), *prose(700)]
    assert read(big, title=said).title == "On Lamps and Wicks"
    assert read(big, title="Papers").title == "Papers"


def seconds_for(*pages: Sequence[Set], **more: object) -> float:
    return seconds(lambda: read(*pages, **more), rounds=2)


def test_lines_that_are_one_paragraph_take_the_time_of_as_many_short_ones() -> None:
    lines: list[Set] = [(50, 800 - place * 12, 10, "F", f"and line {place} of it goes on") for place in range(4_000)]
    assert seconds_for(lines) < 10 * seconds_for(lines[:1_000])


def test_entries_of_an_outline_share_one_look_at_their_page() -> None:
    lines: list[Set] = [(50, 800 - place * 0.5, 1, "F", f"Line {place}.") for place in range(1_000)]
    entries = [(f"Part {place}", 0, 700.0 - place % 600) for place in range(2_000)]
    assert seconds_for(lines, outline=entries) < 3 + 3 * seconds_for(lines)


def test_a_title_of_half_characters_is_none_and_takes_nothing_with_it() -> None:
    body = pdf(prose(700), outline=[("HHHHHHHHHHHH", 0, 700), ("The keeper", 0, 650)], title="HHHHHHHHHHHH")
    page = read_bytes(body.replace(b"(HHHHHHHHHHHH)", b"<FEFFD8000041>"), "file:///a.pdf", name="a.pdf")
    assert "eleven winters" in page.passages[0]
    assert [block.text for block in page.blocks if block.kind == "heading"] == ["The keeper"]


def test_pages_that_all_say_the_same_are_read() -> None:
    label: list[Set] = [(50, 700, 10, "F", "This side up"), (50, 680, 10, "F", "Handle with care")]
    assert "Handle with care" in " ".join(read(label, label, label, label).passages)


def test_looking_for_pictures_does_not_take_the_time_of_what_was_read() -> None:
    drawn = "0 0 m 10 10 l S\n" * 20_000
    body = pdf(prose(700), *[[(50, 700, 10, "F", "DRAWN")]] * 300)
    body = body.replace(b"BT /F 10 Tf 50 700 Td (DRAWN) Tj ET\n", drawn.encode())
    begun = time.process_time()
    page = read_bytes(body, "file:///a.pdf", name="a.pdf", allowance=Allowance(seconds=3))
    assert "eleven winters" in page.passages[0]
    assert time.process_time() - begun < 6
