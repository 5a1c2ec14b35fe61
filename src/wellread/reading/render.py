"""Blocks to passages that read well as plain text: a light Markdown.

Headings get their #, lists their dashes, tables of data one line a row, code its fence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from wellread.reading.mainpart import is_data
from wellread.reading.tree import HEADINGS, Block, Node

_DEPTH = 64  # how far up a block looks for what it is part of; deeper nesting is not meaningful
_LISTS = frozenset({"ul", "ol"})


@dataclass(frozen=True, slots=True)
class _Place:
    """What a block is part of."""

    item: Node | None  # innermost list item
    depth: int  # of lists
    outermost: Node | None  # list
    quoted: bool
    code: bool


def passages(blocks: Sequence[Block]) -> tuple[str, ...]:
    """One string per heading, paragraph, list, table or piece of code."""
    result: list[list[str]] = []  # lines
    current: Node | None = None  # the list or table that the last passage is
    seen: set[int] = set()
    for block in blocks:
        place = _place(block.node)
        table = _table(block.node)
        whole = table or place.outermost
        if table is not None:
            line = _row(block, seen)
        elif place.outermost is not None and not place.code:
            line = _item(block, place, seen)
        else:
            line = _plain(block, place)
        if line and whole is not None and whole is current and result:
            result[-1].append(line)
        elif line:
            result.append([line])
        current = whole
    return tuple("\n".join(lines) for lines in result)


def _place(node: Node) -> _Place:
    item = outermost = None
    depth, quoted, code = 0, False, False
    chain = [node, *islice(node.ancestors(), _DEPTH)]
    for part in chain:
        if part.tag == "li":
            item = item or part
        elif part.tag in _LISTS:
            depth += 1
            outermost = part
        elif part.tag == "blockquote":
            quoted = True
        elif part.tag == "pre":
            code = True
    return _Place(item, depth, outermost if item is not None else None, quoted, code)


def _table(node: Node) -> Node | None:
    frame = node.frame
    return frame if frame is not None and frame.tag == "table" and is_data(frame) else None


def _row(block: Block, seen: set[int]) -> str:
    """The whole row when its first cell comes by; empty cells keep their place."""
    row = block.node
    while row.tag not in {"tr", "table"} and row.parent is not None:
        row = row.parent
    if row.tag == "table":
        return block.text
    if id(row) in seen:
        return ""
    seen.add(id(row))
    return " | ".join(_cell(cell) for cell in row.nodes()).strip()


def _cell(cell: Node) -> str:
    texts: list[str] = []
    stack: list[Node | Block] = [cell]
    while stack:
        part = stack.pop()
        if isinstance(part, Block):
            texts.append(part.text.replace("\n", " "))
        else:
            stack.extend(reversed(part.children))
    return " ".join(texts)


def _item(block: Block, place: _Place, seen: set[int]) -> str:
    indent = "  " * max(place.depth - 1, 0)
    mark = "  "
    if place.item is not None and id(place.item) not in seen:
        seen.add(id(place.item))
        mark = "- "
    return indent + mark + block.text.replace("\n", "\n" + indent + "  ")


def _plain(block: Block, place: _Place) -> str:
    tag = block.node.tag
    if place.code:
        return f"```\n{block.text}\n```"
    if tag in HEADINGS:
        return "#" * int(tag[1]) + " " + block.text.replace("\n", " ")
    if place.quoted:
        return "> " + block.text.replace("\n", "\n> ")
    return block.text
