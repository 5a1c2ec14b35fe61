"""reStructuredText, as it is in manuals of Python programs and in many a README."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellread.reading.builder import Builder, code, entry, row, titled
from wellread.reading.unmarked import rule
from wellread.types import Block, Page

_UNDERLINES = "=-~^\"'`#*+.:_<>"
_ITEM = re.compile(r"^(\s*)(?:[-*+•]|\d{1,3}[.)]|#\.)\s+(?=\S)")
_FIELD = re.compile(r"^\s*:([^\s:`][^:`]{0,60}):(?:\s+|$)")
_OPTION = re.compile(r"^\s*(--?\w.{0,80}?)(?:\s{2,}|$)")
_ROLE = re.compile(
    r":[a-zA-Z][\w:.+-]{0,40}:`([^`<]{0,500}?)(?:\s*<[^`>]{0,500}>)?`|``([^`]{0,500})``|`([^`<]{1,500}?)(?:\s*<[^`>]{0,1000}>)?`__?"
    r"|(?<![\w`])([A-Za-z][\w.+-]{0,60}?)__?(?![\w`])"
)
_DIRECTIVE = re.compile(r"^(\s*)\.\. (?:([\w:+-]+?)::\s*(.*)|.*)$")
_SETTING = re.compile(r"^\s+:[\w-]+:( .*)?$")
_BORDER = re.compile(r"\s*=+(?: +=+)+\s*")
_GRID = re.compile(r"\s*+\+[-=][-=+]*\s*")
_KEYWORD = re.compile(r"(?:[\w -]{1,40}: )?\$[A-Z]\w{1,20}(?::[^$]{0,200})?\$")  # that a version control system fills in
_SILENT = frozenset(
    {"toctree", "contents", "index", "image", "highlight", "include", "raw", "only", "meta", "figure", "default-role"}
)
_CODE = frozenset(
    {"code", "code-block", "sourcecode", "parsed-literal", "literalinclude", "doctest", "testcode", "console", "prompt"}
)
_SINCE = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_PROSE = frozenset(
    {"note", "warning", "tip", "hint", "important", "caution", "danger", "attention", "error", "seealso", "admonition", "topic"}
    | {"sidebar", "rubric", "epigraph", "todo", "centered", "title", "table", "list-table", "csv-table", "container", "class"}
)


def read_rst(text: str, url: str, name: str = "") -> Page:
    """Sections by their underlines; directives are read for their text, roles for their words."""
    return titled("rst", tuple(_Lines(text.expandtabs(8).split("\n")).blocks()), url, name)


class _Lines:
    """The lines of a document, read from the first to the last, each once."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._levels: list[str] = []  # the signs that underline headings, in the order of their first use
        self._term = ""  # that the next paragraph explains

    def blocks(self) -> Iterator[Block]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
            elif level := self._level():
                yield from self._unexplained()
                yield Block("heading", _said(line), level)
                self._at += 2
            elif _BORDER.fullmatch(line):
                yield from self._unexplained()
                yield from (row(map(_said, cells)) for cells in self._simple_table())
            elif _GRID.fullmatch(line):
                yield from self._unexplained()
                yield from (row(map(_said, cells)) for cells in self._grid())
            elif found := _DIRECTIVE.match(line):
                yield from self._unexplained()
                yield from self._directive(found)
            elif rule(line, _UNDERLINES):
                self._at += 1
            else:
                yield from self._paragraph()
        yield from self._unexplained()

    def _level(self) -> int:
        """The level of a heading that stands here, by the order in which signs first underline one; 0 where none does."""
        line, after = self._lines[self._at], self._next()
        under = rule(after, _UNDERLINES) if line[:1].strip() else ""
        if not under or rule(line, _UNDERLINES) or len(after.rstrip()) < len(line.rstrip()) - 2:
            return 0
        if under not in self._levels:
            self._levels.append(under)
        return min(self._levels.index(under) + 1, 6)

    def _next(self) -> str:
        return self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""

    def _unexplained(self) -> Iterator[Block]:
        """A term that nothing was said of."""
        if self._term:
            yield Block("entry", self._term, 1)
        self._term = ""

    def _body(self, indent: int) -> list[str]:
        """The lines from here on that are further in."""
        first = self._at
        while self._at < len(self._lines) and (not self._lines[self._at].strip() or _indent(self._lines[self._at]) > indent):
            self._at += 1
        return self._lines[first : self._at]

    def _directive(self, found: re.Match[str]) -> Iterator[Block]:
        indent, name, argument = len(found[1]), found[2], found[3]
        self._at += 1
        if name is None or name in _SILENT:
            self._body(indent)
            return
        while self._at < len(self._lines) and _SETTING.match(self._lines[self._at]):
            self._at += 1
        if name in _CODE:
            yield from code(self._body(indent))
        elif name in _SINCE:
            body = " ".join(line.strip() for line in self._body(indent)).strip()
            yield Block("paragraph", f"{_SINCE[name]} {_said(argument)}{f': {_said(body)}' if body else '.'}")
        elif name in _PROSE:
            yield from self._paragraph(argument) if argument else ()
        else:
            names = [argument]
            while self._goes_on(indent):
                names.append(self._lines[self._at].strip())
                self._at += 1
            self._term = ", ".join(filter(None, map(_said, names)))

    def _goes_on(self, indent: int) -> bool:
        line = self._lines[self._at] if self._at < len(self._lines) else ""
        return bool(line.strip()) and _indent(line) > indent

    def _paragraph(self, begun: str = "") -> Iterator[Block]:
        """The lines up to a blank one, and the code that they lead to."""
        lines = [begun] if begun else []
        indent = _indent(self._lines[self._at]) if self._at < len(self._lines) else 0
        while self._at < len(self._lines) and (line := self._lines[self._at]).strip() and not _DIRECTIVE.match(line):
            if lines and self._level():
                break
            lines.append(line)
            self._at += 1
        if not lines:
            return
        opens = lines[-1].rstrip().endswith("::")
        if opens:
            lines[-1] = _led(lines[-1])
        if self._term:
            term, self._term = self._term, ""
            said = " ".join(filter(None, map(_said, lines)))
            yield entry(term, said)
        elif lines[0].lstrip().startswith(">>> "):
            yield from code(lines)
        else:
            yield from _parts(lines)
        if opens:
            yield from code(self._body(min(indent, _indent(lines[-1]))))

    def _simple_table(self) -> list[list[str]]:
        """The rows below a border of signs with blanks between them, up to the border that a blank line follows.

        A line whose first column is blank goes on with the row before.
        """
        spans = [found.span() for found in re.finditer(r"=+", self._lines[self._at])]
        ends = [start for start, _ in spans[1:]] + [None]
        rows: list[list[str]] = []
        self._at += 1
        while self._at < len(self._lines):
            line, after = self._lines[self._at], self._next()
            self._at += 1
            if _BORDER.fullmatch(line):
                if not after.strip():
                    break
                continue
            cells = [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]
            if rows and not cells[0]:
                rows[-1] = _joined(rows[-1], cells)
            elif any(cells):
                rows.append(cells)
        return rows

    def _grid(self) -> list[list[str]]:
        """The rows of a table that is drawn with lines."""
        rows: list[list[str]] = []
        fresh = True
        while self._at < len(self._lines) and self._lines[self._at].strip()[:1] in ("+", "|"):
            line = self._lines[self._at].strip()
            self._at += 1
            if line.startswith("+"):
                fresh = True
                continue
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if fresh or len(cells) != len(rows[-1]):
                rows.append(cells)
            else:
                rows[-1] = _joined(rows[-1], cells)
            fresh = False
        return rows


def _parts(lines: list[str]) -> list[Block]:
    """A paragraph, the items of a list, or terms with what is said of them below or behind them."""
    made = Builder(_said)
    for place, line in enumerate(lines):
        after = lines[place + 1] if place + 1 < len(lines) else ""
        found = _ITEM.match(line) or _FIELD.match(line) or _OPTION.match(line)
        if found and found.re is _ITEM:
            made.begin("item", line[found.end() :], depth=1 + len(found[1]) // 2)
        elif found:
            made.begin("entry", line[found.end() :], term=found[1], depth=1)
        elif made.kind != "item" and _explained(line, after, fresh=not place or made.kind == "entry"):
            made.begin("entry", term=line, depth=1)
        else:
            made.lines.append(line)
    made.flush()
    return [block for block in made.blocks if block.text != ":" and not _KEYWORD.fullmatch(block.text)]


def _explained(line: str, after: str, *, fresh: bool) -> bool:
    """Whether a line is a term that the line below, further in, explains."""
    return fresh and bool(after.strip()) and _indent(after) > _indent(line)


def _led(line: str) -> str:
    """A line with one colon instead of the two that lead to code."""
    return line.rstrip(": ").removesuffix(".") + ":"


def _joined(row: list[str], more: list[str]) -> list[str]:
    return [f"{old} {new}".strip() for old, new in zip(row, more, strict=True)]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _said(text: str) -> str:
    return _ROLE.sub(lambda found: found[1] or found[2] or found[3] or found[4] or "", text.strip())
