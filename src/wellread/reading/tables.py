"""Tables as sentences: every row says its columns' names. CSV by the standard library, spreadsheets by calamine."""

from __future__ import annotations

import csv
import json
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from datetime import time as clock
from io import BytesIO
from typing import Any, cast
from xml.parsers.expat import ExpatError

from wellread.errors import ReadError
from wellread.reading.allowance import MAX_BLOCKS, OWN_FILE, Allowance, not_all
from wellread.reading.sparse import MOST_COLUMNS, closed_up
from wellread.reading.wordxml import fed
from wellread.reading.workbookxml import Workbook
from wellread.types import Block, Page

_SAMPLE = 8_192
_FLAT = re.compile(rb"<office:document\s")
_SET_OUT = re.compile(rb">[ \t\r]*+\n\s*+<")
_READING = 0.7  # of the time; then what was read is what there is
_LONGEST_NAME = 80  # characters; a longer first row is no row of names


def read_tsv(text: str, url: str, name: str) -> Page:
    return read_csv(text, url, name, delimiter="\t")


def read_csv(text: str, url: str, name: str, *, delimiter: str | None = None) -> Page:
    csv.field_size_limit(10_000_000)
    found = delimiter or _delimiter(text[:_SAMPLE])
    rows = csv.reader(text.splitlines(keepends=True), delimiter=found)
    return Page(url, name, (), kind="csv", blocks=tuple(_enough(_rows(_bounded(rows)), OWN_FILE.characters)))


def read_jsonl(text: str, url: str, name: str) -> Page:
    """JSON lines: of each row its text under its title, else all that it says."""
    rows = (_said(line) for line in text.splitlines()[:MAX_BLOCKS] if line.strip())
    return Page(url, name, (), kind="jsonl", blocks=tuple(block for row in rows for block in _row(row)))


def _said(line: str) -> dict[str, object]:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        row = line
    return cast("dict[str, object]", row) if isinstance(row, dict) else {"text": str(row)}


def _row(row: dict[str, object]) -> Iterator[Block]:
    text = row.get("text")
    if not isinstance(text, str):
        yield Block("row", _sentence([str(value) for value in row.values()], list(row)))
        return
    if row.get("title"):
        yield Block("heading", str(row["title"]), 1)
    yield from (Block("paragraph", part.strip()) for part in text.split("\n\n") if part.strip())


def read_sheets(body: bytes, url: str, name: str, allowance: Allowance) -> Page:
    """XLSX, XLS and ODS, also flat ones: each sheet under its name."""
    if body.startswith(b"<"):
        if not _FLAT.search(body[:_SAMPLE]):
            return _read_xml(body, url, name, allowance)
        body = _archived(body)
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_filelike(BytesIO(closed_up(body)))
        read = list(_sheets(book, allowance))
        if read and all(sheet is None for sheet in read):
            raise ValueError("none of its sheets can be read")
    except (calamine.CalamineError, ExpatError, OSError, ValueError) as error:
        raise ReadError(url, "the spreadsheet is broken or locked") from error
    blocks = tuple(block for sheet in read for block in sheet or ())
    notice = not_all("sheets", read=len(read), count=len(book.sheet_names), broken=sum(sheet is None for sheet in read))
    return Page(url, name, (), kind="sheet", blocks=blocks, notice=notice)


def _archived(flat: bytes) -> bytes:
    """The same OpenDocument as an archive, without the blanks that set out its elements: what reads it takes them for cells."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        out.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        out.writestr("content.xml", _SET_OUT.sub(b"><", flat))
        out.writestr("META-INF/manifest.xml", "<manifest/>")
    return made.getvalue()


def _read_xml(body: bytes, url: str, name: str, allowance: Allowance) -> Page:
    book = Workbook(allowance.characters)
    notice = fed(body, book, url, "the spreadsheet is broken")
    blocks: list[Block] = []
    left = allowance.characters
    for title, rows in book.sheets:
        blocks += (found := _sheet(title, rows, left))
        left -= sum(len(block.text) for block in found)
    return Page(url, name, (), kind="sheet", blocks=tuple(blocks), notice=notice)


def _sheets(book: Any, allowance: Allowance) -> Iterator[list[Block] | None]:
    """Sheet by sheet, None for a broken one, until there is as much text as a page may have or the time is nearly up: many can
    be one and the same."""
    from python_calamine import CalamineError

    deadline = time.monotonic() + allowance.seconds * _READING
    left, rows_left = allowance.characters, MAX_BLOCKS
    for title in cast("list[str]", book.sheet_names):
        if min(left, rows_left) <= 0 or time.monotonic() > deadline:
            return
        try:
            rows = book.get_sheet_by_name(title).iter_rows()
        except CalamineError:
            yield None
            continue
        blocks = _sheet(title, ([_text(cell) for cell in row] for row in rows), left)
        yield blocks
        left, rows_left = left - sum(len(block.text) for block in blocks), rows_left - len(blocks)


def _sheet(title: str, rows: Iterable[Sequence[str]], characters: int) -> list[Block]:
    blocks = list(_enough(_rows(_bounded(rows)), characters))
    return [Block("heading", title, 1), *blocks] if blocks else []


def _enough(blocks: Iterable[Block], characters: int) -> Iterator[Block]:
    """With the one in which the text becomes longer than that: every row says the names of all columns again."""
    for block in blocks:
        yield block
        characters -= len(block.text)
        if characters < 0:
            return


def _text(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == clock():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date | clock) else str(cell)


def _bounded(rows: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    for number, row in enumerate(rows):
        if number > MAX_BLOCKS:
            return
        yield [" ".join(cell.split()) for cell in row[:MOST_COLUMNS]]


def _rows(rows: Iterator[list[str]]) -> Iterator[Block]:
    """The first row with more than one cell names the columns, where it looks like names and others follow."""
    names: list[str] | None = None
    named = False
    for row in rows:
        if not any(row):
            continue
        if names is None and sum(map(bool, row)) > 1:
            names = row if _is_head(row) else []
            if names:
                continue
        named = bool(names)
        yield Block("row", _sentence(row, names or []))
    if names and not named:
        yield Block("row", _sentence(names, []))


def _is_head(row: Sequence[str]) -> bool:
    filled = [cell for cell in row if cell]
    lettered = all(any(map(str.isalpha, cell)) and len(cell) <= _LONGEST_NAME for cell in filled)
    return lettered and len(set(filled)) == len(filled)


def _sentence(row: Sequence[str], names: Sequence[str]) -> str:
    if not names:
        return f"| {' | '.join(row)} |" if len(row) > 1 else row[0]
    said = [f"{names[n]}: {cell}" if n < len(names) and names[n] else cell for n, cell in enumerate(row) if cell]
    return "; ".join(said) + "."


def _delimiter(sample: str) -> str:
    first = sample.partition("\n")[0]
    return max(",;\t|", key=first.count)
