"""Manual pages: the macros of man(7) and mdoc(7)."""

from __future__ import annotations

import re
from textwrap import dedent

from wellread.errors import ReadError
from wellread.reading.builder import code, entry, row
from wellread.reading.mdoc import GLUE, INLINE, Argument, in_words
from wellread.reading.roff import Requests, unescaped
from wellread.types import Block, Page

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


def read_man(text: str, url: str, name: str = "") -> Page:
    """Sections, entries, code and rows."""
    made = _Man(name)
    for line in made.requests.lines(text):
        made.take(line)
    made.flush()
    if not made.blocks and _POINTER.search(text):
        raise ReadError(url, "a manual page that only points to another one")
    return Page(url, made.title or name, (), kind="man", blocks=tuple(made.blocks))


_MACRO = re.compile(r"^[.']\s*(%?\w+)\s*(.*)$")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_PARTS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_BREAKS = frozenset({"PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "br", "El", "Bl", "Rs", "Re", "SY", "YS"})
_CODE = frozenset({"nf", "EX", "Vb", "CS", "DS"})
_NO_CODE = frozenset({"fi", "EE", "Ve", "CE", "DE", "Ed"})
_SPOKEN = frozenset({"B", "I", "BI", "IB", "BR", "RB", "IR", "RI", "SM", "SB", "UR", "MT"})
_POINTER = re.compile(r"^[.']\s*so\s+\S", re.MULTILINE)
_LONGEST_TERM = 500  # characters; a term without an end takes no more of the page


class _Man:
    def __init__(self, name: str) -> None:
        self.title = ""
        self.requests = Requests()
        self._name = name
        self.blocks: list[Block] = []
        self._lines: list[str] = []
        self._term: str | None = None  # a .TP waits for it ("" until it comes)
        self._code = False
        self._table: Table | None = None
        self._mdoc = False
        self._program = ""
        self._long_term = False  # an .It with Xo goes on until .Xc

    def take(self, line: str) -> None:
        if self._table is not None:
            self._row(self._table, line)
            return
        found = _MACRO.match(line)
        if found is None or line[:1] not in ".'":
            if not line.startswith((".", "'")):
                self._text(line)
            return
        name, rest = found[1], found[2]
        arguments = [(unescaped((a or b).replace('""', '"')), bool(b)) for a, b in _ARGUMENT.findall(rest)]
        self._mdoc = self._mdoc or name in {"Dd", "Dt"}
        if self._mdoc:
            self._mdoc_macro(name, arguments)
        else:
            self._macro(name, [word for word, _ in arguments])

    def _mdoc_macro(self, name: str, arguments: list[Argument]) -> None:
        if name == "Nm" and arguments and not self._program:
            self._program = arguments[0][0]
        if name in {"Dl", "D1"}:
            self.flush()
            self.blocks.append(Block("code", _joined(in_words("No", arguments, self._program))))
        elif name == "Xc":
            self._long_term = False
            self._say(in_words("No", arguments, self._program))
        elif name == "It" or name in _PARTS:
            self._macro(name, [_joined(in_words("No", arguments, self._program))])
            self._long_term = any(argument == ("Xo", True) for argument in arguments)
        elif name in INLINE:
            self._say(in_words(name, arguments, self._program))
        elif name.startswith("%"):  # of a reference: its author, title, year …
            self._say(in_words("No", [*arguments, (",", False)]))
        elif name in {"Fo", "Fc"}:  # around the arguments of a function
            self._say(f"{arguments[0][0]}({GLUE}" if name == "Fo" and arguments else f"{GLUE})")
        elif name == "Ex":
            self._say(f"{self._program} exits 0 on success, and >0 if an error occurs.")
        else:
            self._macro(name, [word for word, _ in arguments])

    def _macro(self, name: str, words: list[str]) -> None:
        if name in {"TH", "Dt"} and words:
            called = self._called(words[0])
            self.title = f"{called}({words[1]})" if len(words) > 1 else called
        elif name in _PARTS:
            self.flush()
            self._code = False
            self.blocks.append(Block("heading", " ".join(words), _PARTS[name]))
        elif name in _CODE or name in _NO_CODE or name == "Bd":
            self.flush()
            self._code = name in _CODE or (name == "Bd" and not {"-filled", "-ragged", "-centered"}.intersection(words))
        elif name in {"TP", "TQ", "It"}:
            self.flush()
            self._term = (" ".join(words) or "•") if name == "It" else ""
        elif name == "IP":
            self.flush()
            self._term = words[0] if words else None  # without words it is a paragraph that goes on with the entry
        elif name == "TS":
            self.flush()
            self._table = Table()
        else:
            self._spoken(name, words)

    def _spoken(self, name: str, words: list[str]) -> None:
        """Macros that say something, or end what was being said."""
        if name in _BREAKS:
            self._break(name)
        if name in _SPOKEN:
            self._say(("" if len(name) == 2 and name.isupper() and name not in {"SM", "SB", "UR", "MT"} else " ").join(words))
        elif name == "SY":
            self._say(words[0] if words else "")
        elif name == "OP":
            self._say(f"[{' '.join(words)}]")
        elif name == "MR" and words:
            self._say(f"{words[0]}({words[1]})" + "".join(words[2:]) if len(words) > 1 else words[0])
        elif name in self.requests.defined and name not in _BREAKS and self.blocks:
            self._say(" ".join(words) if not all(word.isdecimal() for word in words) else "")

    def _break(self, name: str) -> None:
        if not self._code:
            self.flush()
        elif name not in {"br", "RS", "RE"} and self._lines:
            self._lines.append("")  # of one piece of code

    def _text(self, line: str) -> None:
        if line.strip() or self._code:
            self._say(unescaped(line))
        elif self._lines:
            self.flush()

    def _called(self, title: str) -> str:
        """Headers are written in capitals; a file's name has its own."""
        if self._name.lower() == title.lower():
            return self._name
        return title.lower() if title.isupper() else title

    def _row(self, table: Table, line: str) -> None:
        if line.startswith(".TE"):
            self.blocks.extend(table.rows)
            self._table = None
        else:
            table.take(line)

    def _say(self, text: str) -> None:
        if self._long_term:
            self._term = _joined(f"{self._term or ''} {text}".strip())
            self._long_term = len(self._term) < _LONGEST_TERM
        elif self._term == "":
            self._term = text.strip() or None
        elif self._code:
            self._lines.append(text)
        elif text.strip():
            self._lines.append(text.strip())

    def flush(self) -> None:
        term, self._term = self._term, None
        lines, self._lines, self._long_term = self._lines, [], False
        text = _joined(("\n" if self._code else " ").join(lines))
        text = dedent(text).strip("\n") if self._code else text.strip()
        if term and text:
            self.blocks.append(entry("•" if term == "o" else term, text))
        elif self._code and text:
            self.blocks += code([text])
        elif text.startswith("• "):  # as DocBook writes its lists
            self.blocks.append(Block("item", text[2:].strip(), 1))
        elif text or term:
            self.blocks.append(Block("paragraph", text or term or ""))


def _joined(text: str) -> str:
    if GLUE not in text:
        return text
    first, *others = text.split(GLUE)  # a pattern that looks for the blanks before it would try each of a million
    *middle, last = others
    return "".join((first.rstrip(), *map(str.strip, middle), last.lstrip()))
