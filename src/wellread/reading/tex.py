"""LaTeX as its authors write it: sections, lists, tables and code; formulas stay as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wellread.reading.builder import code, entry, row, titled
from wellread.types import Block, Page

_COMMENT = re.compile(r"(?<!\\)%.*\n?")
_TITLE = re.compile(r"\\title(?:\[[^\]]{0,300}\])?\{((?:[^{}]|\{[^{}]{0,500}\}){1,500})\}")
_AUTHOR = re.compile(r"\\author(?:\[[^\]]{0,300}\])?\{((?:[^{}]|\{[^{}]{0,500}\}){1,500})\}")
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_HEADING = re.compile(r"\\(" + "|".join(_LEVELS) + r")\*?(?:\[[^\]]{0,300}\])?\{((?:[^{}]|\{[^{}]{0,500}\}){0,500})\}")
_CODE = re.compile(r"\\begin\{(verbatim\*?|lstlisting|minted|Verbatim|alltt)\}(?:\[[^\]]{0,300}\])?(?:\{\w{0,40}\})?")
_ITEM = re.compile(r"\\item\b\s*(?:\[((?:[^\[\]]|\[[^\]]{0,300}\]){0,300})\])?")
_TABLE = re.compile(
    r"\\begin\{(tabular[x*]?|longtable)\}(?:\[[^\]]{0,300}\])?(?:\{[^{}]{0,300}(?:\{[^{}]{0,100}\}[^{}]{0,100}){0,20}\}){1,2}"
)
_DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator)\*?(?:\{\\\w{1,60}\}|\\\w{1,60})(?:\[[^\]]{0,300}\]){0,2}"
    r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,300}\}){0,300}\}){0,500}\}"
)
_VERBATIM = re.compile(r"\\verb\*?([^\w\s*])([^\n]{0,300}?)\1")
_SILENT = re.compile(
    r"\\(?:label|index|vspace|hspace|input|include|includegraphics|bibliography\w*|pagestyle|thispagestyle|setlength|addcontentsline"
    r"|usepackage|documentclass|cite[a-z]*|ref|pageref|eqref|nocite)\*?(?:\[[^\]]{0,300}\]){0,2}(?:\{[^{}]{0,300}\}){0,3}"
)
_AROUND = re.compile(r"\\(?:begin|end)\{[^{}]{1,60}\}(?:\[[^\]]{0,200}\])?")
_LINKED = re.compile(r"\\href\{[^{}]{0,500}\}")
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+\*?(?:\[[^\]]{0,200}\])?[ \t]*)")
_SIGNS = {r"\%": "%", r"\&": "&", r"\_": "_", r"\#": "#", r"\$": "$", r"\{": "{", r"\}": "}", r"\\": "\n", "~": " ", "``": "“",
          "''": "”", "---": "—", "--": "–", r"\,": " ", r"\ ": " ", r"\-": "", r"\/": "", r"\@": ""}  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, sorted(_SIGNS, key=len, reverse=True))))
_SPECIAL = {r"\LaTeX": "LaTeX", r"\TeX": "TeX", r"\ldots": "…", r"\dots": "…", r"\ss": "ß", r"\textbackslash": "∖"}
_KEPT = "\x02"  # around the number of what is put back when everything else is done
_MATH = re.compile(r"\$\$?[^$]{1,2000}\$\$?|\\\[.{1,1000}?\\\]|\\\(.{1,1000}?\\\)", re.DOTALL)


def read_tex(text: str, url: str, name: str = "") -> Page:
    head, _, body = text.partition("\\begin{document}")
    title, author = _TITLE.search(text), _AUTHOR.search(text)
    blocks = tuple(_blocks((body or head).partition("\\end{document}")[0]))
    return titled("tex", blocks, url, name, _said(title[1]) if title else "", _said(author[1]) if author else None)


def _blocks(body: str) -> Iterator[Block]:
    body = _AUTHOR.sub("", _TITLE.sub("", body)).replace("\\maketitle", "").replace("\\tableofcontents", "")
    for text, listing in _environments(body, _CODE):
        yield from _tabled(_COMMENT.sub("", text))
        yield from code(listing.strip("\n").split("\n"))


def _environments(body: str, begins: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Texts and what stands in the environments between them. One that is never closed is none."""
    at, search, unclosed = 0, 0, set[str]()
    while found := begins.search(body, search):
        end = -1 if found[1] in unclosed else body.find(f"\\end{{{found[1]}}}", found.end())
        search = found.end()
        if end < 0:
            unclosed.add(found[1])
            continue
        yield body[at : found.start()], body[found.end() : end]
        at = search = end + len(found[1]) + 6
    yield body[at:], ""


def _tabled(body: str) -> Iterator[Block]:
    for text, table in _environments(body, _TABLE):
        yield from _sections(text)
        for line in re.split(r"\\\\(?:\[[^\]]{0,50}\])?|\\tabularnewline", table):
            cells = [_said(cell) for cell in re.split(r"(?<!\\)&", re.sub(r"\\(?:hline|toprule|midrule|bottomrule)", "", line))]
            if any(cells):
                yield row(cells)


def _sections(body: str) -> Iterator[Block]:
    at = 0
    for heading in _HEADING.finditer(body):
        yield from _paragraphs(body[at : heading.start()])
        yield Block("heading", _said(heading[2]), min(_LEVELS.index(heading[1]) + 1, 6))
        at = heading.end()
    yield from _paragraphs(body[at:])


def _paragraphs(body: str) -> Iterator[Block]:
    for part in re.split(r"\n[ \t]*\n+|\\par\b", body):
        first, *items = _ITEM.split(part)
        if text := _said(first):
            yield Block("paragraph", text)
        for term, said in zip(items[::2], items[1::2], strict=True):
            text = _said(said)
            if term:
                yield entry(_said(term), text)
            elif text:
                yield Block("item", text, 1)


def _said(text: str) -> str:
    """The words; a formula is kept as it is, for nothing says it better."""
    kept: list[str] = []

    def keep(found: re.Match[str], group: int = 0) -> str:
        kept.append(" ".join(found[group].split()))
        return f"{_KEPT}{len(kept) - 1}{_KEPT}"

    text = _VERBATIM.sub(lambda found: keep(found, 2), text.replace(_KEPT, ""))
    text = _MATH.sub(keep, _DEFINED.sub("", text))
    for command, sign in _SPECIAL.items():
        text = re.sub(re.escape(command) + r"(?![a-zA-Z])(?:\{\})?", sign, text)
    text = _LINKED.sub("", _AROUND.sub(" ", _SILENT.sub("", text)))
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], text)
    text = _COMMAND.sub("", text).replace("{", "").replace("}", "")
    return " ".join(re.sub(f"{_KEPT}(\\d+){_KEPT}", lambda found: kept[int(found[1])], text).split())
