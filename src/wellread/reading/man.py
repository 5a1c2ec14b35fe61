"""Manual pages: the macros of man(7), and of mdoc(7), in which the manuals of OpenSSH, tmux, sudo and the BSDs are written.

A line of mdoc is a macro and its arguments, among which further macros stand: `.Fl k , Fl -kill Ns Op = Ns Ar SIGNAL` is
"-k, --kill[=SIGNAL]".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from wellread.errors import ReadError
from wellread.reading.builder import Builder, row
from wellread.reading.roff import GLUE, Requests, unescaped
from wellread.types import Block, Page

_MACRO = re.compile(r"^[.']\s*(%?\w+)\s*(.*)$")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_PARTS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_BREAKS = frozenset({"PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "br", "El", "Bl", "Rs", "Re", "SY", "YS"})
_CODE = frozenset({"nf", "EX", "Vb", "CS", "DS"})
_NO_CODE = frozenset({"fi", "EE", "Ve", "CE", "DE", "Ed", "Bd"})
_SPACED = frozenset({"B", "I", "SM", "SB", "UR", "MT", "SY"})
_ALTERNATING = frozenset({"BI", "IB", "BR", "RB", "IR", "RI"})  # fonts, without blanks between them
_POINTER = re.compile(r"^[.']\s*so\s+\S", re.MULTILINE)
_TAB = re.compile(r"tab\s*\((.)\)", re.IGNORECASE)
_LONGEST_TERM = 500  # characters; a term without an end takes no more of the page


def read_man(text: str, url: str, name: str = "") -> Page:
    """Sections, entries, code and rows."""
    man = _Man(name)
    for line in man.requests.lines(text):
        man.take(line)
    man.made.flush()
    blocks = tuple(replace(one, text=_joined(one.text)) if GLUE in one.text else one for one in man.made.blocks)
    if not blocks and _POINTER.search(text):
        raise ReadError(url, "a manual page that only points to another one")
    return Page(url, man.title or name, (), kind="man", blocks=blocks)


class _Man:
    def __init__(self, name: str) -> None:
        self.title = ""
        self.requests = Requests()
        self.made = Builder()  # an entry without a term waits for it: the next line
        self._name = name
        self._table: list[str] | None = None  # lines since .TS
        self._mdoc = False
        self._program = ""
        self._long_term = False  # an .It with Xo goes on until .Xc

    def take(self, line: str) -> None:
        if self._table is not None:
            self._table.append(line)
            if line.startswith(".TE"):
                self.made.blocks += _rows(self._table[:-1])
                self._table = None
            return
        found = _MACRO.match(line)
        if found is None:
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
            self.made.begin("code", in_words("No", arguments, self._program))
            self.made.flush()
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
            # headers are written in capitals; a file's name has its own
            shown = words[0].lower() if words[0].isupper() else words[0]
            called = self._name if self._name.lower() == words[0].lower() else shown
            self.title = f"{called}({words[1]})" if len(words) > 1 else called
        elif name in _PARTS:
            self.made.heading(" ".join(words), _PARTS[name])
        elif name in _CODE or (name == "Bd" and {"-filled", "-ragged", "-centered"}.isdisjoint(words)):
            self.made.begin("code")
        elif name in _NO_CODE or name == "TS":
            self.made.flush()
            self._table = [] if name == "TS" else None
        elif name in {"TP", "TQ"}:
            self.made.begin("entry", depth=1)
        elif name == "It":
            self.made.begin("entry", term=" ".join(words) or "•", depth=1)
        elif name == "IP" and any(words[:1]):
            self.made.begin("entry", term="•" if words[0] == "o" else words[0], depth=1)
        elif name == "IP":  # a paragraph that goes on with the entry
            self.made.flush()
        else:
            self._spoken(name, words)

    def _spoken(self, name: str, words: list[str]) -> None:
        """Macros that say something, or end what was being said."""
        if name in _BREAKS and self.made.kind != "code":
            self.made.flush()
        elif name in _BREAKS - {"br", "RS", "RE"} and self.made.lines:
            self.made.lines.append("")  # of one piece of code
        if name in _SPACED or name in _ALTERNATING:
            self._say(("" if name in _ALTERNATING else " ").join(words))
        elif name == "OP":
            self._say(f"[{' '.join(words)}]")
        elif name == "MR" and words:
            self._say(f"{words[0]}({words[1]})" + "".join(words[2:]) if len(words) > 1 else words[0])
        elif name in self.requests.defined and name not in _BREAKS and self.made.blocks:
            self._say(" ".join(words) if not all(word.isdecimal() for word in words) else "")

    def _text(self, line: str) -> None:
        if line.strip() or self.made.kind == "code":
            self._say(unescaped(line))
        elif self.made.lines:
            self.made.flush()

    def _say(self, text: str) -> None:
        made = self.made
        if self._long_term and made.term:
            made.term = _joined(f"{made.term} {text}".strip())
            self._long_term = len(made.term) < _LONGEST_TERM
        elif made.kind == "entry" and not made.term:
            made.term = _joined(text.strip())
        elif made.kind == "code" or text.strip():
            made.lines.append(text)


def _joined(text: str) -> str:
    if GLUE not in text:
        return text
    first, *others = text.split(GLUE)  # a pattern that looks for the blanks before it would try each of a million
    *middle, last = others
    return "".join((first.rstrip(), *map(str.strip, middle), last.lstrip()))


def _rows(lines: Sequence[str]) -> Iterator[Block]:
    """Rows of a table (tbl), from .TS to .TE: options that end in `;`, a layout that ends in a stop, then rows; a cell that opens
    with T{ goes on until T}."""
    between, layout, long = "\t", True, False
    cells: list[list[str]] = [[]]
    for line in lines:
        macro = line.startswith((".", "'"))
        if layout:
            found = _TAB.search(line) if line.rstrip().endswith(";") else None
            between, layout = found[1] if found else between, not line.rstrip().endswith(".")
        elif long and not line.startswith("T}"):
            if not macro or line[1:3] in {"B ", "I "}:
                cells[-1].append(line[3:] if macro else line)
        elif not long and (macro or not line.strip(" _=-")):
            layout = line.startswith(".T&")
        else:
            first, *parts = line[2 if long else 0 :].split(between)
            cells[-1].append(first)
            cells += ([part] for part in parts)
            if long := cells[-1][-1].strip() == "T{":
                cells[-1] = []
                continue
            said = [" ".join(unescaped(" ".join(cell)).split()) for cell in cells]
            cells = [[]]
            if any(cell.strip("_=-^\\") for cell in said):
                yield row(said)


_AFTER = frozenset(".,:;)]?!")
_BEFORE = frozenset("([")
_PLAIN = "Ad An Ap Ar Cd Cm Dv Em Er Ev Fa Fl Fn Ft Ic In Li Lk Me Ms Mt Nd Nm No Ns Pa Pf St Sx Sy Ta Tn Va Vt Xr Xo Xc It"
_PAIRS = {"O": "[]", "B": "[]", "P": "()", "A": "<>", "Br": "{}", "D": "“”", "S": "‘’", "Q": '""'}
_AROUND = {f"{name}q": signs for name, signs in _PAIRS.items()} | {"Op": "[]", "Ql": "‘’"}  # to the end of the line
_SAYING = {
    "Ns": GLUE, "Ap": f"{GLUE}'{GLUE}", "Ta": "|", "Ux": "UNIX", "Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD",
    "Dx": "DragonFly", "At": "AT&T UNIX",
    **{f"{name}o": signs[0] + GLUE for name, signs in _PAIRS.items()},
    **{f"{name}c": GLUE + signs[1] for name, signs in _PAIRS.items()},
}  # fmt: skip
INLINE = frozenset(_PLAIN.split()) | _AROUND.keys() | _SAYING.keys()
Argument = tuple[str, bool]  # and whether it may be a macro: what is quoted is not


@dataclass(slots=True)
class _Line:
    """One line of mdoc while it is put into words."""

    program: str
    said: list[str] = field(default_factory=list[str])
    macro: str = ""
    count: int = 0  # of the macro's arguments so far
    around: list[str] = field(default_factory=list[str])  # what closes at the end of the line

    def begin(self, macro: str) -> None:
        if (macro, self.macro, self.count) == ("Fl", "Fl", 0):
            self.said.append("-" + GLUE)  # `Fl Fl quiet` is --quiet
            self.count = 1
        self.end()
        self.macro, self.count = macro, 0
        if macro in _AROUND:
            opens, closes = _AROUND[macro]
            self.said.append(opens + GLUE)
            self.around.append(closes)
        else:
            self.said.append(_SAYING.get(macro, ""))

    def end(self) -> None:
        """A macro without arguments stands for something too."""
        if not self.count:
            self.said.append({"Fl": "-", "Ar": "file …", "Nm": self.program, "Pa": "~"}.get(self.macro, ""))
        elif self.macro == "Fn":
            self.said.append(GLUE + (")" if self.count > 1 else "()"))
        self.macro, self.count = "", 1

    def argument(self, word: str) -> None:
        if word in _AFTER or word in _BEFORE:
            if self.macro not in _AROUND and (not self.count or self.macro == "Fn"):
                self.end()
            self.said.append(GLUE + word if word in _AFTER else word + GLUE)
            return
        self.count += 1
        self.said.append(self._worded(word))

    def _worded(self, word: str) -> str:
        match self.macro:
            case "Fl":
                return f"-{word}"
            case "Xr" if self.count == 2:
                return f"{GLUE}({word})"
            case "Fn" if self.count > 1:
                return f"{GLUE}({word}" if self.count == 2 else f"{GLUE}, {word}"
            case "In":
                return f"<{word}>"
            case "Nd":
                return f"– {word}" if self.count == 1 else word
            case "Pf" if self.count == 1:
                return word + GLUE
            case "St":
                return f"IEEE Std {word[2:]}" if word.startswith("-p1003") else word.lstrip("-")
            case "An" if word in ("-nosplit", "-split"):
                return ""
            case _:
                return word


def in_words(macro: str, arguments: Sequence[Argument], program: str = "") -> str:
    """A line of mdoc in words. `program` is the name that the page is about. Where there must be no blank stands `GLUE`."""
    line = _Line(program)
    arguments = list(arguments)
    behind: list[str] = []
    while arguments and arguments[-1][0] in _AFTER:
        behind.append(GLUE + arguments.pop()[0])
    line.begin(macro)
    for word, may_be_macro in arguments:
        if may_be_macro and word in INLINE:
            line.begin(word)
        else:
            line.argument(word)
    line.end()
    closed = [GLUE + sign for sign in reversed(line.around)]
    return " ".join(word for word in (*line.said, *closed, *reversed(behind)) if word)
