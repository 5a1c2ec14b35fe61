"""WordprocessingML to blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wellread.reading.allowance import MAX_BLOCKS
from wellread.types import Block

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"(?:heading|titre|überschrift|berschrift|ttulo|título)\s*([1-6])$", re.IGNORECASE)


class Full(Exception):
    """There is more text than was asked for."""


class Paragraphs:
    """Receives the events of `document.xml`; what was struck out or hidden is left out. `Full` ends it."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        self._allowed = MAX_BLOCKS
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._style = ""
        self._item = False
        self._hidden = False
        self._reading = False
        self._rows: list[list[list[str]]] = []  # the open tables' current rows, as cells

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = tag.removeprefix(_W)
        if name == "p":
            self._text, self._style, self._item, self._hidden = [], "", False, False
        elif name == "pStyle":
            self._style = attributes.get(_W + "val", "")
        elif name == "numPr":
            self._item = True
        elif name == "r":
            self._hidden = False
        elif name == "vanish":
            self._hidden = attributes.get(_W + "val", "true") not in {"0", "false"}
        elif name == "t":
            self._reading = not self._hidden
        elif name in {"tab", "br", "cr"}:
            self._text.append("\t" if name == "tab" else "\n")
        else:
            self._start_table(name)

    def _start_table(self, name: str) -> None:
        if name == "tr":
            self._rows.append([])
        elif name == "tc" and self._rows:
            self._rows[-1].append([])

    def data(self, data: str) -> None:
        if self._reading:
            self._left -= len(data)
            self._text.append(data)

    def end(self, tag: str) -> None:
        name = tag.removeprefix(_W)
        if name == "t":
            self._reading = False
        elif name == "p":
            self._end_paragraph()
        elif name == "tr" and self._rows:
            row = " | ".join(" ".join(cell) for cell in self._rows.pop())
            if row.strip("| "):
                self.blocks.append(Block("row", f"| {row} |"))

    def close(self) -> None:
        pass

    def _end_paragraph(self) -> None:
        lines = (" ".join(line.split()) for line in "".join(self._text).split("\n"))
        text = "\n".join(line for line in lines if line)
        self._text = []
        if not text:
            return
        self._allowed -= 1
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(text.replace("\n", " "))
        else:
            heading = _HEADING.match(self._style)
            level = int(heading.group(1)) if heading else 1 if self._style.lower() == "title" else 0
            kind = "heading" if level else "item" if self._item else "paragraph"
            self.blocks.append(Block(kind, text, level or int(self._item)))
        if self._left < 0 or self._allowed < 0:
            raise Full
