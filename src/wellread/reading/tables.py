"""Tables as sentences: every row says its columns' names. CSV and JSON lines by the standard library; XLSX and XLS by calamine;
OpenDocument's spreadsheets and what Excel 2003 wrote as one XML file by their events.

Calamine makes room for every cell between the first and the last, of which a sheet may have 17 billion. Where most of that
is empty, the rows and columns of an XLSX file that hold something are numbered anew before it is read.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from datetime import time as clock
from functools import reduce
from io import BytesIO
from itertools import chain, islice, product
from typing import Any, cast

from wellread.errors import ReadError
from wellread.reading.allowance import MAX_BLOCKS, MAX_UNPACKED, OWN_FILE, Allowance, gathered
from wellread.reading.markup import Enough, Target
from wellread.reading.office import fed, local, named
from wellread.reading.packed import Archive, open_content
from wellread.types import Block, Page

MOST_COLUMNS = 500  # that are read of a row
_SAMPLE = 8_192
_LONGEST_NAME = 80  # characters; a longer first row is no row of names


def read_tsv(text: str, url: str, name: str) -> Page:
    return read_csv(text, url, name, delimiter="\t")


def read_csv(text: str, url: str, name: str, *, delimiter: str | None = None) -> Page:
    csv.field_size_limit(10_000_000)
    delimiter = delimiter or max(",;\t|", key=text[:_SAMPLE].partition("\n")[0].count)
    rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    return Page(url, name, (), kind="csv", blocks=tuple(rows_within(rows, OWN_FILE.characters)))


def read_jsonl(text: str, url: str, name: str) -> Page:
    """JSON lines: of each row its text under its title, else all that it says."""
    rows = (_said(line) for line in text.splitlines()[:MAX_BLOCKS] if line.strip())
    return Page(url, name, (), kind="jsonl", blocks=tuple(block for row in rows for block in _record(row)))


def _said(line: str) -> dict[str, object]:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        row = line
    return cast("dict[str, object]", row) if isinstance(row, dict) else {"text": str(row)}


def _record(row: dict[str, object]) -> Iterator[Block]:
    text = row.get("text")
    if not isinstance(text, str):
        yield Block("row", _sentence([str(value) for value in row.values()], list(row)))
        return
    if row.get("title"):
        yield Block("heading", str(row["title"]), 1)
    yield from (Block("paragraph", part.strip()) for part in text.split("\n\n") if part.strip())


def rows_within(rows: Iterable[Sequence[str]], characters: int) -> Iterator[Block]:
    """With the row in which the text becomes longer than that: every row says the names of all columns again."""
    for block in _named_rows([" ".join(cell.split()) for cell in row[:MOST_COLUMNS]] for row in islice(rows, MAX_BLOCKS + 1)):
        yield block
        characters -= len(block.text)
        if characters < 0:
            return


def _named_rows(rows: Iterable[list[str]]) -> Iterator[Block]:
    """The first row with more than one cell names the columns, where it looks like names and others follow."""
    names: list[str] | None = None
    named = False
    for row in rows:
        if not any(row):
            continue
        if names is None and sum(map(bool, row)) > 1:
            filled = [cell for cell in row if cell]
            lettered = all(any(map(str.isalpha, cell)) and len(cell) <= _LONGEST_NAME for cell in filled)
            names = row if lettered and len(set(filled)) == len(filled) else []
            if names:
                continue
        named = bool(names)
        yield Block("row", _sentence(row, names or []))
    if names and not named:
        yield Block("row", _sentence(names, []))


def _sentence(row: Sequence[str], names: Sequence[str]) -> str:
    if not names:
        return f"| {' | '.join(row)} |" if len(row) > 1 else row[0]
    said = [f"{names[n]}: {cell}" if n < len(names) and names[n] else cell for n, cell in enumerate(row) if cell]
    return "; ".join(said) + "."


_SPARE = 100_000  # empty cells that a sheet may have
_SHARE = 20  # or so many for each that holds something
_SAME_ROWS = 100  # of a row that is said to stand there a million times
_MIDNIGHT = re.compile(r"T00:00:00(?:\.0+)?$")  # of what is a day without a time
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PLACED = re.compile(rb"""(<(?:\w+:)?(?:row|c)\b[^<>]*?)(\sr\s*=\s*["'])([A-Za-z]{0,8})([0-9]{1,10})(["'][^<>]*>)""")
_ROW_NUMBER = re.compile(rb"""<(?:\w+:)?row\s[^<>]*?\br\s*=\s*["']([0-9]{1,10})["']""")
_TWO_LETTERS = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{2,8})[0-9]""")


def read_sheets(body: bytes, url: str, name: str, allowance: Allowance) -> Page:
    """Each sheet under its name."""
    if body.startswith(b"<") or b"content.xml" in body:  # names stand in an archive as they are
        book = _Workbook(allowance.characters)
        content = body if body.startswith(b"<") else open_content(Archive(body, url), url)
        notice = fed(content, book, url, "the spreadsheet is broken")
        read = gathered(book.sheets, lambda sheet, left: _sheet(sheet[0], _laid(sheet[1]), left), allowance)
        return Page(url, name, (), kind="sheet", blocks=read.blocks, notice=notice)
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_filelike(BytesIO(closed_up(body)))
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise ReadError(url, "the spreadsheet is broken or locked") from error
    titles = book.sheet_names
    read = gathered(titles, lambda title, left: _sheet(title, _rows(book.get_sheet_by_name(title)), left), allowance)
    if read.broken and read.broken == read.read:
        raise ReadError(url, "the spreadsheet is broken or locked")
    return Page(url, name, (), kind="sheet", blocks=read.blocks, notice=read.notice("sheets", len(titles)))


def _sheet(title: str, rows: Iterable[Sequence[str]], characters: int) -> list[Block]:
    """Its rows under its name, where it has some."""
    blocks = list(rows_within(rows, characters))
    return [Block("heading", title, 1), *blocks] if blocks else []


def _rows(sheet: Any) -> Iterator[list[str]]:
    return ([_text(cell) for cell in row] for row in cast("Iterator[list[object]]", sheet.iter_rows()))


def _text(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == clock():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date | clock) else str(cell)


class _Workbook(Target):
    """Receives the events. `sheets`: their names with their rows, of each the columns and texts of filled cells."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        self.sheets: list[tuple[str, list[list[tuple[int, str]]]]] = []
        self._row: list[tuple[int, str]] = []
        self._column = self._times = self._rows = self._more = self._aside = 0
        self._value = ""  # that an attribute says, for programs
        self._text: list[str] = []
        self._reading = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        match named(tag):
            case "ss:Worksheet" | "table:table":
                given = local(attributes)
                self.sheets.append((given.get("Name", "") or given.get("name", ""), []))
            case "ss:Row" | "table:table-row":
                self._row, self._column = [], 0
                self._rows = _number(local(attributes), "number-rows-repeated") or 1
            case "ss:Cell" | "table:table-cell" | "table:covered-table-cell":
                given, self._text = local(attributes), []
                self._column = _number(given, "Index") or self._column + 1
                self._more = _number(given, "MergeAcross")
                self._times = _number(given, "number-columns-repeated") or 1
                counts = given.get("value-type") == "float"
                self._value = given.get("date-value") or (given.get("value", "") if counts else "")
            case "ss:Comment" | "office:annotation":
                self._aside += 1
            case "ss:Data" | "text:p":
                self._text.append(" " if self._text else "")
                self._reading = not self._aside
            case _:
                pass

    def data(self, data: str) -> None:
        if self._reading:
            self._left -= len(data)
            self._text.append(data)

    def end(self, tag: str) -> None:
        match named(tag):
            case "ss:Cell" | "table:table-cell" | "table:covered-table-cell":
                if text := _MIDNIGHT.sub("", self._value or "".join(self._text).strip()):
                    self._row += [(self._column + more, text) for more in range(min(self._times, MOST_COLUMNS))]
                self._column += self._times - 1 + self._more
            case "ss:Data" | "text:p":
                self._reading = False
            case "ss:Comment" | "office:annotation":
                self._aside -= 1
            case "ss:Row" | "table:table-row" if self.sheets and self._row:
                self.sheets[-1][1].extend([self._row] * min(self._rows, _SAME_ROWS))
                self._left -= len(self._row) + 1
                if self._left < 0:
                    raise Enough
            case _:
                pass


def _number(given: Mapping[str, str], name: str) -> int:
    said = given.get(name, "")
    return int(said) if said.isdecimal() and len(said) < 11 else 0


def _laid(rows: Sequence[Sequence[tuple[int, str]]]) -> Iterator[list[str]]:
    """Cells in those columns that hold something; where there are too many of these, each row for itself."""
    columns = sorted({column for row in rows for column, _ in row})
    place = {column: number for number, column in enumerate(columns)} if len(columns) <= MOST_COLUMNS else {}
    for row in rows:
        cells = [""] * len(place) or [text for _, text in row]
        for column, text in row if place else ():
            cells[place[column]] = text
        yield cells


def closed_up(body: bytes) -> bytes:
    """An XLSX file as it is, or one that says the same in less room. What is no archive, or a broken one, stays as it is."""
    try:
        with zipfile.ZipFile(BytesIO(body)) as book:
            changed, left = dict[str, bytes](), MAX_UNPACKED
            for name in filter(_SHEET.fullmatch, dict.fromkeys(book.namelist())):
                if (size := book.getinfo(name).file_size) <= left:
                    left, sheet = left - size, book.read(name)
                    changed |= {name: closer} if (closer := _closer(sheet)) is not sheet else {}
            if not changed:
                return body
            made = BytesIO()
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
                for name in dict.fromkeys(book.namelist()):
                    if name in changed or book.getinfo(name).file_size <= MAX_UNPACKED:
                        out.writestr(name, changed.get(name) or book.read(name))
            return made.getvalue()
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError):
        return body


def _closer(sheet: bytes) -> bytes:
    rows, letters = list(map(int, _ROW_NUMBER.findall(sheet))), set(_TWO_LETTERS.findall(sheet))
    wide, high = max(map(_column, letters), default=26), max(rows, default=0) - min(rows, default=1) + 1
    if not _is_sparse(high, wide, sheet.count(b"<c ")):  # nearly all sheets, at a glance
        return sheet
    places = [(int(row), column.upper(), end) for _, _, column, row, end in _PLACED.findall(sheet)]
    cells = [(row, column) for row, column, end in places if column and not end.endswith(b"/>")]  # which can hold something
    rows, columns = sorted({row for row, _ in cells}), sorted({column for _, column in cells}, key=_column)
    if not cells or not _is_sparse(rows[-1] - rows[0] + 1, _column(columns[-1]) - _column(columns[0]) + 1, len(cells)):
        return sheet
    new_rows = {old: b"%d" % new for new, old in enumerate(rows, 1)}
    new_columns = dict(zip(columns, map(bytes, chain(product(_LETTERS), product(_LETTERS, repeat=2))), strict=False))
    if _is_sparse(len(rows), len(columns), len(cells)):  # columns mean nothing any more: cells stand beside each other
        new_columns = {}

    def moved(tag: re.Match[bytes]) -> bytes:
        before, named, column, row, end = tag.groups()
        new, column = new_rows.get(int(row)), column.upper()
        if new is None or (column and (column not in new_columns or end.endswith(b"/>"))):
            return before + end[1:]  # it stands where the one before it ends
        return before + named + new_columns.get(column, b"") + new + end

    return _PLACED.sub(moved, sheet)


def _is_sparse(rows: int, columns: int, cells: int) -> bool:
    return rows * columns > _SPARE + _SHARE * cells or columns > MOST_COLUMNS


def _column(letters: bytes) -> int:
    return reduce(lambda number, letter: 26 * number + letter - 64, letters.upper(), 0)
