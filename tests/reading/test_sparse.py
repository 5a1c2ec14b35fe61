"""Spreadsheets with cells far from the others cost what is in them, and say all of it."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from tests.reading.test_formats import archive, xlsx

from wellread.errors import ReadError
from wellread.reading.allowance import Allowance
from wellread.reading.tables import closed_up, read_sheets

NAMES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text", "manifest")
)
HEAD = [("A1", "Lamp"), ("B1", "Year"), ("A2", "North"), ("B2", "1881")]


def placed(*cells: tuple[str, str]) -> bytes:
    """An XLSX file with cells at these places."""
    rows: dict[str, str] = {}
    for place, words in cells:
        row = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        rows[row] = rows.get(row, "") + f'<c r="{place}" t="inlineStr"><is><t>{words}</t></is></c>'
    sheet = "".join(f'<row r="{row}" spans="1:9">{said}</row>' for row, said in rows.items())
    book = zipfile.ZipFile(BytesIO(xlsx()))
    members = {name: book.read(name).decode() for name in book.namelist()}
    name = "xl/worksheets/sheet1.xml"
    return archive(**{**members, name: members[name].replace("<sheetData>", f"<sheetData>{sheet}")})


def ods(*rows: str) -> bytes:
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
    table = f'<table:table table:name="Lamps">{"".join(rows)}</table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    return archive(
        **{
            "mimetype": kind,
            "META-INF/manifest.xml": f"<manifest:manifest {NAMES}>{entry}</manifest:manifest>",
            "content.xml": f"<office:document-content {NAMES}>{body}</office:document-content>",
        }
    )


def row(*cells: str, times: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{"".join(cells)}</table:table-row>'


def cell(words: str, times: int = 1) -> str:
    said = f"<text:p>{words}</text:p>"
    return f'<table:table-cell table:number-columns-repeated="{times}" office:value-type="string">{said}</table:table-cell>'


def empty(times: int = 1) -> str:
    return f'<table:table-cell table:number-columns-repeated="{times}"/>'


def texts(book: bytes) -> list[str]:
    return [block.text for block in read_sheets(book, "x", "x", Allowance()).blocks]


LAMPS, NAMED = row(cell("Lamp"), cell("Year")), ["Lamps", "Lamp: North; Year: 1881."]
NORTH = row(cell("North"), cell("1881"))


@pytest.mark.parametrize(
    ("book", "said"),
    [
        (placed(*HEAD, ("XFD1048576", "far")), [*NAMED, "far."]),
        (placed(*HEAD, ("A1048576", "South"), ("B1048576", "1890")), [*NAMED, "Lamp: South; Year: 1890."]),
        (placed(*HEAD, ("XFD3", "wide")), [*NAMED, "wide."]),
        (placed(*HEAD, ("ZZZZZZ99999999", "beyond")), [*NAMED, "beyond."]),
        (ods(LAMPS, NORTH, row(empty(16384), times=1048573), row(empty(16383), cell("far"))), [*NAMED, "far."]),
        (ods(LAMPS, row(empty(), times=1048573), row(cell("South"))), ["Lamps", "Lamp: South."]),
        (ods(LAMPS, NORTH, row(empty(16384), times=1048573)), NAMED),
        (ods(LAMPS, row(cell("North"), cell("1881"), empty(16382), times=1048573)), [NAMED[0], *[NAMED[1]] * 100]),
    ],
)
def test_far_cells_are_read(book: bytes, said: list[str]) -> None:
    assert texts(book) == said


def test_cells_on_a_diagonal_are_read() -> None:
    letters = [chr(65 + n // 26) + chr(65 + n % 26) for n in range(400)]
    assert len(texts(placed(*((f"{column}{n * 500 + 1}", f"lamp {n}") for n, column in enumerate(letters))))) == 401


def test_a_cell_that_stands_there_billions_of_times_is_said_as_often_as_rows_are_read() -> None:
    said = texts(ods(LAMPS, row(cell("x", 2**31 - 1), times=2**31 - 1)))
    assert len(said) == 101
    assert said[-1].count("x") == 500


@pytest.mark.parametrize(
    "book", [placed(*HEAD), xlsx(("Lamp", "Year"), ("North", 1881)), ods(LAMPS, NORTH), b"", b"PK\3\4 no archive", b"<html>"]
)
def test_others_stay_as_they_are(book: bytes) -> None:
    assert closed_up(book) is book


@pytest.mark.timeout(20)
@pytest.mark.parametrize("end", [b"</table:table-row>", b"</table:table", b"<text:p>", b"<table:table table:name"])
def test_a_table_without_an_end_is_told(end: bytes) -> None:
    whole = zipfile.ZipFile(BytesIO(ods(LAMPS, NORTH)))
    members = {name: whole.read(name) for name in whole.namelist()}
    content = members["content.xml"]
    with pytest.raises(ReadError, match="broken"):
        texts(archive(**{**members, "content.xml": content[: content.rindex(end) + len(end)]}))


def test_what_stands_in_the_same_column_still_does() -> None:
    """A gap of empty columns is closed in all rows alike."""
    wide = [("A1", "Lamp"), ("ZZ1", "Height"), ("A900000", "North"), ("ZZ900000", "31"), ("ZZ900001", "44")]
    assert texts(placed(*wide)) == ["Lamps", "Lamp: North; Height: 31.", "Height: 44."]
