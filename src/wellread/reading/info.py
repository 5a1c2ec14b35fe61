"""GNU Info files: nodes with a heading, menus that are navigation, references among the words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

from wellread.errors import ReadError
from wellread.reading.unmarked import blocks_of
from wellread.types import Block, Page

_MENU = "\n* Menu:"  # ends a node
_INDEX = "\x08[inde"  # what is left of its mark; what stands there leads elsewhere
_NOTE = re.compile(r"\*[Nn]ote\s+([^:]{1,200}?)(?:::|:\s*(?:\([^)]{1,100}\))?[^.,]{0,200}[.,])", re.DOTALL)
_OF_CODE = frozenset("(){};=")
_RULES = "*=-."  # of headings, as makeinfo writes them
_INDENT = 5  # of examples, quotations and what is said of a term


def read_info(text: str, url: str, name: str = "") -> Page:
    _, *nodes = text.split("\x1f")
    blocks = tuple(block for node in nodes for block in _of_node(node))
    if not blocks and "\x1f\nIndirect:" in text:
        raise ReadError(url, "only the list of a manual's parts: the text is in these")
    title = next((block.text for block in blocks if block.kind == "heading"), name)
    return Page(url, title, (), kind="info", blocks=blocks)


def _of_node(node: str) -> Iterator[Block]:
    head, _, body = node.removeprefix("\n").partition("\n")
    if not head.startswith("File: ") or "Node: " not in head or _INDEX in body:
        return
    text = _NOTE.sub(lambda found: " ".join(found[1].split()), body.partition(_MENU)[0])
    for block in blocks_of(text, _RULES):
        yield from _finer(block) if block.kind == "paragraph" else (block,)


def _finer(block: Block) -> Iterator[Block]:
    """A paragraph that is indented is an example, and one under lines that are not is what is said of these."""
    lines = block.text.split("\n")
    if len(lines) == 1 and _is_sentence(lines[0]):
        yield Block("paragraph", lines[0].strip())
        return
    if all(line.startswith(" " * _INDENT) for line in lines if line.strip()):
        yield Block("code", dedent(block.text))
        return
    terms = next((count for count, line in enumerate(lines) if line.startswith(" " * _INDENT)), 0)
    if terms and all(line.startswith(" " * _INDENT) for line in lines[terms:]):
        said = " ".join(line.strip() for line in lines[terms:])
        yield Block("entry", f"{', '.join(line.strip() for line in lines[:terms])}: {said}", 1)
    else:
        yield block


def _is_sentence(line: str) -> bool:
    """Words that are indented for another reason than that they are code."""
    said = line.lstrip()
    first, last = said[:1], said[-1:]
    return said != line and "A" <= first <= "Z" and " " in said and last in ".,:?" and _OF_CODE.isdisjoint(said)
