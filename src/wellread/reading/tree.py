"""A page as runs of text in a tree of block elements: scratch paper of the extractor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from wellread.text.lexicon import UNSPACED_CLASS

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LONGEST_HEADING = 25  # words
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(UNSPACED_CLASS)


@dataclass(slots=True, eq=False)
class Run:
    """Text with nothing block-like inside."""

    text: str
    words: int
    linked: int  # words inside links
    inner: int  # words inside links to the same site
    turns: bool  # has a link to the next page, or the one before
    node: Node
    anchor: str = ""  # an id inside, or just before it
    weight: float = 0.0

    @property
    def is_heading(self) -> bool:
        """Marked as one, and short enough to be one."""
        return self.node.tag in HEADINGS and self.words <= _LONGEST_HEADING


@dataclass(slots=True, eq=False)
class Node:
    """A block element; `children` are nodes and runs in reading order."""

    tag: str
    hint: str  # class, id, itemprop and role, as written
    tokens: frozenset[str]
    parent: Node | None
    anchor: str = ""  # its id
    children: list[Node | Run] = field(default_factory=list["Node | Run"])
    words: int = 0  # this and the next seven: of everything below
    linked: int = 0
    inner: int = 0
    pieces: int = 0  # runs
    longest: int = 0  # words of the longest run
    rows: int = 0
    cells: int = 0
    tables: int = 0
    frame: Node | None = None  # the list or table that it is in, or is
    total: float = 0.0  # sum of the weights below
    good: float = 0.0  # sum of the positive ones
    code: bool = False  # has some inside
    holds: bool = False  # has something that speaks for content inside
    named: bool = False  # its own name says that it is the main text
    dropped: str = ""  # the reason
    linked_headings: int = 0

    def nodes(self) -> Iterator[Node]:
        return (child for child in self.children if isinstance(child, Node))

    def ancestors(self) -> Iterator[Node]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def is_article_body(self) -> bool:
        return "articleBody" in self.hint


@dataclass(slots=True)
class Facts:
    """What a page says about itself, as found."""

    title: str = ""
    language: str = ""
    metas: dict[str, str] = field(default_factory=dict[str, str])  # name or property → content; the first wins
    json_ld: list[str] = field(default_factory=list[str])
    times: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Tree:
    """A parsed page; the first node is the root."""

    nodes: list[Node]
    runs: list[Run]
    facts: Facts


def below(node: Node) -> Iterator[Run]:
    """Runs under a node in reading order, without what was dropped; the depth may be great."""
    stack: list[Node | Run] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, Run):
            yield item
        elif not item.dropped or item is node:
            stack.extend(reversed(item.children))


def count_words(text: str) -> int:
    """Words; in scripts that write without spaces, two characters count as one."""
    count = len(_WORD.findall(text))
    if not text.isascii():
        count += len(_UNSPACED.findall(text)) // 2
    return count
