"""HTML to a small tree of block elements and the runs of text between them.

libxml2 reads the page as a stream of events, in linear time and to a bounded depth. The HTML5 parsers
at hand do neither: a few kilobytes of nested formatting tags cost them gigabytes. The tree is scratch
paper of the extractor: filled once, weighed, thrown away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wellread.reading.hints import HIDDEN_CLASSES, tokens, words
from wellread.reading.markup import feed_html

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = HEADINGS | words(
    """p div section article main li ul ol dl dt dd blockquote pre table tr td th tbody thead tfoot figure
    figcaption header footer aside form body html details summary address center fieldset hr caption hgroup
    search dir"""
)
_SKIPPED = words(
    """script style noscript template svg iframe button select option textarea input object video audio
    canvas map nav menu datalist dialog embed applet"""
)
_HEAD = frozenset({"head", "title", "meta", "link", "base"})
_INLINE_WITH_HINTS = frozenset({"span", "time", "small", "sup", "a", "em", "i", "b", "strong", "cite"})
_ROOTS = frozenset({"html", "body", "main", "article"})  # pages hide these until a script has run
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HIDING_STYLE = re.compile(r"display:none|visibility:hidden|font-size:0(?![.\d])|(?:left|top|text-indent):-\d{4,}", re.IGNORECASE)
_LINE_BREAK = "\x0b"
_MAX_NODES = 150_000  # the longest honest pages have a tenth of that


@dataclass(slots=True, eq=False)
class Block:
    """One run of text with nothing block-like inside."""

    text: str
    words: int
    linked: int  # words inside links
    node: Node
    weight: float = 0.0


@dataclass(slots=True, eq=False)
class Node:
    """A block element; `children` are nodes and blocks in reading order."""

    tag: str
    hint: str  # class, id, itemprop and role, as written
    tokens: frozenset[str]
    parent: Node | None
    children: list[Node | Block] = field(default_factory=list["Node | Block"])
    words: int = 0  # this and the next five: of everything below
    linked: int = 0
    longest: int = 0  # words of the longest block
    rows: int = 0
    cells: int = 0
    tables: int = 0
    frame: Node | None = None  # the list or table that it is in, or is
    total: float = 0.0  # sum of the weights below
    good: float = 0.0  # sum of the positive ones
    holds: bool = False  # has something that speaks for content inside
    named: bool = False  # its own name says that it is the main text
    dropped: str = ""  # the reason
    linked_headings: int = 0

    def nodes(self) -> Iterator[Node]:
        return (child for child in self.children if isinstance(child, Node))

    def blocks(self) -> Iterator[Block]:
        return (child for child in self.children if isinstance(child, Block))

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
    blocks: list[Block]
    facts: Facts


def count_words(text: str) -> int:
    """Words; in scripts that write without spaces, two characters count as one."""
    count = len(_WORD.findall(text))
    if not text.isascii():
        count += len(_UNSPACED.findall(text)) // 2
    return count


def is_hidden(tag: str, attributes: Mapping[str, str]) -> bool:
    """Hidden from a reader by attribute, style or a class that means so everywhere."""
    if not attributes or tag in _ROOTS:
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    style = attributes.get("style")
    if style and _HIDING_STYLE.search(style.replace(" ", "")):
        return True
    names = attributes.get("class")
    if not names or tag not in _INLINE_WITH_HINTS:
        return False
    return not HIDDEN_CLASSES.isdisjoint(names.lower().split())


def below(node: Node) -> Iterator[Block]:
    """Blocks under a node in reading order, without what was dropped; the depth may be great."""
    stack: list[Node | Block] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, Block):
            yield item
        elif not item.dropped or item is node:
            stack.extend(reversed(item.children))


class _TooMuch(Exception):
    pass


class _Builder:
    """Receives the parser's events."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.blocks: list[Block] = []
        self.facts = Facts()
        self._stack: list[Node] = []
        self._pieces: list[tuple[str, bool]] = []
        self._skipping = 0
        self._links: list[bool] = []  # of the open anchors: does it lead elsewhere?
        self._linked = False
        self._preformatted = 0
        self._listening: list[str] | None = None  # for the text of a title or of structured data

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _HEAD or tag in {"script", "time", "html"}:
            self._note(tag, attributes)
        if self._skipping or self._is_skipped(tag, attributes):
            self._skipping += 1
        elif tag in _BLOCKS:
            self._flush()
            self._open(tag, attributes)
        elif tag == "a":
            self._link(attributes.get("href", ""))
        elif tag == "br":
            self._break_line()

    def end(self, tag: str) -> None:
        if self._skipping:
            self._skipping -= 1
        elif tag in _BLOCKS:
            self._flush()
            self._stack.pop()
            self._preformatted -= tag == "pre"
        elif tag == "a" and self._links:
            self._links.pop()
            self._linked = any(self._links)
        if self._listening is not None and tag in {"title", "script"}:
            self._heard(tag, "".join(self._listening))

    def data(self, data: str) -> None:
        if self._listening is not None:
            self._listening.append(data)
        elif not self._skipping and self._stack:
            self._pieces.append((data, self._linked))

    def close(self) -> None:
        self._flush()

    def _is_skipped(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag in _SKIPPED or tag in _HEAD:
            # the headings of a folding list are often buttons
            return not (tag == "button" and self._stack and self._stack[-1].tag in HEADINGS)
        return is_hidden(tag, attributes)

    def _note(self, tag: str, attributes: Mapping[str, str]) -> None:
        facts = self.facts
        if tag == "meta":
            name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop")
            if name and attributes.get("content"):
                facts.metas.setdefault(name.lower(), attributes["content"])
        elif tag == "html":
            facts.language = facts.language or attributes.get("lang", "") or attributes.get("xml:lang", "")
        elif tag == "time":
            if "datetime" in attributes:
                facts.times.append(attributes["datetime"])
        elif (tag == "title" and not facts.title and not self._stack[1:]) or (
            tag == "script" and "ld+json" in attributes.get("type", "")
        ):
            self._listening = []

    def _heard(self, tag: str, text: str) -> None:
        self._listening = None
        if tag == "title":
            self.facts.title = text
        else:
            self.facts.json_ld.append(text)

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self.nodes) >= _MAX_NODES:
            raise _TooMuch
        hint = _hint(tag, attributes) if attributes else ""
        parent = self._stack[-1] if self._stack else None
        node = Node(tag, hint, tokens(hint), parent)
        if parent is not None:
            parent.children.append(node)
        self._stack.append(node)
        self.nodes.append(node)
        self._preformatted += tag == "pre"

    def _link(self, target: str) -> None:
        # a heading that links to itself is not a pointer elsewhere; an entry of a table of contents is
        elsewhere = not target.startswith("#") or (bool(self._stack) and self._stack[-1].tag == "li")
        self._links.append(elsewhere)
        self._linked = any(self._links)

    def _break_line(self) -> None:
        """One <br> is a new line, two are a new paragraph."""
        for text, _ in reversed(self._pieces):
            if text == _LINE_BREAK:
                self._flush()
                return
            if not text.isspace():
                break
        if self._pieces:
            self._pieces.append((_LINE_BREAK, False))

    def _flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        raw = "".join([text for text, _ in pieces])
        if not raw or raw.isspace() or not self._stack:
            return
        node = self._stack[-1]
        text = _code(raw) if self._preformatted else _prose(raw)
        words = count_words(text)
        if not words:
            return
        linked = sum(count_words(text) for text, in_link in pieces if in_link)
        block = Block(text, words, min(linked, words), node)
        node.children.append(block)
        self.blocks.append(block)


def _hint(tag: str, attributes: Mapping[str, str]) -> str:
    names = [attributes.get(name, "") for name in ("class", "itemprop", "role")]
    anchor = attributes.get("id", "")
    # headings and the sections of manuals are labelled with their own words: these accuse nobody
    if tag not in HEADINGS and len(tokens(anchor)) < 4:
        names.append(anchor)
    return " ".join(name for name in names if name)


def _prose(raw: str) -> str:
    if _LINE_BREAK not in raw:
        return " ".join(raw.split())
    lines = (" ".join(line.split()) for line in raw.split(_LINE_BREAK))
    return "\n".join(line for line in lines if line)


def _code(raw: str) -> str:
    return "\n".join(line.rstrip() for line in raw.replace(_LINE_BREAK, "\n").expandtabs(4).strip("\n").split("\n"))


def parse(html: str) -> Tree:
    """The block tree of a page, however broken; an empty one where there is no markup at all."""
    builder = _Builder()
    try:
        feed_html(html, builder)
    except _TooMuch:
        builder.close()
    return Tree(builder.nodes, builder.blocks, builder.facts)
