"""Tables of manual pages, as tbl(1) reads them."""

from __future__ import annotations

import re

from wellread.reading.builder import row
from wellread.reading.roff import unescaped
from wellread.types import Block

_TAB = re.compile(r"tab\s*\((.)\)", re.IGNORECASE)
_MOST_CELLS = 1_000  # of a row, and lines of a cell


class Table:
    """Takes the lines between .TS and .TE: options that end in `;`, a layout that ends in a stop, then the rows."""

    def __init__(self) -> None:
        self.rows: list[Block] = []
        self._between = "\t"
        self._layout = True
        self._cells: list[str] = []
        self._long: list[str] | None = None  # lines of a cell that goes on until T}

    def take(self, line: str) -> None:
        if self._layout:
            self._describe(line)
        elif self._long is not None:
            self._go_on(line, self._long)
        elif line.startswith(".T&"):
            self._layout = True
        elif not line.startswith((".", "'")) and line.strip(" _=-"):
            self._begin(line.split(self._between))

    def _describe(self, line: str) -> None:
        if line.rstrip().endswith(";"):
            found = _TAB.search(line)
            self._between = found[1] if found else self._between
        elif line.rstrip().endswith("."):
            self._layout = False

    def _begin(self, parts: list[str]) -> None:
        """Cells of a row; one that opens with T{ goes on in the lines that follow."""
        for part in parts[:-1]:
            self._cells.append(part)
        if parts[-1].strip() == "T{":
            self._long = []
        else:
            self._cells.append(parts[-1])
            self._end()

    def _go_on(self, line: str, long: list[str]) -> None:
        if not line.startswith("T}"):
            if len(long) < _MOST_CELLS and (not line.startswith((".", "'")) or line[1:3] in {"B ", "I "}):
                long.append(line[3:] if line.startswith((".", "'")) else line)
            return
        self._cells.append(" ".join(long))
        self._long = None
        after = line[2:].split(self._between)[1:]
        if after and len(self._cells) < _MOST_CELLS:
            self._begin(after)
        else:
            self._end()

    def _end(self) -> None:
        cells = [" ".join(unescaped(cell).split()) for cell in self._cells]
        self._cells = []
        if any(cell.strip("_=-^\\") for cell in cells):
            self.rows.append(row(cells))
