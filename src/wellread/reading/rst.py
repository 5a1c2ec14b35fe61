"""reStructuredText, as it is in manuals of Python programs and in many a README."""

from __future__ import annotations

import re
from itertools import pairwise

from wellread.reading.builder import Builder, titled
from wellread.reading.plain_text import rule
from wellread.types import Page

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
_LONGEST_TERM = 2_000  # characters; names without an end take no more of the page
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
    rst = _Rst()
    for line, after in pairwise([*text.expandtabs(8).split("\n"), "", ""]):
        rst.take(line, after)
    rst.end_table()
    rst.made.flush()
    return titled("rst", rst.made.blocks, url, name)


class _Rst:
    """The state of the reader: what the lines before tell of the next one."""

    def __init__(self) -> None:
        self.made = Builder(_said)
        self._levels: list[str] = []  # the signs that underline headings, in the order of their first use
        self._below: int | None = None  # how far in what leads to code, or to what is not read, stands
        self._signature: int | None = None  # the same of a directive whose names go on
        self._waiting = False  # such a directive's names wait for what is said of them
        self._rows: list[list[str]] | None = None  # of a table
        self._columns: list[tuple[int, int | None]] = []  # where they are, where they have no lines between them

    def take(self, line: str, after: str) -> None:
        if (self._rows is not None and self._is_of_table(self._rows, line, after)) or self._is_inside(line):
            return
        if not line.strip():
            self._blank()
        elif level := self._level(line, after):
            self.made.heading(line, level)
        elif _BORDER.fullmatch(line) or _GRID.fullmatch(line):
            self.made.flush()
            starts = [found.start() for found in re.finditer(r"=+", line)] if _BORDER.fullmatch(line) else []
            self._rows, self._columns = [], list(zip(starts, [*starts[1:], None], strict=False))
        elif found := _DIRECTIVE.match(line):
            self._directive(len(found[1]), found[2], found[3], after)
        elif not rule(line, _UNDERLINES):
            self._line(line, after)

    def _is_inside(self, line: str) -> bool:
        """Whether a line belongs to code, to what is not read, or to the names of a directive."""
        if self._below is not None:
            if not line.strip() or _indent(line) > self._below:
                if self.made.kind == "code" and (self.made.lines or not _SETTING.match(line)):
                    self.made.lines.append(line)
                return True
            self.made.flush()
            self._below = None
        if self._signature is not None and line.strip() and _indent(line) > self._signature:
            if not _SETTING.match(line) and len(self.made.term) < _LONGEST_TERM:
                self.made.term = ", ".join(filter(None, (self.made.term, line.strip())))
            return True
        self._signature = None
        return False

    def _level(self, line: str, after: str) -> int:
        """The level of a heading, by the order in which signs first underline one; 0 where it is none."""
        under = rule(after, _UNDERLINES) if line[:1].strip() else ""
        if not under or rule(line, _UNDERLINES) or len(after.rstrip()) < len(line.rstrip()) - 2:
            return 0
        if under not in self._levels:
            self._levels.append(under)
        return self._levels.index(under) + 1

    def _blank(self) -> None:
        """The end of a paragraph; two colons there lead to code."""
        made = self.made
        if not made.lines or not made.lines[-1].rstrip().endswith("::"):
            if not self._waiting:
                made.flush()
            return
        self._below = min(_indent(made.lines[0]), _indent(made.lines[-1]))
        led = made.lines.pop().rstrip(": ").removesuffix(".")
        made.lines += [f"{led}:"] if led.strip() else []
        made.begin("code")

    def _directive(self, indent: int, name: str | None, argument: str, after: str) -> None:
        self.made.flush()
        self._waiting = False
        if name is None or name in _SILENT:
            self._below = indent
        elif name in _CODE:
            self.made.begin("code")
            self._below = indent
        elif name in _SINCE:
            goes_on = after.strip() and _indent(after) > indent
            self.made.begin("paragraph", f"{_SINCE[name]} {argument}{':' if goes_on else '.'}")
        elif name in _PROSE:
            self.made.begin("paragraph", argument)
        else:
            self.made.begin("entry", term=argument, depth=1)
            self._signature, self._waiting = indent, True

    def _line(self, line: str, after: str) -> None:
        """Of a paragraph, a list, or terms with what is said of them below or behind them."""
        made, waiting, self._waiting = self.made, self._waiting, False
        found = _ITEM.match(line) or _FIELD.match(line) or _OPTION.match(line)
        if made.kind == "code":
            made.lines.append(line)
        elif found and found.re is _ITEM:
            made.begin("item", line[found.end() :], depth=1 + len(found[1]) // 2)
        elif found:
            made.begin("entry", line[found.end() :], term=found[1], depth=1)
        elif not made.lines and line.lstrip().startswith(">>> ") and not waiting:
            made.begin("code", line)
        elif not waiting and (made.kind == "entry" or not made.lines) and after.strip() and _indent(after) > _indent(line):
            made.begin("entry", term=line.strip(), depth=1)
        else:
            made.lines.append(line)

    def _is_of_table(self, rows: list[list[str]], line: str, after: str) -> bool:
        """Whether a line belongs to the table that is open: up to the border that a blank line follows, or as long as there are
        lines drawn. Where its first column is blank, or nothing is drawn above it, it goes on with the row before."""
        drawn = line.strip()
        if self._columns:
            if _BORDER.fullmatch(line):
                if not after.strip():
                    self.end_table()
                return True
            cells = [line[start:end].strip() for start, end in self._columns]
            more = not cells[0]
        elif drawn[:1] in ("+", "|"):
            if drawn.startswith("+"):
                rows.append([])
                return True
            cells = [cell.strip() for cell in drawn.strip("|").split("|")]
            more = bool(rows)
        else:
            self.end_table()
            return False
        if more and rows and len(rows[-1]) in (0, len(cells)):
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1] or [""] * len(cells), cells, strict=True)]
        elif any(cells):
            rows.append(cells)
        return True

    def end_table(self) -> None:
        for cells in filter(any, self._rows or ()):
            self.made.row(cells)
        self._rows = None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _said(text: str) -> str:
    return _ROLE.sub(lambda found: found[1] or found[2] or found[3] or found[4] or "", text.strip())
