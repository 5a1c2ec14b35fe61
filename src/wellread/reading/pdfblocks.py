"""Layout analysis of PDFs, from lines to blocks: running heads out, then headings, paragraphs, items, rows of tables, code."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile

from wellread.reading.pdflines import Line, joined
from wellread.types import Block

_EDGE = 3  # lines that a running head or foot may have
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"^(\d{1,5})\b|\b(\d{1,5})$")
_ONLY_NUMBER = re.compile(r"[\W_]*(?:page )?(?:\d+|[ivxlcdm]+)(?: (?:of|/) \d+)?[\W_]*", re.IGNORECASE)
_LEADER = re.compile(r"(?:[.·…] ?){4,}\s*(?:[\divxlcA-Z-]{0,8})\s*$")
_ENDS_IN_NUMBER = re.compile(r"\s(?:\d{1,5}|[ivxlc]+)$")
_FEWEST = 3  # pages on which a line must stand to be a running head

Pages = Sequence[Sequence[Line]]


def without_margins(pages: Pages) -> list[list[Line]]:
    """The lines that are text."""
    return [_without_contents(page) for page in _without_running_heads(pages)]


def _without_running_heads(pages: Pages) -> Iterator[list[Line]]:
    from_above = [sorted(page, key=lambda line: -line.y) for page in pages]
    edges = [{_key(line) for line in (*page[:_EDGE], *page[-_EDGE:])} for page in from_above]
    placed = Counter(key for page in edges for key in page)
    worded = Counter(words for page in edges for words in {words for words, _ in page})
    outer = ({one for line in (*page[:1], *page[-1:]) for one in _offsets(line, at)} for at, page in enumerate(from_above))
    ((offset, numbered),) = Counter(one for offsets in outer for one in offsets).most_common(1) or [(0, 0)]
    counted = numbered >= max(_FEWEST, 0.3 * len(pages))  # printed numbers differ by this from the pages' own, all along
    often = max(_FEWEST, len(pages) // 3)

    def runs(line: Line, page: int) -> bool:
        words, place = _key(line)
        if not any(letter.isalnum() for letter in line.text):
            return False
        repeated = placed[words, place] >= _FEWEST or worded[words] >= often
        return repeated or bool(_ONLY_NUMBER.fullmatch(line.text)) or (counted and offset in _offsets(line, page))

    for number, lines in enumerate(from_above):
        # A number may stand on the same line as words that were set apart from it.
        ends = (takewhile(lambda line: runs(line, number), some[:_EDGE]) for some in (lines, lines[::-1]))  # noqa: B023
        gone = {id(line) for end in ends for line in end}
        yield [line for line in pages[number] if id(line) not in gone]


def _key(line: Line) -> tuple[str, int]:
    return _DIGITS.sub("#", line.text).casefold(), round(line.y / 3)


def _offsets(line: Line, page: int) -> set[int]:
    return {int(found[1] or found[2]) - page for found in _NUMBER.finditer(line.text)}


def _without_contents(page: list[Line]) -> list[Line]:
    """Lines with leaders lead elsewhere; a page that is mostly of them is a table of contents, or an index."""
    leaders = sum(bool(_LEADER.search(line.text)) for line in page)
    if not leaders:
        return page
    numbered = sum(bool(_LEADER.search(line.text) or _ENDS_IN_NUMBER.search(line.text)) for line in page)
    if leaders >= _FEWEST and numbered >= 0.6 * len(page):
        return []
    return [line for line in page if not _LEADER.search(line.text)]


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


def headings(pages: Pages, outline: Sequence[Entry], body: float) -> list[dict[int, Heading]]:
    """Of each page, by the line that they start at."""
    found: list[dict[int, Heading]] = [{} for _ in pages]
    named = {number: _Named(pages[number]) for number in {entry.page for entry in outline} if 0 <= number < len(pages)}
    for entry in outline:
        if entry.page in named:
            _place(found[entry.page], named[entry.page].heading(entry))
    levels = _levels(pages, found)
    outlined = sum(map(len, found)) >= 3
    chapters_alone = all(entry.level == 1 for entry in outline)  # what is below them is told by its type
    first = min((page for page, here in enumerate(found) if here), default=0) if outlined else 0
    for page, lines in enumerate(pages[first:], start=first):  # before the first part there is a title page
        taken = {place for one in found[page].values() for place in range(one.start, one.end)}
        for start, end in _larger(lines, body, taken, bold=chapters_alone):
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
    """The heading level that each size of type stands for, by the outline."""
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
    for page, here in zip(pages, found, strict=True):
        here |= {at: replace(one, level=ranks[round(page[at].size)]) for at, one in here.items() if one.end > at}
    return found


_BULLET = re.compile(r"^[•◦▪‣∙·●○■□–*-]\s+(?=\S)")
_NUMBERED = re.compile(r"^(?:\(?\d{1,2}[.)]|\(?[a-z]\)|\[\d{1,3}\])\s+(?=\S)")
_ENDS = (".", "!", "?", ":", "”", '"', ")", "。")
_TERM = re.compile(r"[\w./${}()-]{1,40}")
_WIDEST_GAP = 1.18  # times the usual distance of lines; more parts paragraphs


def blocks(pages: Sequence[Sequence[Line]], heads: Sequence[Mapping[int, Heading]]) -> list[Block]:
    """All pages as one text; a paragraph that runs over a page's end belongs to the page it begins on."""
    writer = _Writer(_leading(pages))
    for number, (lines, here) in enumerate(zip(pages, heads, strict=True), start=1):
        writer.page(lines, here, number)
    writer.end()
    return writer.blocks


def body_size(pages: Sequence[Sequence[Line]]) -> float:
    """The size that most letters have."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def _leading(pages: Sequence[Sequence[Line]]) -> float:
    """The usual distance of two lines."""
    gaps: Counter[float] = Counter()
    for page in pages:
        for above, line in itertools.pairwise(page):
            if 0 < above.last_y - line.y < 4 * line.size:
                gaps[round(above.last_y - line.y)] += 1
    return gaps.most_common(1)[0][0] if gaps else 12.0


class _Writer:
    def __init__(self, leading: float) -> None:
        self._gap = leading * _WIDEST_GAP + 0.6
        self._lines: list[Line] = []  # of the block that is open
        self._kind = ""
        self._begun = 1  # the page it begins on
        self._margin = 0.0
        self._term = ""  # that waits for what is said of it
        self.blocks: list[Block] = []

    def page(self, lines: Sequence[Line], heads: Mapping[int, Heading], number: int) -> None:
        self._margin = max((line.reach for line in lines), default=0.0)
        place = 0
        while place <= len(lines):
            heading = heads.get(place)
            if heading is not None:
                self._head(heading, number)
                if heading.end > place:
                    place = heading.end
                    continue
            if place < len(lines):
                self._add(lines[place], number)
            place += 1

    def end(self) -> None:
        self._write()
        self._lines, self._kind, self._term = [], "", ""

    def _head(self, heading: Heading, number: int) -> None:
        self.end()
        *above, text = heading.text.split("\n")
        for place, title in enumerate(above):
            self.blocks.append(Block("heading", title, max(heading.level - len(above) + place, 1), page=number))
        self.blocks.append(Block("heading", text, heading.level, page=number))

    def _add(self, line: Line, number: int) -> None:
        kind = "code" if line.mono and not self._goes_on(line) else "row" if line.cells else "text"
        if self._lines and self._is_term(self._lines, line):
            self._term, self._lines = self._lines[0].text, []
        if self._lines and (kind != self._kind or self._parts(self._lines[-1], line)):
            self.end()
        if not self._lines:
            self._begun, self._kind = number, kind
        self._lines.append(line)

    def _is_term(self, before: Sequence[Line], line: Line) -> bool:
        """Whether a single short line names what the set-in text right below it is about."""
        above = before[0]
        if self._term or len(before) > 1 or line.mono or above.text.endswith(_ENDS) or above.cells or _is_item(above.text):
            return False
        near = 0 < above.last_y - line.y <= self._gap and line.size < line.left - above.left < 8 * line.size
        return near and above.right < above.left + 0.6 * (self._margin - above.left)

    def _goes_on(self, line: Line) -> bool:
        """Whether a line in fixed type is the end of a sentence, as a long address is."""
        last = self._lines[-1] if self._kind == "text" else None
        if last is None or last.text.endswith(_ENDS):
            return False
        return 0 < last.last_y - line.y <= self._gap and abs(line.left - self._lines[-1].left) < line.size

    def _parts(self, last: Line, line: Line) -> bool:
        """Whether a line begins something new."""
        gap = last.last_y - line.y
        if self._kind == "row":
            return not 0 <= gap < 3 * self._gap
        if self._kind == "code":
            return not 0 < gap < 2 * self._gap
        if _BULLET.match(line.text) or _NUMBERED.match(line.text) or abs(last.size - line.size) > 0.12 * last.size:
            return True
        if gap <= 0:  # the next column, or the next page
            return last.text.endswith(_ENDS) or not line.text[:1].islower()
        return gap > self._gap or self._ends(last, line)

    def _ends(self, last: Line, line: Line) -> bool:
        """Whether a paragraph ends by its look: a short last line, or a first line that is set in."""
        if not last.text.endswith(_ENDS):
            return False
        short = last.right < self._margin - 0.15 * (self._margin - last.left)
        indented = 0.8 * line.size < line.left - last.left < 5 * line.size and not _is_item(self._lines[0].text)
        return short or indented

    def _write(self) -> None:
        if not self._lines:
            return
        if self._term and self._kind == "text":
            self.blocks.append(Block("entry", f"{self._term}: {joined(self._lines)}", 1, page=self._begun))
        elif self._kind == "code":
            self._code()
        elif self._kind == "row" and len(self._lines) > 1:
            self.blocks += [Block("row", f"| {' | '.join(line.cells)} |", page=self._begun) for line in self._lines]
        else:
            text = joined(self._lines)
            item = _is_item(text)
            self.blocks.append(Block("item" if item else "paragraph", _BULLET.sub("", text), int(item), page=self._begun))

    def _code(self) -> None:
        lines = self._lines
        if len(lines) == 1 and _TERM.fullmatch(lines[0].text):
            self.blocks.append(Block("paragraph", lines[0].text, page=self._begun))
            return
        left = min(line.left for line in lines)
        width = max(0.5 * lines[0].size, 1.0)
        text = "\n".join(" " * min(round((line.left - left) / width), 40) + line.text for line in lines)
        self.blocks.append(Block("code", text, page=self._begun))


def _is_item(text: str) -> bool:
    return bool(_BULLET.match(text) or _NUMBERED.match(text))
