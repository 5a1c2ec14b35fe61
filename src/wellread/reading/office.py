"""Word, OpenDocument and PowerPoint from XML to blocks: one receiver of events, and tables that say what their elements are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from wellread.errors import ReadError
from wellread.reading.allowance import MAX_BLOCKS
from wellread.reading.builder import row
from wellread.reading.markup import Enough, Target, feed_xml
from wellread.types import Block

_MICROSOFT = {
    "wordprocessingml": "w",
    "drawingml": "a",
    "presentationml": "p",
    "markup-compatibility": "mc",
    "spreadsheet": "ss",
}
_SPACE = re.compile(
    r"urn:oasis:names:tc:opendocument:xmlns:(\w+):1\.0"
    r"|http://schemas\.openxmlformats\.org/([\w-]+)/2006(?:/main)?|http://purl\.oclc\.org/ooxml/(\w+)/main"
    r"|urn:schemas-microsoft-com:office:(spreadsheet)"
)
_PARAGRAPHS = frozenset({"w:p", "a:p", "text:p", "text:h"})
_ROWS = frozenset({"w:tr", "a:tr", "table:table-row"})
_CELLS = frozenset({"w:tc", "a:tc", "table:table-cell"})
_TEXTS = frozenset({"w:t", "a:t"})  # that words stand in; OpenDocument has them in its paragraphs
_BLANKS = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "a:br": " ", "text:s": " ", "text:tab": " ", "text:line-break": "\n"}
_UNREAD = frozenset(
    # what was there before a change, what is said once more for older programs
    {"w:moveFrom", "w:pPrChange", "w:rPrChange", "mc:Fallback", "text:tracked-changes"}
    # what reviewers say and the number of a note, lists that lead elsewhere; in flat files also pictures and the heads of pages
    | {"office:annotation", "text:note-citation", "text:table-of-content", "text:alphabetical-index"}
    | {"office:binary-data", "office:styles", "office:master-styles"}
)
_OUTLINE = {str(level): level + 1 for level in range(6)}
_HEADING = re.compile(r"(?:heading|titre|überschrift|berschrift|ttulo|título)\s*([1-6])$", re.IGNORECASE)


def fed(data: bytes, target: Target, url: str, broken: str) -> str | None:
    """Parse XML into the target; returns what a reader should know of it."""
    try:
        feed_xml(data, target)
    except Enough:
        return "it is longer than a page may be: the rest was left out"
    except ValueError as error:
        raise ReadError(url, broken) from error
    return None


@lru_cache(maxsize=1024)
def named(tag: str) -> str:
    """The name of an element with the prefix that its language usually has: `w:p`, `text:p`; without one for others."""
    space, _, name = tag.rpartition("}")
    known = _SPACE.fullmatch(space[1:])
    return f"{known[1] or _MICROSOFT.get(known[2] or known[3] or known[4], '')}:{name}" if known else name


def local(attributes: Mapping[str, str]) -> dict[str, str]:
    """Attributes by their names without a namespace."""
    return {name.rpartition("}")[2]: value for name, value in attributes.items()}


@dataclass(slots=True)
class _Paragraph:
    heading: int  # its level; 0: none
    item: int  # how deep in lists
    text: list[str] = field(default_factory=list[str])


class Office(Target):
    """Receives the events of a document, its notes, or a slide, which is a `page`; what was struck out, moved or hidden is left
    out. `Enough` ends it.

    `headings`: the levels of Word's styles. `notes`: texts of notes by kind and number; they stand before what refers to them.
    """

    def __init__(
        self,
        characters: int,
        headings: Mapping[str, int] | None = None,
        notes: Mapping[str, str] | None = None,
        page: int | None = None,
    ) -> None:
        self.blocks: list[Block] = []
        self.notes = dict(notes or {})
        self._headings, self._page, self._noted = headings or {}, page, ""
        self._left, self._allowed = characters, MAX_BLOCKS
        self._rows: list[list[list[str]]] = []  # those that are open, as cells of paragraphs
        self._open: list[_Paragraph] = []  # one may stand in a box or a note inside of another
        self._skipping = self._lists = 0
        self._reading = self._hidden = self._titled = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = named(tag)
        if self._skipping or name in _UNREAD:
            self._skipping += 1
        elif name in _PARAGRAPHS:
            level = local(attributes).get("outline-level", "1") if name == "text:h" else ""
            self._open.append(_Paragraph(min(int(level), 6) if level.isdigit() else int(self._titled), self._lists))
            self._hidden, self._reading = False, name.startswith("text:")
        elif name in _TEXTS:
            self._reading = not self._hidden
        elif name in _ROWS:
            self._rows.append([])
        elif name in _CELLS and self._rows:
            self._rows[-1].append([])
        elif name in _BLANKS and self._open:
            self._open[-1].text.append(_BLANKS[name])
        else:
            self._note(name, local(attributes))

    def _note(self, name: str, given: Mapping[str, str]) -> None:
        """Take note of what an element says of the paragraph that it is in, or of what comes."""
        value = given.get("val", "")
        match name:
            case "drawing:frame" | "p:ph":
                self._titled = given.get("class") == "title" or given.get("type") in {"title", "ctrTitle"}
            case "text:list":
                self._lists += 1
            case "w:r":
                self._hidden = False
            case "w:vanish":
                self._hidden = value not in {"0", "false"}
            case "w:footnoteReference" | "w:endnoteReference":
                if text := self.notes.pop(f"{name.removesuffix('Reference')}{given.get('id')}", ""):
                    self._left -= len(text)
                    self.blocks.append(Block("paragraph", text))
            case "w:footnote" | "w:endnote":
                self._noted = f"{name}{given.get('id')}"
            case _ if self._open:
                self._describe(self._open[-1], name, value, given.get("lvl", ""))
            case _:
                pass

    def _describe(self, paragraph: _Paragraph, name: str, value: str, level: str) -> None:
        match name:
            case "w:pStyle":
                paragraph.heading = self._headings.get(value, _level(value))
            case "w:outlineLvl":
                paragraph.heading = _OUTLINE.get(value, 0)
            case "w:numPr" | "w:numId":
                paragraph.item = int(value != "0")
            case "a:pPr":
                paragraph.item = min(int(level), 8) if level.isdigit() else 0
            case _:
                pass

    def data(self, data: str) -> None:
        if self._reading and self._open and not self._skipping:
            self._left -= len(data)
            self._open[-1].text.append(data.replace("\n", " "))  # only an element breaks a line

    def end(self, tag: str) -> None:
        name = named(tag)
        if self._skipping:
            self._skipping -= 1
        elif name in _TEXTS:
            self._reading = False
        elif name in _PARAGRAPHS and self._open:
            self._end_paragraph(self._open.pop())
        elif name in _ROWS:  # of a table in a cell, too: before the row that it stands in
            if self._rows and any(cells := self._rows.pop()):
                self.blocks.append(row(map(" ".join, cells), self._page))
        elif name == "text:list":
            self._lists -= 1
        elif name in {"drawing:frame", "p:sp"}:
            self._titled = False
        elif name in {"w:footnote", "w:endnote"}:
            self.notes[self._noted] = "\n".join(block.text for block in self.blocks)
            self.blocks = []

    def _end_paragraph(self, made: _Paragraph) -> None:
        text = "\n".join(filter(None, (" ".join(line.split()) for line in "".join(made.text).split("\n"))))
        if text and self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text.replace("\n", " "))
        elif text:
            kind = "heading" if made.heading else "item" if made.item else "paragraph"
            text = text.replace("\n", " ") if made.heading else text
            self.blocks.append(Block(kind, text, made.heading or made.item, page=self._page))
        self._allowed -= 1
        if self._left < 0 or self._allowed < 0:
            raise Enough


def heading_styles(elements: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, int]:
    """Levels of the styles of `styles.xml`, 0 for no heading: by names, which do not change with Word's language as their ids
    do, by their place in the outline, or as the style has it that they are based on."""
    levels: dict[str, int] = {}
    based: dict[str, str] = {}
    style = ""
    for name, given in elements:
        said = local(given)
        value = said.get("val", "")
        if name == "style":
            style = said.get("styleId", "")
        elif name == "name" and (level := _level(value)):
            levels[style] = level
        elif name == "outlineLvl":
            levels[style] = _OUTLINE.get(value, 0)
        elif name == "basedOn":
            based[style] = value
    for style in based:
        below, seen = style, set[str]()
        while below not in levels and below in based and below not in seen:
            seen.add(below)
            below = based[below]
        levels.update(dict.fromkeys((style, *seen), levels.get(below, 0)))
    return levels


def _level(style: str) -> int:
    heading = _HEADING.match(style)
    return int(heading.group(1)) if heading else int(style.lower() == "title")
