"""The inline macros of mdoc(7), in which the manuals of OpenSSH, tmux, sudo and the BSDs are written.

A line is a macro and its arguments, among which further macros stand: `.Fl k , Fl -kill Ns Op = Ns Ar SIGNAL` is
"-k, --kill[=SIGNAL]".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

GLUE = "\x02"  # no blank here, also where a line ends; itself it is none, so that `strip` leaves it
_AFTER = frozenset(".,:;)]?!")
_BEFORE = frozenset("([")
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        "Ad An Ap Ar Cd Cm Dv Em Er Ev Fa Fl Fn Ft Ic In Li Lk Me Ms Mt Nd Nm No Ns Pa Pf St Sx Sy Ta Tn Va Vt Xr Xo Xc It",
    )
)
_AROUND = {  # to the end of the line
    "Op": "[]",
    "Bq": "[]",
    "Pq": "()",
    "Aq": "<>",
    "Brq": "{}",
    "Dq": "“”",
    "Sq": "‘’",
    "Ql": "‘’",
    "Qq": '""',
}
_OPENS = {"Oo": "[", "Bo": "[", "Po": "(", "Ao": "<", "Bro": "{", "Do": "“", "So": "‘", "Qo": '"'}
_CLOSES = {"Oc": "]", "Bc": "]", "Pc": ")", "Ac": ">", "Brc": "}", "Dc": "”", "Sc": "’", "Qc": '"'}
_SYSTEMS = {"Ux": "UNIX", "Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Dx": "DragonFly", "At": "AT&T UNIX"}
INLINE = _PLAIN | _AROUND.keys() | _OPENS.keys() | _CLOSES.keys() | _SYSTEMS.keys()
Argument = tuple[str, bool]  # and whether it may be a macro: what is quoted is not


@dataclass(slots=True)
class _Line:
    """One line while it is put into words."""

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
        elif macro in _OPENS:
            self.said.append(_OPENS[macro] + GLUE)
        elif macro in _CLOSES:
            self.said.append(GLUE + _CLOSES[macro])
        elif macro in ("Ns", "Ap"):
            self.said.append(GLUE + ("'" + GLUE if macro == "Ap" else ""))
        elif macro == "Ta":
            self.said.append("|")
        elif macro in _SYSTEMS:
            self.said.append(_SYSTEMS[macro])

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
    """What a line says. `program` is the name that the page is about. Where there must be no blank stands `GLUE`."""
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
