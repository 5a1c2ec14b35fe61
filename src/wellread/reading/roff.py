r"""roff, below the macros of a manual page: conditions, definitions, strings, and escapes such as `\(bu` and `\fB`."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator

GLUE = "\x02"  # no blank here, also where a line ends; itself it is none, so that `strip` leaves it


def _pairs(words: str) -> dict[str, str]:
    found = words.split()
    return dict(zip(found[::2], found[1::2], strict=True))


_REQUEST = re.compile(r"^[.']\s*(\w+|\\})(.*)$", re.DOTALL)
_CONDITION = re.compile(
    r"""\s*(!?)([nteov](?=[\s\\.'])|'[^']*'[^']*'|"[^"]*"[^"]*"|[dr]\s+\S+|[^\s\\]*(?:\\[^{\s][^\s\\]*)*)\s*(.*)$""", re.DOTALL
)
_STRING = re.compile(r"\\\*(?:\((..)|\[([^\]]{1,60})\]|(.))")
_SPECIAL = re.compile(r"\\\(..")
_SHOWN_AS = re.compile(rf"({_SPECIAL.pattern})([^\\\s])")  # of .tr: makeinfo's pages write \(if for an opening quote
_LONGEST_STRING = 500
_LONGEST_CHAIN = 50  # conditions one after the other in a line; each of them copies what follows it
_HOLDING = frozenset({"n", "o", "\\n(.g", "\\n[.g]", "1"})  # conditions, on a terminal by groff; of what is computed none
_LAYOUT = frozenset({"RS", "in", "ll", "ne", "nr", "ps", "sp", "ta", "ti", "vs"})  # say nothing of their arguments
_DEFINING = frozenset({"de", "de1", "dei", "am", "am1", "ig"})
# Strings that macro packages and pod2man bring along, as a terminal shows them.
_STRINGS = _pairs(
    r"""-- --  L" "  R" "  C` "  C' "  C+ C++  PI π  lq “  rq ”  R ®  Tm ™  Aq '  Ba |  Lt <  Gt >  Le ≤  Ge ≥  Ne ≠  Am &
    Pm ±  If ∞  Pi π  q "  Lq “  Rq ”  lp (  rp )"""
)


class Requests:
    """The lines of a page that are left when its requests are followed. `defined`: macros of its own that say their arguments."""

    def __init__(self) -> None:
        self.defined: set[str] = set()
        self._strings = dict(_STRINGS)
        self._shown = dict[str, str]()  # characters by what is shown in their place
        self._else = False  # whether an .el is meant
        self._chain = 0  # conditions that were followed on one line

    def lines(self, text: str) -> Iterator[str]:
        waiting = deque(text.replace("\\\n", "").split("\n"))
        while waiting:
            line = waiting.popleft()
            request = _REQUEST.match(line)
            name = request[1] if request else ""
            rest = request[2] if request else ""
            if name in _DEFINING:
                self._define(rest if name != "ig" else f". {rest}", waiting)  # which has no name, only what ends it
            elif name in {"ds", "as", "ds1", "as1"}:
                self._keep(rest, more=name.startswith("as"))
            elif name in {"if", "ie", "el"}:
                self._decide(name, rest, waiting)
            elif name == "tr":
                self._shown.update(_SHOWN_AS.findall(rest))
            elif name != "\\}":
                self._chain = 0
                yield self._put_in(line.replace("\\}", ""))

    def _define(self, rest: str, waiting: deque[str]) -> None:
        name, _, end = rest.partition('\\"')[0].strip().partition(" ")
        while waiting:
            line = waiting.popleft()
            if line.startswith(".") and line[1:].strip() == (end.strip() or "."):
                return
            request = _REQUEST.match(line)
            if "\\$" in line and not (request and request[1] in _LAYOUT):
                self.defined.add(name)

    def _keep(self, rest: str, *, more: bool) -> None:
        name, _, value = rest.strip(" ").partition(" ")
        value = self._put_in(value.lstrip(" ").removeprefix('"'))
        if not more and name in _STRINGS:
            return  # what a page makes of these for a printer says less than they do
        self._strings[name] = ((self._strings.get(name, "") if more else "") + value)[:_LONGEST_STRING]

    def _put_in(self, line: str) -> str:
        if self._shown:
            line = _SPECIAL.sub(lambda found: self._shown.get(found[0], found[0]), line)
        if "\\*" not in line:
            return line
        return _STRING.sub(lambda found: self._strings.get(found[1] or found[2] or found[3], ""), line)

    def _decide(self, name: str, rest: str, waiting: deque[str]) -> None:
        """Go on with what follows a condition that holds on a terminal, and pass over what follows another."""
        if name == "el":
            holds = self._else
        else:
            found = _CONDITION.match(rest)
            if found is None:
                return
            holds = (found[2] in _HOLDING) != bool(found[1])
            rest = found[3]
            if name == "ie":
                self._else = not holds
        rest = rest.strip(" ")
        if holds:
            self._chain += 1
            if self._chain <= _LONGEST_CHAIN and rest.removeprefix("\\{").strip(" \\"):
                waiting.appendleft(rest.removeprefix("\\{"))
            else:
                self._chain = 0
            return
        depth = rest.count("\\{") - rest.count("\\}")
        while depth > 0 and waiting:
            line = waiting.popleft()
            depth += line.count("\\{") - line.count("\\}")


_ESCAPE = re.compile(
    r"""\\(?:
    [fF](?:\[[^\]]{0,60}\]|\(..|.)
    |s(?:[-+]?\[[^\]]{0,60}\]|[-+]?'[^']{0,60}'|\([-+]?..|[-+]?\d)
    |h'(?P<motion>[^'\n]{0,200})'|[vwlLDbxXZ]'[^'\n]{0,200}'
    |[nkgmMYVR][-+]?(?:\[[^\]]{0,60}\]|\(..|.)
    |o'(?P<over>[^']{1,10})'
    |N'(?P<number>\d{1,7})'
    |(?:\((?P<two>..)|\[(?P<long>[^\]]{1,60})\]|C'(?P<called>[^']{1,60})')
    |\".*|\#.*
    |(?P<one>.)
    |$)""",
    re.VERBOSE,
)
_WIDTH = re.compile(r"\\w'[^'\n]{0,200}'")
_ONE = {"e": "\\", "E": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "t": "\t", "-": "-", "c": GLUE}
_SILENT = frozenset("|^&)%/,:{}durpaz")
_NAMED = _pairs(
    r"""aq '  dq "  bu •  em —  en –  hy -  co ©  rg ®  tm ™  rs \  lq “  rq ”  oq ‘  cq ’  Bq „  bq ‚  Fo «  Fc »  fo ‹
    fc ›  ti ~  ha ^  ga `  aa ´  at @  sh #  Do $  lB [  rB ]  lC {  rC }  ba |  br |  or |  ul _  sl /  pl +  mi −
    eq =  ** *  mu ×  di ÷  +- ±  <= ≤  >= ≥  != ≠  == ≡  ~= ≅  ~~ ≈  if ∞  sr √  no ¬  mo ∈  de °  sc §  dg †  dd ‡
    ps ¶  -> →  <- ←  ua ↑  da ↓  <> ↔  rA ⇒  lA ⇐  hA ⇔  12 ½  14 ¼  34 ¾  S1 ¹  S2 ²  S3 ³  Eu €  eu €  Po £  Ye ¥
    ct ¢  mc µ  ss ß  ae æ  AE Æ  oe œ  OE Œ  /o ø  /O Ø  oa å  oA Å  /l ł  /L Ł  -D Ð  Sd ð  Tp þ  TP Þ  r! ¡  r? ¿
    fm ′  sd ″  OK ✓  sq □  ci ○  lh ☜  rh ☞  ff ff  fi fi  fl fl  Fi ffi  Fl ffl  la ⟨  ra ⟩  *W Ω  *p π  *a α  *b β
    *m μ  *l λ  *e ε  *S Σ  *D Δ  *d δ"""
)
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327", "v": "\u030c"}
_POINT = re.compile(r"u([0-9A-F]{4,6})|char(\d{1,3})")


def unescaped(text: str) -> str:
    """The words; a `GLUE` where the next line goes on without a blank."""
    if "\\" not in text:
        return text
    text = _WIDTH.sub("", text)  # it stands inside of others, in the same quotes
    return _ESCAPE.sub(_meant, text).replace(f" {GLUE}", " ")


def _meant(found: re.Match[str]) -> str:
    one = found["one"]
    if one is not None:
        return "" if one in _SILENT else _ONE.get(one, one)
    if found["motion"]:
        return "" if found["motion"].startswith("-") else " "  # to the right it parts words, as a bullet from its item
    if found["over"]:
        return found["over"][:1]
    if found["number"]:
        return _point(int(found["number"]))
    name = found["two"] or found["long"] or found["called"]
    return _character(name) if name else ""


def _character(name: str) -> str:
    if name in _NAMED:
        return _NAMED[name]
    if len(name) == 2 and name[0] in _ACCENTS:
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    found = _POINT.fullmatch(name)
    if found is None:
        return ""
    return _point(int(found[1], 16) if found[1] else int(found[2]))


def _point(number: int) -> str:
    return chr(number) if 32 <= number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
