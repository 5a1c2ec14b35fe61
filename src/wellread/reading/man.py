"""Manual pages: the macros of man(7) and mdoc(7), and the tables of tbl(1)."""

from __future__ import annotations

import re

from wellread.reading.mdoc import GLUE, INLINE, Argument, in_words
from wellread.types import Block, Page


def read_man(text: str, url: str, name: str = "") -> Page:
    """Sections, entries, code and rows."""
    made = _Man()
    for line in text.replace("\\\n", "").split("\n"):
        made.take(line)
    made.flush()
    return Page(url, made.title or name, (), kind="man", blocks=tuple(made.blocks))


_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d|\\[|^&/,:]|\\\"[^\n]*")
_NAMED = {
    "aq": "'",
    "dq": '"',
    "bu": "•",
    "em": "—",
    "en": "–",
    "co": "©",
    "rs": "\\",
    "lq": "“",
    "rq": "”",
    "oq": "‘",
    "cq": "’",
}
_CHARACTER = re.compile(r"\\\((..)|\\\[(\w{2,20})\]|\\\*\(..|\\\*\[[^\]]*\]|\\\*.")
_ESCAPED = {r"\-": "-", r"\e": "\\", r"\ ": " ", r"\~": " ", r"\0": " ", r"\'": "'", r"\`": "`", r"\.": "."}
_ESCAPE = re.compile(r"\\[-e ~0'`.]")
_MACRO = re.compile(r"^[.']\s*(%?\w+)\s*(.*)$")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_PARTS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_BREAKS = frozenset({"PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "br", "El", "Bl", "Rs", "Re"})
_SPOKEN = frozenset({"B", "I", "BI", "IB", "BR", "RB", "IR", "RI", "SM", "SB", "UR", "MT"})
_LONGEST_TERM = 500  # characters; a term without an end takes no more of the page
_GLUED = re.compile(rf"\s*{GLUE}\s*")


class _Man:
    def __init__(self) -> None:
        self.title = ""
        self.blocks: list[Block] = []
        self._lines: list[str] = []
        self._term: str | None = None  # a .TP waits for it ("" until it comes)
        self._code = False
        self._table = ""  # "layout" until its columns are described, then "rows"
        self._mdoc = False
        self._program = ""
        self._long_term = False  # an .It with Xo goes on until .Xc

    def take(self, line: str) -> None:
        if self._table:
            self._row(line)
            return
        found = _MACRO.match(line)
        if found is None or line[:1] not in ".'":
            if not line.startswith((".", "'")):
                self._say(_unescaped(line))
            return
        name, rest = found[1], found[2]
        arguments = [(_unescaped((a or b).replace('""', '"')), bool(b)) for a, b in _ARGUMENT.findall(rest)]
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
            self.title = f"{words[0].lower()}({words[1]})" if len(words) > 1 else words[0].lower()
        elif name in _PARTS:
            self.flush()
            self.blocks.append(Block("heading", " ".join(words), _PARTS[name]))
        elif name in {"nf", "EX", "Bd", "fi", "EE", "Ed"}:
            self.flush()
            self._code = name in {"nf", "EX", "Bd"}
        elif name in {"TP", "TQ", "It"}:
            self.flush()
            self._term = " ".join(words if name == "It" else [])
        elif name == "IP":
            self.flush()
            self._term = words[0] if words else None  # without words it is a paragraph that goes on with the entry
        elif name == "TS":
            self.flush()
            self._table = "layout"
        elif name in _BREAKS:
            self.flush()
        elif name in _SPOKEN:
            self._say(("" if len(name) == 2 and name.isupper() and name not in {"SM", "SB"} else " ").join(words))

    def _row(self, line: str) -> None:
        """A line of a table as tbl(1) reads it: columns with tabs between them, after a description that ends in a stop."""
        if line.startswith(".TE"):
            self._table = ""
        elif self._table == "layout":
            self._table = "rows" if line.rstrip().endswith(".") else "layout"
        elif line.startswith(".T&"):
            self._table = "layout"
        elif line.strip(" _=-") and not line.startswith((".", "'")):
            cells = (_unescaped(cell).strip().removeprefix("T{").removesuffix("T}") for cell in line.split("\t"))
            self.blocks.append(Block("row", "| " + " | ".join(cells) + " |"))

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
        text = _joined(("\n" if self._code else " ").join(self._lines).strip("\n" if self._code else None))
        self._lines, self._long_term = [], False
        if term and term not in "•-*" and text:
            self.blocks.append(Block("entry", f"{term}: {text}", 1))
        elif term and text:
            self.blocks.append(Block("item", text, 1))
        elif text.strip() or term:
            self.blocks.append(Block("code" if self._code and text.strip() else "paragraph", text or term or ""))


def _joined(text: str) -> str:
    return _GLUED.sub("", text)


def _unescaped(text: str) -> str:
    text = _CHARACTER.sub(lambda found: _NAMED.get(found[1] or found[2] or "", ""), _FONT.sub("", text))
    return _ESCAPE.sub(lambda found: _ESCAPED[found[0]], text)
