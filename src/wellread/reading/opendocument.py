"""OpenDocument text and presentations, and PowerPoint slides, to blocks: events of XML, as with Word."""

from __future__ import annotations

from collections.abc import Mapping

from wellread.reading.builder import Flow
from wellread.reading.wordxml import Full

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_IN_FLAT_ONES = (_OFFICE + "binary-data", _OFFICE + "styles", _OFFICE + "master-styles")  # pictures, the heads and feet of pages
_ASIDE = (_OFFICE + "annotation", _TEXT + "note-citation")  # what reviewers say, and the number of a note
_HIDDEN = frozenset(
    {_TEXT + "tracked-changes", _TEXT + "table-of-content", _TEXT + "alphabetical-index", *_ASIDE, *_IN_FLAT_ONES}
)
_MOST_BLANKS = 100


class OpenDocument(Flow):
    """Receives the events of `content.xml`, or of a flat document. A slide's title is a heading; one without it has its name."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self._left = characters
        self._text: list[list[str]] = []  # of the open paragraphs: a frame or note may stand inside of one
        self._levels: list[int] = []  # of headings; 0: a paragraph
        self._lists = 0
        self._hidden = 0
        self._class = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _HIDDEN or self._hidden:
            self._hidden += 1
        elif tag in {_TEXT + "p", _TEXT + "h"}:
            level = attributes.get(_TEXT + "outline-level", "1")
            self._text.append([])
            self._levels.append(min(int(level), 6) if tag == _TEXT + "h" and level.isdigit() else int(self._class == "title"))
        elif tag == _TEXT + "list":
            self._lists += 1
        elif tag == _TABLE + "table-row":
            self.open_row()
        elif tag == _TABLE + "table-cell":
            self.open_cell()
        elif tag == _DRAW + "frame":
            self._class = attributes.get(_PRESENTATION + "class", "")
        elif self._text:
            self._blank(tag, attributes)

    def _blank(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == _TEXT + "s":
            count = attributes.get(_TEXT + "c", "1")
            self._text[-1].append(" " * (min(int(count), _MOST_BLANKS) if count.isdigit() else 1))
        elif tag in {_TEXT + "tab", _TEXT + "line-break"}:
            self._text[-1].append("\n" if tag.endswith("break") else " ")

    def data(self, data: str) -> None:
        if self._text and not self._hidden:
            self._left -= len(data)
            self._text[-1].append(data.replace("\n", " "))  # only an element breaks a line

    def end(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif tag in {_TEXT + "p", _TEXT + "h"} and self._text:
            self._end_paragraph()
        elif tag == _TEXT + "list":
            self._lists -= 1
        elif tag == _TABLE + "table-row":  # of a table in a cell, too: before the row that it stands in, as with Word
            self.close_row()
        elif tag == _DRAW + "frame":
            self._class = ""

    def close(self) -> None:
        pass

    def _end_paragraph(self) -> None:
        self.paragraph("".join(self._text.pop()), heading=self._levels.pop(), item=self._lists)
        if self._left < 0:
            raise Full


class Slide(Flow):
    """Receives the events of one PowerPoint slide."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self._text: list[str] = []
        self._level = 0
        self._title = self._reading = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == _SLIDE + "sp":
            self._title = False
        elif tag == _SLIDE + "ph":
            self._title = attributes.get("type") in {"title", "ctrTitle"}
        elif tag == _DRAWING + "p":
            self._text, self._level = [], 0
        elif tag == _DRAWING + "pPr":
            level = attributes.get("lvl", "0")
            self._level = min(int(level), 8) if level.isdigit() else 0
        elif tag == _DRAWING + "tr":
            self.open_row()
        elif tag == _DRAWING + "tc":
            self.open_cell()
        elif tag == _DRAWING + "br":
            self._text.append(" ")
        self._reading = tag == _DRAWING + "t"

    def data(self, data: str) -> None:
        if self._reading:
            self._text.append(data)

    def end(self, tag: str) -> None:
        self._reading = False
        if tag == _DRAWING + "tr":
            self.close_row(self._number)
        elif tag == _DRAWING + "p":
            self.paragraph("".join(self._text), heading=int(self._title), item=self._level, page=self._number)

    def close(self) -> None:
        pass
