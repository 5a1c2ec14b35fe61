"""AsciiDoc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from wellread.reading.underlines import page, rule
from wellread.types import Block, Page

_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\*{2,5}|\d{1,3}[.)]|#\.)\s+(?=\S)")
_CODE = re.compile(r"``([^`]{0,500})``")
_HEADING = re.compile(r"(={1,6})\s+(?=\S)")
_FENCE = re.compile(r"^(-{4,}|\.{4,}|`{3,})\s*\w*$")
_UNDERLINES = "=-~^+"  # from the first level on
_TERM = re.compile(r"^(\S[^\n]{0,200}?)::(?:\s+(\S.*))?$")
_NOTHING = re.compile(r"^(?::[\w-]+!?:.*|\[.*\]|//.*|(?:={4,}|\*{4,}|_{4,}|--|\+|<<<|'''|ifdef::.*|endif::.*|include::.*))$")
_LINK = re.compile(r"(?:link|xref|mailto):([^\s\[]{1,500})\[([^\]]{0,500})\]|<<[^<>,]{1,200}(?:,\s*([^<>]{0,300}))?>>")


def read_asciidoc(text: str, url: str, name: str = "") -> Page:
    return page("asciidoc", tuple(_asciidoc(text.split("\n"))), url, name)


@dataclass(slots=True)
class _Paragraph:
    """Lines that wait until it is known what they are."""

    lines: list[str] = field(default_factory=list[str])
    code: bool = False
    term: str = ""  # that they explain

    def blocks(self) -> Iterator[Block]:
        lines, self.lines = self.lines, []
        if self.code:
            indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=None)
            if indent is None:  # a fence with nothing in it, a "::" that nothing follows
                return
            yield Block("code", "\n".join(line[indent:] for line in lines).strip("\n"))
            return
        term, self.term = self.term, ""
        if term:
            said = " ".join(line.strip() for line in lines).strip()
            yield Block("entry", f"{term}: {said}" if said else term, 1)
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
    text = _CODE.sub(r"\1", " ".join(line.strip() for line in lines)).strip()
    if text:
        yield Block("item" if item else "paragraph", text, 1 + len(item[1]) // 2 if item else 0)


def _asciidoc(lines: list[str]) -> Iterator[Block]:
    waiting = _Paragraph()
    fence, table, underline = "", False, False
    for line, after in pairwise([*lines, ""]):
        if underline:
            underline = False
        elif fence:
            if line.strip() == fence:
                yield from waiting.blocks()
                fence, waiting.code = "", False
            else:
                waiting.lines.append(line)
        elif level := _underlined(line, after):
            yield from waiting.blocks()
            yield Block("heading", line.strip(), level)
            underline = True
        elif found := _FENCE.match(line):
            yield from waiting.blocks()
            fence, waiting.code = found[1], True
        elif line.startswith("|==="):
            yield from waiting.blocks()
            table = not table
        elif table and line.startswith("|"):
            yield Block("row", "| " + " | ".join(cell.strip() for cell in line[1:].split("|")) + " |")
        else:
            yield from _adoc_line(line, waiting)
    yield from waiting.blocks()


def _adoc_line(line: str, waiting: _Paragraph) -> Iterator[Block]:
    """A line that opens and closes nothing: a heading, a term, a line of a paragraph, or the end of one."""
    heading, term = _HEADING.match(line), _TERM.match(line)
    if heading or term or not line.strip() or _NOTHING.match(line):
        yield from waiting.blocks()
    if heading:
        yield Block("heading", line[heading.end() :].rstrip().rstrip("=").rstrip(), len(heading[1]))
    elif term:
        waiting.term, waiting.lines = term[1].strip("`'*_"), [term[2]] if term[2] else []
    elif line.strip() and not _NOTHING.match(line):
        waiting.lines.append(_LINK.sub(lambda found: found[2] or found[3] or found[1] or "", line))


def _underlined(line: str, after: str) -> int:
    """The level of a heading that is written over a line of signs as long as itself; else 0."""
    under = rule(after, _UNDERLINES)
    if not under or not re.match(r"\w", line) or abs(len(line.rstrip()) - len(after.rstrip())) > 2:
        return 0
    return _UNDERLINES.index(under) + 1
