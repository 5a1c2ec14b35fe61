"""Which lines of a PDF are headings: those that its outline names, and those that are set larger than the text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from wellread.reading.pdflines import Line

_NOT_LETTERS = re.compile(r"[\W_]+")
_ORDINAL = re.compile(
    r"^(?:(?:chapter|appendix|part|section)\s+)?(?:[0-9]+|[A-Z]|[IVXLC]+)(?:\.[0-9]+)*[.:)]?\s+(?=\S)", re.IGNORECASE
)
_CAPTION = re.compile(r"^(?:figure|fig\.|table|listing|example|abbildung|tabelle|tableau)\s*[\dA-Z]", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}|[\u2e80-\uffdc]{2,}")
_LARGER = 1.12  # times the size of the text
_LONGEST = 150  # characters; more is no heading
_LONGEST_BOLD = 90  # of one that is no larger than the text
_MOST_LINES = 4
_DEEPEST = 6
_MOST_PLACES = 100  # of a page that say the same
_MOST_AT_ONCE = 20  # entries of an outline that point to one line


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the document's own outline. `y` is where a reader would jump to on the page."""

    title: str
    level: int  # from 1
    page: int  # from 0
    y: float | None


@dataclass(frozen=True, slots=True)
class Heading:
    """Stands before line `start` of its page, in place of the lines up to `end`."""

    text: str
    level: int
    start: int
    end: int


Pages = Sequence[Sequence[Line]]


def headings(pages: Pages, outline: Sequence[Entry], body: float) -> list[dict[int, Heading]]:
    """Of each page, by the line that they start at."""
    found: list[dict[int, Heading]] = [{} for _ in pages]
    named = {number: _Named(pages[number]) for number in {entry.page for entry in outline} if 0 <= number < len(pages)}
    for entry in outline:
        if entry.page in named:
            _place(found[entry.page], named[entry.page].heading(entry))
    levels = _levels(pages, found)
    outlined = sum(map(len, found)) >= 3
    first = min((page for page, here in enumerate(found) if here), default=0) if outlined else 0
    for page, lines in enumerate(pages[first:], start=first):  # before the first part there is a title page
        taken = {place for one in found[page].values() for place in range(one.start, one.end)}
        for start, end in _larger(lines, body, taken, bold=not outlined):
            text = " ".join(line.text for line in lines[start:end])
            found[page].setdefault(start, Heading(text, _level(lines[start].size, levels), start, end))
    return found if outlined else _ranked(pages, found)


def _place(page: dict[int, Heading], made: Heading) -> None:
    """Two entries at one line: the second is below the first and has nothing of the page for itself."""
    start = made.start
    if start not in page:
        page[start] = made
    elif (first := page[start]).text.count("\n") < _MOST_AT_ONCE - 1:
        page[start] = Heading(f"{first.text}\n{made.text}", made.level, start, max(first.end, made.end))


class _Named:
    """Where the entries of an outline stand on a page, whose lines are looked at once for all of them."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._lowest = list(accumulate((-line.y for line in lines), max))
        self._said: dict[str, list[tuple[int, int]]] = {}  # from where to where lines go that say this
        for start in range(len(lines)):
            said = ""
            for end in range(start + 1, min(start + 1 + _MOST_LINES, len(lines) + 1)):
                said = f"{said} {lines[end - 1].text}".strip()
                if len(said) > 2 * _LONGEST:
                    break
                for words in {_letters(said), _letters(_ORDINAL.sub("", said))} - {""}:
                    places = self._said.setdefault(words, [])
                    if len(places) < _MOST_PLACES:
                        places.append((start, end))

    def heading(self, entry: Entry) -> Heading:
        """The lines that say it, nearest to where it points; else where it points."""

        def far(place: tuple[int, int]) -> float:
            line = self._lines[place[0]]
            return abs((entry.y if entry.y is not None else line.y) - line.y) - line.size

        if places := self._said.get(_letters(entry.title)):
            return Heading(entry.title, entry.level, *min(places, key=far))
        start = 0 if entry.y is None else bisect_left(self._lowest, -entry.y)
        return Heading(entry.title, entry.level, start, start)


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text).casefold()


def _larger(lines: Sequence[Line], body: float, taken: set[int], *, bold: bool) -> list[tuple[int, int]]:
    """Runs of lines that look like one heading each."""
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        if place in taken or not _looks(lines, place, body, bold=bold):
            place += 1
            continue
        end = place + 1
        while end < len(lines) and end not in taken and end - place < _MOST_LINES and _same_type(line, lines[end]):
            end += 1
        text = " ".join(one.text for one in lines[place:end])
        if len(text) <= _LONGEST and not (end < len(lines) and _same_type(line, lines[end])):
            found.append((place, end))
        place = end
    return found


def _looks(lines: Sequence[Line], place: int, body: float, *, bold: bool) -> bool:
    line = lines[place]
    if not _WORD.search(line.text) or _CAPTION.match(line.text) or line.cells or line.mono:
        return False
    if line.size >= body * _LARGER:
        return True
    return bold and line.bold and line.size >= body * 0.97 and _stands_alone(lines, place)


def _stands_alone(lines: Sequence[Line], place: int) -> bool:
    """A bold line above text that is not, and that no sentence begins with."""
    text = lines[place].text
    if place + 1 >= len(lines) or lines[place + 1].bold or len(text) > _LONGEST_BOLD:
        return False
    return text[0].isalnum() and not text[0].islower() and not text.endswith((".", ",", ";", ":"))


def _same_type(one: Line, other: Line) -> bool:
    near = 0 < one.y - other.y < one.size * 6 and abs(one.size - other.size) < 0.2
    return near and one.font == other.font


def _levels(pages: Pages, found: Sequence[Mapping[int, Heading]]) -> dict[float, int]:
    """What level each size of type stands for, by the outline."""
    seen: dict[float, Counter[int]] = {}
    for page, here in zip(pages, found, strict=True):
        for one in here.values():
            if one.end > one.start:
                seen.setdefault(page[one.start].size, Counter())[one.level] += 1
    return {size: levels.most_common(1)[0][0] for size, levels in seen.items()}


def _level(size: float, levels: Mapping[float, int]) -> int:
    near = [level for known, level in levels.items() if abs(known - size) < 0.2]
    above = [level for known, level in levels.items() if known > size]
    return near[0] if near else min(max(above, default=0) + 1, _DEEPEST)


def _ranked(pages: Pages, found: list[dict[int, Heading]]) -> list[dict[int, Heading]]:
    """Without an outline the largest type is the first level."""
    placed = ((page, one) for page, here in zip(pages, found, strict=True) for one in here.values() if one.end > one.start)
    sizes = sorted({round(page[one.start].size) for page, one in placed})
    ranks = {size: min(rank, _DEEPEST) for rank, size in enumerate(reversed(sizes), start=1)}
    return [
        {
            start: Heading(h.text, ranks.get(round(page[h.start].size), 1) if h.end > h.start else h.level, h.start, h.end)
            for start, h in here.items()
        }
        for page, here in zip(pages, found, strict=True)
    ]
