"""LaTeX as its authors write it: sections, lists, tables and code; formulas stay as they are written."""

from __future__ import annotations

import re
import unicodedata
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
_SIGNS = {r"\%": "%", r"\&": "&", r"\_": "_", r"\#": "#", r"\$": "$", r"\{": "{", r"\}": "}", r"\\": "\n", "~": " ", "``": "“",
          "''": "”", "---": "—", "--": "–", r"\,": " ", r"\ ": " ", r"\-": "", r"\/": "", r"\@": "",
          r"\LaTeX": "LaTeX", r"\TeX": "TeX", r"\ldots": "…", r"\dots": "…", r"\textbackslash": "∖",
          r"\ss": "ß", r"\o": "ø", r"\O": "Ø", r"\l": "ł", r"\L": "Ł", r"\ae": "æ", r"\AE": "Æ", r"\oe": "œ", r"\OE": "Œ",
          r"\aa": "å", r"\AA": "Å", r"\i": "ı"}  # fmt: skip
_WORD = r"\\(?:LaTeX|TeX|l?dots|textbackslash)(?![a-zA-Z])"
_COMMAND = r"(\\[a-zA-Z]+)\*?(?:\[[^\]]{0,200}\])?[ \t]*(?:\{\})?"
_MARKUP = re.compile("|".join((*map(re.escape, (sign for sign in _SIGNS if not sign[1:].isalpha())), _WORD, _COMMAND, "[{}]")))
_MARKS = (*range(0x300, 0x305), 0x306, 0x307, 0x308, 0x30A, 0x30B, 0x30C, 0x323, 0x327, 0x328, 0x331)
_ACCENTS = dict(zip("`'^~=u.\"rHvdckb", map(chr, _MARKS), strict=True))
_ACCENTED = re.compile(
    r"""\\\\|\\([`'^~=."]|[uvHckrdb](?![a-zA-Z]))\s*(?:\{\s*\\?([a-zA-Z])\s*\}|\\?([a-zA-Z])(?![a-zA-Z]*\{))"""
)
_KEPT = "\x02"  # around the number of what is put back when everything else is done
_MATH = re.compile(r"(?<!\\)\$\$?[^$]{1,2000}\$\$?|\\\[(?:[^\\]|\\[^\[]){1,1000}?\\\]|\\\((?:[^\\]|\\[^(]){1,1000}?\\\)")


def read_tex(text: str, url: str, name: str = "") -> Page:
    head, _, body = text.partition("\\begin{document}")
    title, author = _TITLE.search(text), _AUTHOR.search(text)
    blocks = tuple(_blocks((body or head).partition("\\end{document}")[0]))
    return titled("tex", blocks, url, name, spelled(title[1]) if title else "", author=spelled(author[1]) if author else None)


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
            cells = [spelled(cell) for cell in re.split(r"(?<!\\)&", re.sub(r"\\(?:hline|toprule|midrule|bottomrule)", "", line))]
            if any(cells):
                yield row(cells)


def _sections(body: str) -> Iterator[Block]:
    at = 0
    for heading in _HEADING.finditer(body):
        yield from _paragraphs(body[at : heading.start()])
        yield Block("heading", spelled(heading[2]), min(_LEVELS.index(heading[1]) + 1, 6))
        at = heading.end()
    yield from _paragraphs(body[at:])


def _paragraphs(body: str) -> Iterator[Block]:
    for part in re.split(r"\n[ \t]*\n+|\\par\b", body):
        first, *items = _ITEM.split(part)
        if text := spelled(first):
            yield Block("paragraph", text)
        for term, said in zip(items[::2], items[1::2], strict=True):
            text = spelled(said)
            if term:
                yield entry(spelled(term), text)
            elif text:
                yield Block("item", text, 1)


def _accented(found: re.Match[str]) -> str:
    """An accent on its letter; the end of a line as it is."""
    return unicodedata.normalize("NFC", (found[2] or found[3]) + _ACCENTS[found[1]]) if found[1] else found[0]


def spelled(text: str) -> str:
    """The words; accents are on their letters. A formula is kept as it is, for nothing says it better."""
    kept: list[str] = []

    def keep(found: re.Match[str], group: int = 0) -> str:
        kept.append(" ".join(found[group].split()))
        return f"{_KEPT}{len(kept) - 1}{_KEPT}"

    text = _VERBATIM.sub(lambda found: keep(found, 2), text.replace(_KEPT, ""))
    text = _MATH.sub(keep, _DEFINED.sub("", text))
    text = _ACCENTED.sub(_accented, text)
    text = _LINKED.sub("", _AROUND.sub(" ", _SILENT.sub("", text)))
    text = _MARKUP.sub(lambda found: _SIGNS.get(found[1] or found[0], ""), text)
    return " ".join(re.sub(f"{_KEPT}(\\d+){_KEPT}", lambda found: kept[int(found[1])], text).split())
