"""AsciiDoc."""

from __future__ import annotations

import re
from itertools import pairwise

from wellread.reading.builder import Builder, titled
from wellread.reading.plain_text import rule
from wellread.types import Page

_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\*{2,5}|\d{1,3}[.)]|#\.)\s+(?=\S)")
_CODE = re.compile(r"``([^`]{0,500})``")
_HEADING = re.compile(r"(={1,6})\s+(?=\S)")
_FENCE = re.compile(r"^(-{4,}|\.{4,}|`{3,})\s*\w*$")
_UNDERLINES = "=-~^+"  # from the first level on
_TERM = re.compile(r"^(\S[^\n]{0,200}?)::(?:\s+(\S.*))?$")
_NOTHING = re.compile(r"^(?::[\w-]+!?:.*|\[.*\]|//.*|(?:={4,}|\*{4,}|_{4,}|--|\+|<<<|'''|ifdef::.*|endif::.*|include::.*))$")
_LINK = re.compile(r"(?:link|xref|mailto):([^\s\[]{1,500})\[([^\]]{0,500})\]|<<([^<>,]{1,200})(?:,\s*([^<>]{0,300}))?>>")


def read_asciidoc(text: str, url: str, name: str = "") -> Page:
    made = Builder(_said)
    fence, table, underline = "", False, False
    for line, after in pairwise([*text.split("\n"), ""]):
        if underline:
            underline = False
        elif fence:
            made.lines.append(line)
            if line.strip() == fence:
                made.lines.pop()
                made.flush()
                fence = ""
        elif level := _underlined(line, after):
            made.heading(line.strip(), level)
            underline = True
        elif found := _FENCE.match(line):
            made.begin("code")
            fence = found[1]
        elif line.startswith("|==="):
            made.flush()
            table = not table
        elif table and line.startswith("|"):
            made.row(line[1:].split("|"))
        else:
            _line(line, made)
    made.flush()
    return titled("asciidoc", made.blocks, url, name)


def _line(line: str, made: Builder) -> None:
    """A line that opens and closes nothing: a heading, a term, an item, a line of a paragraph, or the end of one."""
    if found := _HEADING.match(line):
        made.heading(line[found.end() :].rstrip().rstrip("=").rstrip(), len(found[1]))
    elif found := _TERM.match(line):
        made.begin("entry", found[2] or "", term=found[1].strip("`'*_"), depth=1)
    elif not line.strip() or _NOTHING.match(line):
        made.flush()
    elif (found := _ITEM.match(line)) and not made.term:
        made.begin("item", line[found.end() :], depth=1 + len(found[1]) // 2)
    else:
        made.lines.append(line)


def _said(text: str) -> str:
    return _LINK.sub(lambda found: found[2] or found[4] or found[1] or found[3] or "", _CODE.sub(r"\1", text))


def _underlined(line: str, after: str) -> int:
    """The level of a heading that is written over a line of signs as long as itself; else 0."""
    under = rule(after, _UNDERLINES)
    if not under or not re.match(r"\w", line) or abs(len(line.rstrip()) - len(after.rstrip())) > 2:
        return 0
    return _UNDERLINES.index(under) + 1
