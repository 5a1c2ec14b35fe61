"""WordprocessingML to blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from wellread.errors import ReadError
from wellread.reading.allowance import MAX_BLOCKS
from wellread.reading.builder import Flow
from wellread.reading.markup import Target, feed_xml
from wellread.types import Block

_SPACES = frozenset(
    {"http://schemas.openxmlformats.org/wordprocessingml/2006/main", "http://purl.oclc.org/ooxml/wordprocessingml/main"}
)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # says the same for older programs
_UNREAD = frozenset({"moveFrom", "pPrChange", "rPrChange"})  # what was there before a change
_HEADING = re.compile(r"(?:heading|titre|überschrift|berschrift|ttulo|título)\s*([1-6])$", re.IGNORECASE)


class Full(Exception):
    """There is more text than was asked for."""


def fed(data: bytes, target: Target, url: str, broken: str) -> str | None:
    """Parse XML into the target; returns what a reader should know of it."""
    try:
        feed_xml(data, target)
    except Full:
        return "it is longer than a page may be: the rest was left out"
    except ValueError as error:
        raise ReadError(url, broken) from error
    return None


class _Paragraph:
    def __init__(self) -> None:
        self.text: list[str] = []
        self.style = ""
        self.item = False
        self.outline: int | None = None


class Paragraphs(Flow):
    """Receives the events of `document.xml`; what was struck out, moved or hidden is left out. `Full` ends it.

    `headings`: the levels of styles. `notes`: the texts of notes; each stands before the paragraph that refers to it.
    """

    def __init__(
        self, characters: int, headings: Mapping[str, int] | None = None, notes: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._left = characters
        self._headings = headings or {}
        self._notes = dict(notes or {})
        self._allowed = MAX_BLOCKS
        self._open: list[_Paragraph] = []  # one may stand in a box inside of another
        self._skipping = 0
        self._hidden = False
        self._reading = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = _name(tag)
        if self._skipping or name in _UNREAD or tag == _FALLBACK:
            self._skipping += 1
        elif name == "p":
            self._open.append(_Paragraph())
            self._hidden = False
        elif name == "r":
            self._hidden = False
        elif name == "vanish":
            self._hidden = _value(tag, attributes, "true") not in {"0", "false"}
        elif name == "t":
            self._reading = not self._hidden and bool(self._open)
        elif self._open and name in {"pStyle", "numPr", "numId", "outlineLvl", "tab", "br", "cr"}:
            self._note(name, _value(tag, attributes, ""))
        elif name in {"footnoteReference", "endnoteReference"}:
            self._refer(name.removesuffix("Reference") + _value(tag, attributes, "", "id"))
        elif name == "tr":
            self.open_row()
        elif name == "tc":
            self.open_cell()

    def _note(self, name: str, value: str) -> None:
        paragraph = self._open[-1]
        if name == "pStyle":
            paragraph.style = value
        elif name in {"numPr", "numId"}:
            paragraph.item = value != "0"
        elif name == "outlineLvl":
            paragraph.outline = _outline(value)
        else:
            paragraph.text.append("\t" if name == "tab" else "\n")

    def _refer(self, note: str) -> None:
        if text := self._notes.pop(note, ""):
            self._left -= len(text)
            self.blocks.append(Block("paragraph", text))

    def data(self, data: str) -> None:
        if self._reading:
            self._left -= len(data)
            self._open[-1].text.append(data)

    def end(self, tag: str) -> None:
        name = _name(tag)
        if self._skipping:
            self._skipping -= 1
        elif name == "t":
            self._reading = False
        elif name == "p" and self._open:
            self._end_paragraph(self._open.pop())
        elif name == "tr":
            self.close_row()

    def close(self) -> None:
        pass

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        level = self._headings.get(paragraph.style, _level(paragraph.style)) if paragraph.outline is None else paragraph.outline
        self._allowed -= 1
        self.paragraph("".join(paragraph.text), heading=level, item=int(paragraph.item))
        if self._left < 0 or self._allowed < 0:
            raise Full


class Notes(Paragraphs):
    """Receives the events of `footnotes.xml` or `endnotes.xml`. `texts`: by their kind and number."""

    def __init__(self, characters: int) -> None:
        super().__init__(characters)
        self.texts: dict[str, str] = {}
        self._number = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if _name(tag) in {"footnote", "endnote"}:
            self._number = _name(tag) + _value(tag, attributes, "", "id")
        super().start(tag, attributes)

    def end(self, tag: str) -> None:
        super().end(tag)
        if _name(tag) in {"footnote", "endnote"}:
            self.texts[self._number] = "\n".join(block.text for block in self.blocks)
            self.blocks = []


def heading_styles(elements: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, int]:
    """Levels of the styles of `styles.xml`, 0 for no heading: by names, which do not change with Word's language as their ids
    do, by their place in the outline, or as the style has it that they are based on."""
    levels: dict[str, int] = {}
    based: dict[str, str] = {}
    style = ""
    for name, given in elements:
        said = {key.rpartition("}")[2]: value for key, value in given.items()}
        value = said.get("val", "")
        if name == "style":
            style = said.get("styleId", "")
        elif name == "name" and (level := _level(value)):
            levels[style] = level
        elif name == "outlineLvl":
            levels[style] = _outline(value)
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


def _outline(value: str) -> int:
    return int(value) + 1 if value in set("012345") else 0


def _name(tag: str) -> str:
    """Of an element of Word's; nothing for others."""
    space, _, name = tag.rpartition("}")
    return name if space[1:] in _SPACES else ""


def _value(tag: str, attributes: Mapping[str, str], usual: str, name: str = "val") -> str:
    return attributes.get(f"{tag.rpartition('}')[0]}}}{name}", usual)
