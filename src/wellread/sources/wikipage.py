"""The text of a wiki's pages, sections kept as `##` headings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wellread.sources.markup import lines, plain

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_HEADING = re.compile(r"^(={2,6})\s*(.+?)\s*\1$", re.M)
_NOISE = ".mw-editsection,.reference,.navbox,.metadata,.noprint,.mw-empty-elt,.toc,style,script,.mw-jump-link,.thumb,figure"
_HEADING_TAGS = {"h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_REFERS = re.compile(r"^.{0,120}\b(may|can|could) (also )?(refer|be)( to)?( any of)?( the following)?:?$", re.I | re.M)


def from_extract(text: str) -> str:
    """What the TextExtracts extension gives, with its headings in our form."""
    marked = _HEADING.sub(lambda m: f"{'#' * len(m[1])} {m[2]}", text)
    return without_empty_sections(lines(marked))


def from_html(markup: str) -> str:
    """A parsed page, for wikis without that extension. Tables become rows of cells."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(markup)
    for node in tree.css(_NOISE):
        node.decompose()
    root = tree.css_first(".mw-parser-output") or tree.body
    blocks = _blocks(root, depth=0) if root is not None else []
    return without_empty_sections("\n\n".join(block for block in blocks if block))


def _blocks(root: LexborNode, depth: int) -> list[str]:
    found: list[str] = []
    for node in root.iter(include_text=False):
        tag = node.tag or ""
        if level := _HEADING_TAGS.get(tag):
            found.append(f"{'#' * level} {plain(node.text())}")
        elif tag == "table":
            found.append(_table(node))
        elif tag in ("ul", "ol", "dl"):
            found.append("\n".join(f"- {item}" for li in node.css("li,dt,dd") if (item := plain(li.text()))))
        elif tag in ("div", "section") and depth < 8:
            found.extend(_blocks(node, depth + 1))
        else:
            found.append(plain(node.text()))
    return found


def _table(table: LexborNode) -> str:
    rows = ([plain(cell.text()) for cell in row.css("th,td")] for row in table.css("tr"))
    return "\n".join(" | ".join(cell for cell in row if cell) for row in rows if any(row))


def without_empty_sections(text: str) -> str:
    """Headings with nothing under them (References, External links) go."""
    blocks = [block.strip() for block in re.split(r"\n\s*\n|(?=^#{2,6} )", text, flags=re.M)]
    kept: list[str] = []
    for block in reversed(blocks):
        level = _level(block)
        empty = level and "\n" not in block and (not kept or 0 < _level(kept[-1]) <= level)
        if block and not empty:
            kept.append(block)
    return "\n\n".join(reversed(kept))


def _level(block: str) -> int:
    found = re.match(r"(#{2,6}) ", block)
    return len(found[1]) if found else 0


def is_disambiguation(title: str, text: str) -> bool:
    """Whether a page only lists what its title may mean, for wikis that do not say so themselves."""
    return title.endswith("(disambiguation)") or bool(_REFERS.search(text[:400]))
