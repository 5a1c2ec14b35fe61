"""GNU Info files: nodes with a heading, menus that are navigation, references among the words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from textwrap import dedent

from wellread.reading.builder import code, entry, titled
from wellread.reading.plain_text import blocks_of
from wellread.types import Block, Page

_MENU = "\n* Menu:"  # ends a node
_ENTRY = "\nINFO-DIR-SECTION"  # for the list of all manuals
_INDEX = "\x08[inde"  # what is left of its mark; what stands there leads elsewhere
_NOTE = re.compile(r"(\(?)\*([Nn])ote\s+([^:]{1,200}?)(?:::|:\s*(?:\([^)]{1,100}\))?[^.,]{0,200}([.,]))", re.DOTALL)
_OF_CODE = frozenset("(){};=")
_BRACED = frozenset("{};")
_BULLET = re.compile(r"[*•-]\s+|\d{1,3}\.\s+|[A-Za-z][.)]\s+")
_QUOTES = "'‘`"  # makeinfo's, around terms
_RULES = "*=-."  # of headings, as makeinfo writes them
_INDENT = 5  # of examples, quotations and what is said of a term


def read_info(text: str, url: str, name: str = "") -> Page:
    head, *nodes = text.split("\x1f")
    blocks = tuple(block for node in nodes for block in _of_node(node))
    # of a manual in several files, the first has no more than what it is about and where its parts are
    return titled("info", blocks or tuple(blocks_of(head.partition(_ENTRY)[0], _RULES)), url, name)


def _of_node(node: str) -> Iterator[Block]:
    head, _, body = node.removeprefix("\n").partition("\n")
    if not head.startswith("File: ") or "Node: " not in head or _INDEX in body:
        return
    for block in blocks_of(body.partition(_MENU)[0], _RULES):
        said = replace(block, text=_NOTE.sub(_see, block.text))  # in lines that are joined: what is left out has line ends
        yield from _finer(said) if block.kind == "paragraph" else (said,)


def _see(note: re.Match[str]) -> str:
    """A cross-reference in words: one that begins a sentence or stands in brackets says "see" by its mark alone."""
    see = "See " if note[2] == "N" else "see " if note[1] else ""
    return f"{note[1]}{see}{note[3]}{note[4] or ''}"


def _finer(block: Block) -> Iterator[Block]:
    """Lines that are indented are an example, or what is said of the terms above them."""
    lines = block.text.split("\n")
    if len(lines) == 1 and _is_sentence(lines[0]):
        yield Block("paragraph", lines[0].strip())
        return
    if not any(line.startswith(" " * _INDENT) for line in lines):
        yield block
        return
    outer: list[str] = []
    for inside, group in groupby(lines, key=lambda line: not line.strip() or line.startswith(" " * _INDENT)):
        if not inside:
            outer = [line.strip().removeprefix("-- ") for line in group]  # as "Command: detach" is marked
            continue
        inner, above, outer = list(group), outer, []
        led = 1 + max((place for place, line in enumerate(above) if line.endswith(":")), default=-1)
        if above[led:] and above[led][0] in _QUOTES:  # terms right below what leads to them
            yield from _outer(above[:led])
            above = above[led:]
        said = " ".join(line.strip() for line in inner)
        if above and _BULLET.match(above[0]):
            yield from _outer([*above, said])
        elif above and _are_terms(above):
            yield entry(", ".join(above), said)
        else:
            yield from _outer(above)
            below = dedent("\n".join(inner)).split("\n")
            if _BULLET.match(below[0]):
                yield from _outer([line.strip() for line in below])
            else:  # what is said of a term may be a list of terms itself
                yield from _finer(Block("paragraph", "\n".join(below))) if _explains(below) else code(inner)
    yield from _outer(outer)


def _are_terms(lines: Sequence[str]) -> bool:
    """Terms that are explained together begin alike, as options do; the lines of a sentence do not, and it comes to an end."""
    return len({line[0] for line in lines}) == 1 and not lines[-1].endswith((".", ":", ","))


def _explains(lines: Sequence[str]) -> bool:
    """Whether all lines are terms and what is said of them, and none of them looks like code."""
    groups = [(inside, [*group]) for inside, group in groupby(lines, key=lambda line: line.startswith(" " * _INDENT))]
    terms = [group for inside, group in groups if not inside]
    return groups[-1][0] and all(map(all, terms)) and all(map(_are_terms, terms)) and _BRACED.isdisjoint("".join(lines))


def _outer(lines: Sequence[str]) -> Iterator[Block]:
    """A paragraph, or the items of a list."""
    if lines and not _BULLET.match(lines[0]):
        yield Block("paragraph", " ".join(lines))
        return
    items: list[str] = []
    for line in lines:
        if _BULLET.match(line):
            items.append(_BULLET.sub("", line, count=1))
        else:
            items[-1] += f" {line}"
    yield from (Block("item", item, 1) for item in items)


def _is_sentence(line: str) -> bool:
    """Words that are indented for another reason than that they are code."""
    said = line.lstrip()
    first, last = said[:1], said[-1:]
    return said != line and "A" <= first <= "Z" and " " in said and last in ".,:?" and _OF_CODE.isdisjoint(said)
