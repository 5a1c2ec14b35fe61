"""The lines of a PDF's page with their place and their type, as PDFium reads them."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

_raw: Any = import_module("pypdfium2.raw")  # it has no types; nothing else touches it

_MONO = re.compile(r"mono|cour|consol|menlo|typew|tt\d|cmtt|slant.*tt|fixed|terminal", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|semib|demi|cmbx|sfbx|bx\d|-b$", re.IGNORECASE)
PROSE = 15  # characters; shorter cells are a table's
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_CELL = 1.45  # times the size of the type: how far apart the lines of one cell are
_SAMPLES = 5  # characters that a line's font is read from
_GAP = 1.6  # times the size of the type; wider than any blank of justified text
_BROKEN = re.compile("[\x02\ufffe]")  # PDFium's signs for a hyphen at the end of a line, the lines joined
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st", 0xAD: None}
# Accents that were set as characters of their own, before their letter; the cedilla may stand after it.
_ACCENTS = dict(zip("¨´˜¯˘˙ˇ˝˚ˆ¸", "\u0308\u0301\u0303\u0304\u0306\u0307\u030c\u030b\u030a\u0302\u0327", strict=True))
_BOX = tuple(ctypes.c_double() for _ in range(4))  # made once, for it is filled for every word; PDFium has one thread anyway
_ACCENT = re.compile(f"([{''.join(_ACCENTS)}]) ?([A-Za-zıȷ])|([cCsStT])(¸)")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text with its place, from the lower left corner of its page in points."""

    text: str
    left: float
    right: float
    y: float  # of the line that letters stand on
    size: float
    font: str
    cells: tuple[str, ...] = ()  # where wide gaps part it
    last_y: float = 0.0  # of its end: where a word was broken, a line goes on below
    mono: bool = False  # all of it
    reach: float = 0.0  # how far to the right any part of it goes
    gap: tuple[float, float] = (0.0, 0.0)  # from where to where its last wide gap goes

    @property
    def bold(self) -> bool:
        return bool(_BOLD.search(self.font))


L = TypeVar("L", bound=Line)


def mended(text: str) -> str:
    """Ligatures as letters, accents on their letters, broken words whole."""
    text = _BROKEN.sub("", text).translate(_LIGATURES)
    return _ACCENT.sub(_accented, text) if _ACCENT.search(text) else text


def _accented(found: re.Match[str]) -> str:
    accent, letter = (found[1], found[2]) if found[1] else (found[4], found[3])
    letter = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    whole = unicodedata.normalize("NFC", letter + _ACCENTS[accent])
    return whole if len(whole) == 1 else found[0]


def lines(textpage: Any, most: int) -> list[Line]:
    """In reading order; no more than `most` characters of the page are looked at."""
    text: str = textpage.get_text_range(count=min(most, textpage.count_chars()))
    page = textpage.raw
    found: list[Line] = []
    start = 0
    for part in text.split("\r\n"):
        if part.strip():
            found.extend(_level(page, part, start))
        start += len(part) + 2
    return in_order(found)


def _level(page: Any, text: str, start: int) -> list[Line]:
    """Words that PDFium has put into one line though they are at other heights and apart from each other, as lines."""
    whole = _line(page, text, start)
    if whole.y == whole.last_y or _BROKEN.search(text):
        return [whole]
    cuts = [0]
    for blank in re.finditer(r"(?<=\S)\s+(?=\S)", text):
        before, after = start + blank.start() - 1, start + blank.end()
        apart = abs(_box(page, after)[0] - _box(page, before)[1]) > whole.size
        if apart and _height(page, before) != _height(page, after):
            cuts.append(blank.end())
    parts = [_line(page, text[begin:end], start + begin) for begin, end in pairwise([*cuts, len(text)])]
    return sorted(parts, key=lambda line: -line.y)


def _line(page: Any, text: str, start: int) -> Line:
    filled = [place for place, letter in enumerate(text) if not letter.isspace()]
    y, last_y = _height(page, start + filled[0]), _height(page, start + filled[-1])
    left, right = _box(page, start + filled[0])[0], _box(page, start + filled[-1])[1]
    step = max(len(filled) // _SAMPLES, 1)
    types = [_type(page, start + place) for place in filled[::step][:_SAMPLES]]
    size, font = Counter(types).most_common(1)[0][0]
    cells = _cells(page, text, start, max(size, 4.0) * _GAP) if y == last_y else ((), (0.0, 0.0))
    mono = all(_MONO.search(name) for _, name in types)
    reach = max(right, left, *(_box(page, start + cut.start() - 1)[1] for cut in _BROKEN.finditer(text, 1)))
    words = " ".join(mended(text).split())
    return Line(words, left, max(right, left), y, size, font, cells[0], last_y, mono, reach, cells[1])


def _height(page: Any, place: int) -> float:
    x, y = ctypes.c_double(), ctypes.c_double()
    _raw.FPDFText_GetCharOrigin(page, place, x, y)
    return round(y.value, 1)


def _type(page: Any, place: int) -> tuple[float, str]:
    matrix = _raw.FS_MATRIX()
    scale = math.hypot(matrix.c, matrix.d) if _raw.FPDFText_GetMatrix(page, place, matrix) else 1.0
    name, flags = ctypes.create_string_buffer(80), ctypes.c_int()
    _raw.FPDFText_GetFontInfo(page, place, name, 80, flags)
    size = _raw.FPDFText_GetFontSize(page, place) * (scale or 1.0)
    return round(size, 1), name.value.decode("utf-8", "replace").rpartition("+")[2]


def _box(page: Any, place: int) -> tuple[float, float]:
    _raw.FPDFText_GetCharBox(page, place, *_BOX)
    return _BOX[0].value, _BOX[1].value


def _cells(page: Any, text: str, start: int, least: float) -> tuple[tuple[str, ...], tuple[float, float]]:
    """The parts between wide gaps, none where there is no such gap; and where the last gap is."""
    cells: list[str] = []
    begun, gap = 0, (0.0, 0.0)
    for blank in re.finditer(r"(?<=\S)\s+(?=\S)", text):
        end, begin = _box(page, start + blank.start() - 1)[1], _box(page, start + blank.end())[0]
        if begin - end > least:
            cells.append(" ".join(mended(text[begun : blank.start()]).split()))
            begun, gap = blank.end(), (end, begin)
    return ((*cells, " ".join(mended(text[begun:]).split())) if cells else ()), gap


def in_order(found: Sequence[Line]) -> list[Line]:
    """As they come, which is how they were set, unless that jumps up and down the page, or goes row by row over two columns."""
    jumps = sum(after.y > before.y + before.size for before, after in pairwise(found))
    wide = {id(line) for line in found if len(line.cells) == 2 and min(map(len, line.cells)) > PROSE}
    by_rows = len(wide) >= max(5, 0.5 * len(found))
    if jumps <= 3 and not by_rows:
        return list(found)
    parts = [half for line in found for half in (_halves(line) if by_rows and id(line) in wide else (line,))]
    return by_columns(sorted(parts, key=lambda line: (-round(line.y / 2), line.left)))


def by_columns(found: Sequence[L], least: int = 0) -> list[L]:
    """Lines that come from above, column by column between those that go across: the head of the page, its columns, its foot.
    What stands in the middle with columns on both sides comes behind them. Lines of columns have `least` characters."""
    gutter = _gutter(found, least)
    if gutter is None:
        return list(found)
    parted = ((line, len(line.cells) == 2 and line.gap[0] <= gutter <= line.gap[1]) for line in found)
    found = [half for line, two in parted for half in (_halves(line) if two else (line,))]
    side = {id(line): _side(line, gutter) for line in found}
    sides = [sorted(line.y for line in found if side[id(line)] == which) for which in (0, 1)]
    inset = {id(line): all(_beside(line, heights) for heights in sides) for line in found if side[id(line)] is None}
    across = sorted(line.y for line in found if inset.get(id(line)) is False)
    parts: dict[tuple[int, int], list[L]] = {}
    for line in found:
        above, which = len(across) - bisect_right(across, line.y), side[id(line)]
        where = (2 * above, 0) if inset.get(id(line)) is False else (2 * above + 1, 2 if which is None else which)
        parts.setdefault(where, []).append(line)
    return [line for _, part in sorted(parts.items()) for line in by_columns(part, least)]


def _side(line: Line, gutter: float) -> int | None:
    """0 to the left, 1 to the right, None for a line that goes over the gutter by more than a letter."""
    if line.left < gutter - line.size and line.right > gutter + line.size:
        return None
    return int(line.left + line.right > 2 * gutter)


def _beside(line: Line, heights: Sequence[float]) -> bool:
    """Whether one of these, sorted, is about the height of the line."""
    first = bisect_left(heights, line.y - line.size)
    return first < len(heights) and heights[first] <= line.y + line.size


def _gutter(found: Sequence[Line], least: int) -> float | None:
    """Where a page parts into two columns: fewest lines cross, nearly none of all, and both sides are full."""
    begin, end = sorted(line.left for line in found), sorted(line.right for line in found)
    places: list[tuple[int, int]] = []
    for place in sorted({math.floor(left) for left in begin}):
        left, right = bisect_left(end, place), len(found) - bisect_left(begin, place)
        if min(left, right) >= 5 and left + right >= 0.85 * len(found):
            places.append((-left - right, place))
    for _, place in sorted(places):
        sides = [line for line in found if line.right < place], [line for line in found if line.left >= place]
        if all(median(len(line.text) for line in side) >= least for side in sides):
            return place - 0.5
    return None


def _halves(line: L) -> tuple[L, L]:
    """The two cells of a line, as lines."""
    (first, second), (end, begin) = line.cells, line.gap
    return replace(line, text=first, right=end, reach=end, cells=()), replace(line, text=second, left=begin, cells=())


def joined(lines: Iterable[Line]) -> str:
    """As one text. Put together once: a book may be one paragraph."""
    parts: list[str] = []
    for line in lines:
        if parts and _HYPHEN.search(parts[-1]) and line.text[:1].islower():
            parts[-1] = parts[-1][:-1]
        elif parts:
            parts.append(" ")
        parts.append(line.text)
    return "".join(parts)


def with_whole_cells(found: Sequence[Line]) -> list[Line]:
    """A label with what is said of it as one line of two cells: the second goes on in the lines right below it."""
    made: list[Line] = []
    place = 0
    while place < len(found):
        line = found[place]
        cell = [replace(line, text=line.cells[1])] if len(line.cells) == 2 else []
        place += 1
        while cell and place < len(found) and _goes_on(cell[-1], found[place], line.gap[1]):
            cell.append(found[place])
            place += 1
        if len(cell) > 1:
            label, said = line.cells[0], joined(cell)
            reach = max(one.reach for one in cell)
            line = replace(line, text=f"{label} {said}", cells=(label, said), last_y=cell[-1].last_y, reach=reach)
        made.append(line)
    return made


def _goes_on(upper: Line, lower: Line, column: float) -> bool:
    """Whether the lower of two lines goes on with a cell that begins at that column."""
    near = 0 < upper.last_y - lower.y <= _CELL * max(upper.size, lower.size)
    return near and not lower.cells and abs(lower.left - column) < 2
