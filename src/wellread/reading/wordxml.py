"""WordprocessingML to blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wellread.reading.allowance import MAX_BLOCKS
from wellread.types import Block

_SPACES = frozenset(
    {"http://schemas.openxmlformats.org/wordprocessingml/2006/main", "http://purl.oclc.org/ooxml/wordprocessingml/main"}
)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # says the same for older programs
_HEADING = re.compile(r"(?:heading|titre|überschrift|berschrift|ttulo|título)\s*([1-6])$", re.IGNORECASE)


class Full(Exception):
    """There is more text than was asked for."""


class _Paragraph:
    def __init__(self) -> None:
        self.text: list[str] = []
        self.style = ""
        self.item = False


class Paragraphs:
    """Receives the events of `document.xml`; what was struck out, moved or hidden is left out. `Full` ends it."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        self._allowed = MAX_BLOCKS
        self.blocks: list[Block] = []
        self._open: list[_Paragraph] = []  # one may stand in a box inside of another
        self._skipping = 0
        self._hidden = False
        self._reading = False
        self._rows: list[list[list[str]]] = []  # the open tables' current rows, as cells

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = _name(tag)
        if self._skipping or name == "moveFrom" or tag == _FALLBACK:
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
        elif self._open and name in {"pStyle", "numPr", "tab", "br", "cr"}:
            self._note(name, _value(tag, attributes, ""))
        else:
            self._start_table(name)

    def _note(self, name: str, value: str) -> None:
        paragraph = self._open[-1]
        if name == "pStyle":
            paragraph.style = value
        elif name == "numPr":
            paragraph.item = True
        else:
            paragraph.text.append("\t" if name == "tab" else "\n")

    def _start_table(self, name: str) -> None:
        if name == "tr":
            self._rows.append([])
        elif name == "tc" and self._rows:
            self._rows[-1].append([])

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
        elif name == "tr" and self._rows:
            row = " | ".join(" ".join(cell) for cell in self._rows.pop())
            if row.strip("| "):
                self.blocks.append(Block("row", f"| {row} |"))

    def close(self) -> None:
        pass

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        lines = (" ".join(line.split()) for line in "".join(paragraph.text).split("\n"))
        text = "\n".join(line for line in lines if line)
        if not text:
            return
        self._allowed -= 1
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text.replace("\n", " "))
        else:
            heading = _HEADING.match(paragraph.style)
            level = int(heading.group(1)) if heading else 1 if paragraph.style.lower() == "title" else 0
            kind = "heading" if level else "item" if paragraph.item else "paragraph"
            self.blocks.append(Block(kind, text, level or int(paragraph.item)))
        if self._left < 0 or self._allowed < 0:
            raise Full


def _name(tag: str) -> str:
    """Of an element of Word's; nothing for others."""
    space, _, name = tag.rpartition("}")
    return name if space[1:] in _SPACES else ""


def _value(tag: str, attributes: Mapping[str, str], usual: str) -> str:
    return attributes.get(f"{tag.rpartition('}')[0]}}}val", usual)
