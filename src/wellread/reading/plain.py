"""Plain text, and the markups that are nearly plain: reStructuredText, AsciiDoc and manual pages (troff)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from wellread.types import Block, Page

_BLANK = re.compile(r"\n[ \t]*\n+")
_LINE = 100  # prose with longer lines was not wrapped by hand
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_<>])\1{2,}\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\*{2,5}|\d{1,3}[.)]|#\.)\s+(?=\S)")
_ROLE = re.compile(
    r":[a-zA-Z][\w:.+-]{0,40}:`([^`<]{0,500}?)(?:\s*<[^`>]{0,500}>)?`|``([^`]{0,500})``|`([^`<]{0,500}?)\s*<[^`>]{0,1000}>`__?"
)
_DIRECTIVE = re.compile(r"^\s*\.\. (?:([\w-]+)::\s*(.*)|_[^:]{1,200}:.*|\|[^|]+\| .*|.*)$")
_SILENT = frozenset({"toctree", "contents", "index", "image", "highlight", "include", "raw", "only", "meta", "figure"})
_OPTION = re.compile(r"^\s+:[\w-]+:( .*)?$")


def cleaned(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").replace("\f", "\n\n")


def read_text(text: str, url: str, name: str = "") -> Page:
    """Paragraphs are what blank lines part; lines that were wrapped by hand are joined."""
    parts = [part.strip("\n").rstrip() for part in _BLANK.split(text) if part.strip()]
    blocks = tuple(Block("paragraph", _unwrapped(part)) for part in parts)
    first = blocks[0].text.partition("\n")[0].strip() if blocks else ""
    return Page(url, first if 0 < len(first) <= 100 else name, (), kind="text", blocks=blocks)


def read_rst(text: str, url: str, name: str = "") -> Page:
    """Sections by their underlines; directives are read for their text, roles for their words."""
    return _page("rst", tuple(_rst(text.expandtabs(8).split("\n"))), url, name)


def read_asciidoc(text: str, url: str, name: str = "") -> Page:
    return _page("asciidoc", tuple(_asciidoc(text.split("\n"))), url, name)


def read_man(text: str, url: str, name: str = "") -> Page:
    """The macros of man(7) and the most common of mdoc(7)."""
    made = _Man()
    for line in text.replace("\\\n", "").split("\n"):
        made.take(line)
    made.flush()
    title = made.title or name
    return Page(url, title, (), kind="man", blocks=tuple(made.blocks))


def _page(kind: str, blocks: tuple[Block, ...], url: str, name: str) -> Page:
    title = next((block.text for block in blocks if block.kind == "heading"), "")
    return Page(url, title or name, (), kind=kind, blocks=blocks)


def _unwrapped(paragraph: str) -> str:
    lines = paragraph.split("\n")
    if len(lines) < 2 or any(line[:1] in " \t-*•|>#" or len(line) > _LINE for line in lines):
        return paragraph
    if sum(map(len, lines[:-1])) / len(lines[:-1]) < 45:  # verse, addresses, lists
        return paragraph
    return " ".join(line.strip() for line in lines)


@dataclass(slots=True)
class _Paragraph:
    """Lines that wait until it is known what they are."""

    lines: list[str] = field(default_factory=list[str])
    code: bool = False

    def blocks(self) -> Iterator[Block]:
        lines, self.lines = self.lines, []
        if self.code and lines:
            indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
            yield Block("code", "\n".join(line[indent:] for line in lines).strip("\n"))
            return
        text: list[str] = []
        item: re.Match[str] | None = None
        for line in lines:
            found = _ITEM.match(line)
            if found:
                yield from _prose(text, item)
                text, item = [], found
            text.append(line[found.end() :] if found else line)
        yield from _prose(text, item)


def _prose(lines: list[str], item: re.Match[str] | None) -> Iterator[Block]:
    text = _ROLE.sub(lambda found: found[1] or found[2] or found[3] or "", " ".join(line.strip() for line in lines)).strip()
    if text:
        yield Block("item" if item else "paragraph", text, 1 + len(item[1]) // 2 if item else 0)


def _rst(lines: list[str]) -> Iterator[Block]:
    levels: list[str] = []
    waiting = _Paragraph()
    skip, number = -1, 0
    while number < len(lines):
        line, after = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
        indent = len(line) - len(line.lstrip())
        if skip >= 0 and (not line.strip() or indent > skip):
            number += 1
            continue
        skip = -1
        under = _UNDERLINE.fullmatch(after) if line.strip() and not indent else None
        if under and not _UNDERLINE.fullmatch(line) and len(after.rstrip()) >= len(line.rstrip()) - 2:
            yield from waiting.blocks()
            if under[1] not in levels:
                levels.append(under[1])
            yield Block("heading", _prose_text(line), min(levels.index(under[1]) + 1, 6))
            number += 2
            continue
        if waiting.code and line.strip() and not indent:
            yield from waiting.blocks()
            waiting.code = False
        if (found := _DIRECTIVE.match(line)) and not waiting.code:
            yield from waiting.blocks()
            skip = indent if found[1] is None or found[1] in _SILENT else -1
            waiting.lines = [found[2]] if found[2] and skip < 0 else []
        elif not line.strip() and not waiting.code:
            opens = bool(waiting.lines) and waiting.lines[-1].rstrip().endswith("::")
            if opens:
                waiting.lines[-1] = waiting.lines[-1].rstrip()[:-1].removesuffix(":") + ":"
            yield from waiting.blocks()
            waiting.code = opens
        elif not _UNDERLINE.fullmatch(line) and not _OPTION.match(line):
            waiting.lines.append(line)
        number += 1
    yield from waiting.blocks()


def _prose_text(line: str) -> str:
    return _ROLE.sub(lambda found: found[1] or found[2] or found[3] or "", line.strip())


_ADOC_HEADING = re.compile(r"^(={1,6})\s+(\S.*?)\s*=*$")
_ADOC_FENCE = re.compile(r"^(-{4,}|\.{4,}|`{3,})\s*\w*$")
_ADOC_NOTHING = re.compile(r"^(?::[\w-]+!?:.*|\[.*\]|//.*|(?:={4,}|\*{4,}|_{4,}|--|\+|<<<|'''|ifdef::.*|endif::.*|include::.*))$")
_ADOC_LINK = re.compile(r"(?:link|xref|mailto):([^\s\[]{1,500})\[([^\]]{0,500})\]|<<[^,>]{0,200},?\s*([^>]{0,300})>>")


def _asciidoc(lines: list[str]) -> Iterator[Block]:
    waiting = _Paragraph()
    fence, table = "", False
    for line in lines:
        if fence:
            if line.strip() == fence:
                yield from waiting.blocks()
                fence, waiting.code = "", False
            else:
                waiting.lines.append(line)
        elif found := _ADOC_FENCE.match(line):
            yield from waiting.blocks()
            fence, waiting.code = found[1], True
        elif line.startswith("|==="):
            yield from waiting.blocks()
            table = not table
        elif table and line.startswith("|"):
            yield Block("row", "| " + " | ".join(cell.strip() for cell in line[1:].split("|")) + " |")
        elif found := _ADOC_HEADING.match(line):
            yield from waiting.blocks()
            yield Block("heading", found[2], len(found[1]))
        elif not line.strip() or _ADOC_NOTHING.match(line):
            yield from waiting.blocks()
        else:
            waiting.lines.append(_ADOC_LINK.sub(lambda found: found[2] or found[3] or found[1] or "", line))
    yield from waiting.blocks()


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
_MACRO = re.compile(r"^[.']\s*(\w+)\s*(.*)$")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_PARTS = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_BREAKS = frozenset({"PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "br", "El", "Bl"})
_SPOKEN = frozenset(
    [
        "B",
        "I",
        "BI",
        "IB",
        "BR",
        "RB",
        "IR",
        "RI",
        "SM",
        "SB",
        "Nm",
        "Ar",
        "Fl",
        "Pa",
        "Xr",
        "Op",
        "Em",
        "Sy",
        "Li",
        "Dq",
        "Sq",
        "Cm",
        "Ev",
        "Nd",
        "UR",
        "MT",
        "Ic",
        "Va",
        "Vt",
        "Fn",
        "Ft",
    ]
)


class _Man:
    def __init__(self) -> None:
        self.title = ""
        self.blocks: list[Block] = []
        self._lines: list[str] = []
        self._term: str | None = None  # a .TP waits for it ("" until it comes)
        self._code = False

    def take(self, line: str) -> None:
        found = _MACRO.match(line)
        if found is None or line[:1] not in ".'":
            if not line.startswith((".", "'")):
                self._say(_unescaped(line))
            return
        name, rest = found[1], found[2]
        words = [_unescaped((a or b).replace('""', '"')) for a, b in _ARGUMENT.findall(rest)]
        if name in {"TH", "Dt"} and words:
            self.title = f"{words[0].lower()}({words[1]})" if len(words) > 1 else words[0].lower()
        elif name in _PARTS:
            self.flush()
            self.blocks.append(Block("heading", " ".join(words), _PARTS[name]))
        elif name in {"nf", "EX", "Bd", "fi", "EE", "Ed"}:
            self.flush()
            self._code = name in {"nf", "EX", "Bd"}
        elif name in {"TP", "TQ", "IP", "It"}:
            self.flush()
            self._term = " ".join(words if name == "It" else words[:1] if name == "IP" else [])
        elif name in _BREAKS:
            self.flush()
        elif name in _SPOKEN:
            self._say(("" if len(name) == 2 and name.isupper() and name not in {"SM", "SB"} else " ").join(words))

    def _say(self, text: str) -> None:
        if self._term == "":
            self._term = text.strip() or None
        elif self._code:
            self._lines.append(text)
        elif text.strip():
            self._lines.append(text.strip())

    def flush(self) -> None:
        term, self._term = self._term, None
        text = ("\n" if self._code else " ").join(self._lines).strip("\n" if self._code else None)
        self._lines = []
        if term and term not in "•-*" and text:
            self.blocks.append(Block("entry", f"{term}: {text}", 1))
        elif term and text:
            self.blocks.append(Block("item", text, 1))
        elif text.strip() or term:
            self.blocks.append(Block("code" if self._code and text.strip() else "paragraph", text or term or ""))


def _unescaped(text: str) -> str:
    text = _CHARACTER.sub(lambda found: _NAMED.get(found[1] or found[2] or "", ""), _FONT.sub("", text))
    for sign, meant in _ESCAPED.items():
        text = text.replace(sign, meant)
    return text
