"""The markups that are nearly plain text: reStructuredText and AsciiDoc."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from wellread.types import Block, Page

_UNDERLINES = "=-~^\"'`#*+.:_<>"
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\*{2,5}|\d{1,3}[.)]|#\.)\s+(?=\S)")
_ROLE = re.compile(
    r":[a-zA-Z][\w:.+-]{0,40}:`([^`<]{0,500}?)(?:\s*<[^`>]{0,500}>)?`|``([^`]{0,500})``|`([^`<]{0,500}?)\s*<[^`>]{0,1000}>`__?"
)
_DIRECTIVE = re.compile(r"^\s*\.\. (?:([\w:+-]+?)::\s*(.*)|_[^:]{1,200}:.*|\|[^|]+\| .*|.*)$")
_SILENT = frozenset({"toctree", "contents", "index", "image", "highlight", "include", "raw", "only", "meta", "figure"})
_BORDER = re.compile(r"\s*=+(?: +=+)+\s*")
_OPTION = re.compile(r"^\s+:[\w-]+:( .*)?$")


def read_rst(text: str, url: str, name: str = "") -> Page:
    """Sections by their underlines; directives are read for their text, roles for their words."""
    return _page("rst", tuple(_rst(text.expandtabs(8).split("\n"))), url, name)


def read_asciidoc(text: str, url: str, name: str = "") -> Page:
    return _page("asciidoc", tuple(_asciidoc(text.split("\n"))), url, name)


def _page(kind: str, blocks: tuple[Block, ...], url: str, name: str) -> Page:
    title = next((block.text for block in blocks if block.kind == "heading"), "")
    return Page(url, title or name, (), kind=kind, blocks=blocks)


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
        if level := _rst_level(line, after, levels):
            yield from waiting.blocks()
            yield Block("heading", _prose_text(line), level)
            number += 2
            continue
        if _BORDER.fullmatch(line) and not waiting.code:
            yield from waiting.blocks()
            rows, number = _simple_table(lines, number)
            yield from rows
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
        elif not _rule(line, _UNDERLINES) and not _OPTION.match(line):
            waiting.lines.append(line)
        number += 1
    yield from waiting.blocks()


def _rst_level(line: str, after: str, levels: list[str]) -> int:
    """The level of a heading, by the order in which signs first underline one; 0 where this is none."""
    under = _rule(after, _UNDERLINES) if line[:1].strip() else ""
    if not under or _rule(line, _UNDERLINES) or len(after.rstrip()) < len(line.rstrip()) - 2:
        return 0
    if under not in levels:
        levels.append(under)
    return min(levels.index(under) + 1, 6)


def _rule(line: str, signs: str) -> str:
    """The sign of a line that is nothing but at least three of it; else empty."""
    drawn = line.rstrip()
    return drawn[0] if len(drawn) > 2 and drawn[0] in signs and not drawn.strip(drawn[0]) else ""


def _simple_table(lines: list[str], first: int) -> tuple[list[Block], int]:
    """The rows below a border of signs with blanks between them, up to the border that a blank line follows; the line after it.

    A line whose first column is blank goes on with the row before.
    """
    spans = [found.span() for found in re.finditer(r"=+", lines[first])]
    ends = [start for start, _ in spans[1:]] + [None]
    rows: list[list[str]] = []
    number = first + 1
    while number < len(lines):
        line, after = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
        number += 1
        if _BORDER.fullmatch(line):
            if not after.strip():
                break
            continue
        cells = [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
        if rows and not cells[0]:
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells, strict=True)]
        elif any(cells):
            rows.append(cells)
    return [Block("row", "| " + " | ".join(map(_prose_text, row)) + " |") for row in rows], number


def _prose_text(line: str) -> str:
    return _ROLE.sub(lambda found: found[1] or found[2] or found[3] or "", line.strip())


_ADOC_HEADING = re.compile(r"(={1,6})\s+(?=\S)")
_ADOC_FENCE = re.compile(r"^(-{4,}|\.{4,}|`{3,})\s*\w*$")
_ADOC_UNDERLINES = "=-~^+"  # from the first level on
_ADOC_TERM = re.compile(r"^(\S[^\n]{0,200}?)::(?:\s+(\S.*))?$")
_ADOC_NOTHING = re.compile(r"^(?::[\w-]+!?:.*|\[.*\]|//.*|(?:={4,}|\*{4,}|_{4,}|--|\+|<<<|'''|ifdef::.*|endif::.*|include::.*))$")
_ADOC_LINK = re.compile(r"(?:link|xref|mailto):([^\s\[]{1,500})\[([^\]]{0,500})\]|<<[^<>,]{1,200}(?:,\s*([^<>]{0,300}))?>>")


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
        elif found := _ADOC_FENCE.match(line):
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
    heading, term = _ADOC_HEADING.match(line), _ADOC_TERM.match(line)
    if heading or term or not line.strip() or _ADOC_NOTHING.match(line):
        yield from waiting.blocks()
    if heading:
        yield Block("heading", line[heading.end() :].rstrip().rstrip("=").rstrip(), len(heading[1]))
    elif term:
        waiting.term, waiting.lines = term[1].strip("`'*_"), [term[2]] if term[2] else []
    elif line.strip() and not _ADOC_NOTHING.match(line):
        waiting.lines.append(_ADOC_LINK.sub(lambda found: found[2] or found[3] or found[1] or "", line))


def _underlined(line: str, after: str) -> int:
    """The level of a heading that is written over a line of signs as long as itself; else 0."""
    under = _rule(after, _ADOC_UNDERLINES)
    if not under or not re.match(r"\w", line) or abs(len(line.rstrip()) - len(after.rstrip())) > 2:
        return 0
    return _ADOC_UNDERLINES.index(under) + 1
