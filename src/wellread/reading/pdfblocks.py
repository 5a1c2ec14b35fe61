"""Lines of a PDF to blocks: headings, paragraphs, items, rows of tables, code."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from wellread.reading.pdfheadings import Heading
from wellread.reading.pdflines import Line
from wellread.types import Block

_BULLET = re.compile(r"^[•◦▪‣∙·●○■□–*-]\s+(?=\S)")
_NUMBERED = re.compile(r"^(?:\(?\d{1,2}[.)]|\(?[a-z]\)|\[\d{1,3}\])\s+(?=\S)")
_ENDS = (".", "!", "?", ":", "”", '"', ")", "。")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_TERM = re.compile(r"[\w./${}()-]{1,40}")
_WIDEST_GAP = 1.18  # times the usual distance of lines; more parts paragraphs


def blocks(pages: Sequence[Sequence[Line]], heads: Sequence[Mapping[int, Heading]], first_page: int = 1) -> list[Block]:
    """All pages as one text; a paragraph that runs over a page's end belongs to the page it begins on."""
    writer = _Writer(_leading(pages))
    for number, (lines, here) in enumerate(zip(pages, heads, strict=True), start=first_page):
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
        if self._lines:
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
        if self._term and self._kind == "text":
            self.blocks.append(Block("entry", f"{self._term}: {_joined(self._lines)}", 1, page=self._begun))
        elif self._kind == "code":
            self._code()
        elif self._kind == "row" and len(self._lines) > 1:
            self.blocks += [Block("row", f"| {' | '.join(line.cells)} |", page=self._begun) for line in self._lines]
        else:
            text = _joined(self._lines)
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


def _joined(lines: Sequence[Line]) -> str:
    """Put together once: a book may be one paragraph."""
    parts: list[str] = []
    for line in lines:
        if parts and _HYPHEN.search(parts[-1]) and line.text[:1].islower():
            parts[-1] = parts[-1][:-1]
        elif parts:
            parts.append(" ")
        parts.append(line.text)
    return "".join(parts)
