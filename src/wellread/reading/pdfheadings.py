"""Which lines of a PDF are headings: those that its outline names, and those that are set larger than the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    for entry in outline:
        if 0 <= entry.page < len(pages):
            _place(found[entry.page], _named(pages[entry.page], entry))
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
    if start in page:
        first = page[start]
        page[start] = Heading(f"{first.text}\n{made.text}", made.level, start, max(first.end, made.end))
    else:
        page[start] = made


def _named(lines: Sequence[Line], entry: Entry) -> Heading:
    """Where an entry stands: the lines that say it, nearest to where it points; else where it points."""
    wanted = _letters(entry.title)
    candidates: list[tuple[float, int, int]] = []
    for start in range(len(lines)):
        said = ""
        for end in range(start + 1, min(start + 1 + _MOST_LINES, len(lines) + 1)):
            said = f"{said} {lines[end - 1].text}".strip()
            if _says(said, wanted):
                far = abs((entry.y if entry.y is not None else lines[start].y) - lines[start].y)
                candidates.append((far - lines[start].size, start, end))
            if len(_letters(said)) > len(wanted) + 20:
                break
    if candidates:
        _, start, end = min(candidates)
        return Heading(entry.title, entry.level, start, end)
    below = (place for place, line in enumerate(lines) if entry.y is None or line.y <= entry.y)
    start = next(below, len(lines))
    return Heading(entry.title, entry.level, start, start)


def _says(text: str, wanted: str) -> bool:
    return bool(wanted) and wanted in {_letters(text), _letters(_ORDINAL.sub("", text))}


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
