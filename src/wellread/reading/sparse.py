"""Spreadsheets whose cells lie far apart, closed up.

What reads them makes room for every cell between the first and the last, of which a sheet may have 17 billion. Where most of
that is empty, the rows and columns that hold something are numbered anew, one after the other, before it is read.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from xml.parsers import expat

from wellread.reading.allowance import MAX_UNPACKED

MOST_COLUMNS = 500  # that are read of a row
_SPARE = 100_000  # empty cells that a sheet may have
_SHARE = 20  # or so many for each that holds something
_SAME_ROWS = 100  # of a row that is said to stand there a million times
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_PLACED = re.compile(rb"<((?:\w+:)?(?:row|c)\b)([^<>]*)>")
_PLACE = re.compile(rb"""(\sr\s*=\s*["'])([A-Za-z]{0,8})([0-9]{1,10})(["'])""")
_ROW_NUMBER = re.compile(rb"""<(?:\w+:)?row\s[^<>]*?\br\s*=\s*["']([0-9]{1,10})["']""")
_TWO_LETTERS = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{2,8})[0-9]""")
_ROW = re.compile(rb"<table:table-row\b([^<>]*)>")
_CELL = re.compile(rb"<table:(?:covered-)?table-cell\b([^<>]*)>")
_REPEATED = re.compile(rb"""\stable:number-(?:columns|rows)-repeated\s*=\s*["']([0-9]{1,10})["']""")
_ROW_END, _CELL_END = b"</table:table-row>", re.compile(rb"</table:(?:covered-)?table-cell\s*>")
_MANY = rb"""-repeated\s*=\s*["'][0-9]{3,10}["'][^<>]{0,500}"""
_FAR_CELL = re.compile(rb"columns" + _MANY + rb"(?<!/)>|columns" + _MANY + rb">\s*<table:(?:covered-)?table-cell")
_FAR_ROW = re.compile(rb"(rows" + _MANY + rb">)|(value-type)|</table:table>")
Cell = tuple[int, int]  # row and column


def closed_up(body: bytes) -> bytes:
    """The workbook as it is, or one that says the same in less room. What is no archive, or a broken one, stays as it is.

    `ExpatError` for an OpenDocument that is broken inside: what reads it would look for the end of a table for ever.
    """
    try:
        with zipfile.ZipFile(BytesIO(body)) as book:
            changed = dict(_changed(book))
            return _repacked(book, changed) if changed else body
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError):
        return body


def _changed(book: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    left = MAX_UNPACKED
    for name in dict.fromkeys(book.namelist()):
        close_up = _excel if _SHEET.fullmatch(name) else _open_document if name == "content.xml" else None
        if close_up is not None and book.getinfo(name).file_size <= left:
            content = book.read(name)
            left -= len(content)
            closer = close_up(content)
            if closer is not content:
                yield name, closer


def _repacked(book: zipfile.ZipFile, changed: dict[str, bytes]) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for name in dict.fromkeys(book.namelist()):
            if name in changed or book.getinfo(name).file_size <= MAX_UNPACKED:
                out.writestr(name, changed.get(name) or book.read(name))
    return made.getvalue()


def _excel(sheet: bytes) -> bytes:
    rows, letters = list(map(int, _ROW_NUMBER.findall(sheet))), set(_TWO_LETTERS.findall(sheet))
    wide, high = max(map(_column, letters), default=26), max(rows, default=0) - min(rows, default=1) + 1
    if not _is_sparse(high, wide, sheet.count(b"<c ")):  # nearly all sheets, at a glance
        return sheet
    cells = [(row, column) for row, column, filled in map(_placed, _PLACED.finditer(sheet)) if filled and column]
    places = _new_places(cells)
    return sheet if places is None else _PLACED.sub(lambda tag: _moved(tag, places), sheet)


def _placed(tag: re.Match[bytes]) -> tuple[int, int, bool]:
    """Row, column (0 for that of a row) and whether it can hold something; a formatted cell need not."""
    said = _PLACE.search(tag[2])
    return (int(said[3]), _column(said[2]), not tag[2].endswith(b"/")) if said else (0, 0, False)


def _moved(tag: re.Match[bytes], places: Callable[[Cell], Cell | None]) -> bytes:
    row, column, filled = _placed(tag)
    place = places((row, column)) if row and (filled or not column) else None
    if place is None:  # it said nothing, or stands nowhere: what follows has the next number
        return tag[0] if not row else b"<" + tag[1] + _PLACE.sub(b"", tag[2]) + b">"
    letters = _letters(place[1]) if column else b""
    return b"<" + tag[1] + _PLACE.sub(rb"\g<1>" + letters + str(place[0]).encode() + rb"\g<4>", tag[2]) + b">"


def _new_places(cells: Sequence[Cell]) -> Callable[[Cell], Cell | None] | None:
    """Where cells stand when what is empty is left out; None where there is too little of that to trouble about."""
    rows, columns = sorted({row for row, _ in cells}), sorted({column for _, column in cells})
    if not cells or not _is_sparse(rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1, len(cells)):
        return None
    new_rows, new_columns = ({old: new for new, old in enumerate(olds, 1)} for olds in (rows, columns))
    if not _is_sparse(len(rows), len(columns), len(cells)):
        return lambda cell: (new_rows[cell[0]], new_columns.get(cell[1], 0)) if cell[0] in new_rows else None
    in_its_row = {cell: place for cell, place in _to_the_left(cells)}  # columns mean nothing any more
    return lambda cell: (new_rows[cell[0]], in_its_row.get(cell, 0)) if cell[0] in new_rows else None


def _to_the_left(cells: Iterable[Cell]) -> Iterator[tuple[Cell, int]]:
    last, place = 0, 0
    for cell in sorted(set(cells)):
        last, place = cell[0], place + 1 if cell[0] == last else 1
        yield cell, place


def _is_sparse(rows: int, columns: int, cells: int) -> bool:
    return rows * columns > _SPARE + _SHARE * cells or columns > MOST_COLUMNS


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def _letters(number: int) -> bytes:
    said = b""
    while number:
        number, rest = divmod(number - 1, 26)
        said = bytes([65 + rest]) + said
    return said


def _open_document(content: bytes) -> bytes:
    expat.ParserCreate().Parse(content, True)
    if not _FAR_CELL.search(content) and not _has_far_rows(content):
        return content
    rows = list(_rows(content))
    cells = [(number, column) for number, (_, _, _, row) in enumerate(rows, 1) for column, _ in row]
    wide = max((column for _, column in cells), default=0)
    high = sum(times for _, _, times, _ in rows[: cells[-1][0]]) if cells else 0
    if not _is_sparse(high, wide, len(cells)):
        return content
    places = _new_places(cells) or _same_place
    parts, at = list[bytes](), 0
    for number, (start, end, times, row) in enumerate(rows, 1):
        parts.append(content[at:start])
        at = end
        if row:
            moved = _laid(row, [(places((number, column)) or (0, 0))[1] for column, _ in row])
            parts.append(_row(moved, min(times, _SAME_ROWS)))
    return b"".join((*parts, content[at:]))


def _has_far_rows(content: bytes) -> bool:
    """Whether something stands in or behind a row that is there a hundred times; empty ones end nearly every sheet."""
    far = False
    for seen in _FAR_ROW.finditer(content):
        if seen[2] and far:
            return True
        far = bool(seen[1]) or (far and bool(seen[2]))
    return False


def _same_place(cell: Cell) -> Cell:
    return cell


def _rows(content: bytes) -> Iterator[tuple[int, int, int, list[tuple[int, bytes]]]]:
    """From where to where each goes, how often it stands there, and its filled cells with their columns."""
    at = 0
    while opened := _ROW.search(content, at):
        empty = opened[1].endswith(b"/")
        end = -1 if empty else content.find(_ROW_END, opened.end())
        at = opened.end() if end < 0 else end + len(_ROW_END)
        yield opened.start(), at, _times(opened[1]), _cells(content, opened.end(), end)


def _cells(content: bytes, start: int, end: int) -> list[tuple[int, bytes]]:
    return list(islice(_filled(content[start:end]), MOST_COLUMNS)) if end >= 0 else []


def _filled(row: bytes) -> Iterator[tuple[int, bytes]]:
    """One that is said to be repeated as often as it can be read."""
    column, at = 1, 0
    while opened := _CELL.search(row, at):
        times, empty = _times(opened[1]), opened[1].endswith(b"/")
        closed = None if empty else _CELL_END.search(row, opened.end())
        at = closed.end() if closed else opened.end()
        if not empty:
            once = _REPEATED.sub(b"", opened[0]) + row[opened.end() : at]
            yield from ((column + more, once) for more in range(min(times, MOST_COLUMNS)))
        column += times


def _times(attributes: bytes) -> int:
    said = _REPEATED.search(attributes)
    return max(1, int(said[1])) if said else 1


def _laid(row: Sequence[tuple[int, bytes]], columns: Sequence[int]) -> bytes:
    parts, free = list[bytes](), 1
    for column, (_, cell) in zip(columns, row, strict=True):
        if column > free:
            parts.append(b'<table:table-cell table:number-columns-repeated="%d"/>' % (column - free))
        parts.append(cell)
        free = max(column, free) + 1
    return b"".join(parts)


def _row(cells: bytes, times: int) -> bytes:
    return b'<table:table-row table:number-rows-repeated="%d">' % times + cells + _ROW_END
