"""HTML parser: a page as a small tree of block elements and the runs of text between them.

libxml2 reads the page as a stream of events in linear time; how many there may be, and how deep, is
decided here. The HTML5 parsers at hand have no such bounds: a few kilobytes of nested formatting tags
cost them gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from wellread.reading.hints import HIDDEN_CLASSES, names_main_text, tokens, words
from wellread.reading.markup import Enough, Target, feed_html
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
    """Metadata of a page, as found: title, language, meta tags, structured data, times."""

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


_INLINE_WITH_HINTS = frozenset({"span", "time", "small", "sup", "a", "em", "i", "b", "strong", "cite"})
_ROOTS = frozenset({"html", "body", "main", "article"})  # pages hide these until a script has run
_HIDING_STYLE = re.compile(r"display:none|visibility:hidden|font-size:0(?![.\d])|(?:left|top|text-indent):-\d{4,}", re.IGNORECASE)


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
    classes = names.lower().split()
    return not HIDDEN_CLASSES.isdisjoint(classes) or (tag == "sup" and "reference" in classes)


_BLOCKS = HEADINGS | words(
    """p div section article main li ul ol dl dt dd blockquote pre table tr td th tbody thead tfoot figure
    figcaption header footer aside form body html details summary address center fieldset hr caption hgroup
    search dir"""
)
_SKIPPED = words(
    """script style noscript template svg iframe button select option textarea input object video audio
    canvas map nav menu datalist dialog embed applet"""
)
_NEVER_TEXT = words("script style template svg iframe option object video audio canvas map")
_HEAD = frozenset({"head", "title", "meta", "link", "base"})
WHOLE = frozenset({"html", "body"})
_SIGNED = frozenset({"td", "th"})
_CELLS = _SIGNED | {"dt", "dd"}
_FRAMES = frozenset({"ul", "ol", "dl", "table"})
_LINE_BREAK = "\x0b"
_OUTWARD = ("http:", "https:", "//", "mailto:", "ftp:")
_TURNING = words("next prev previous up start contents index top")
_TURNING_KEYS = frozenset("nphu")
# The longest honest pages have a tenth of these; what comes after is not read.
_MAX_NODES = 150_000
_MAX_EVENTS = 500_000
_MAX_DEPTH = 500  # deeper elements are taken for part of this one


class _Link(Enum):
    """Where the link leads that a text stands in."""

    NONE = 0
    HERE = 1
    INWARD = 2  # to the same site
    OUTWARD = 3


class _Builder(Target):
    """Receives the parser's events."""

    def __init__(self, generous: bool) -> None:
        self._skipped = _NEVER_TEXT if generous else _SKIPPED
        self.nodes: list[Node] = []
        self.runs: list[Run] = []
        self.facts = Facts()
        self._stack: list[Node] = []
        self._pieces: list[tuple[str, _Link]] = []
        self._events = 0
        self._skipping = 0
        self._links: list[_Link] = []  # the open ones
        self._turns = False  # the text that is being read has a link to the next page
        self._too_deep = 0
        self._preformatted = 0
        self._anchor = ""  # of the text that comes next
        self._listening: list[str] | None = None  # for the text of a title or of structured data

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._count()
        if tag in _HEAD or tag in {"script", "time", "html"}:
            self._note(tag, attributes)
        if self._skipping or self._is_skipped(tag, attributes):
            self._skipping += 1
        elif tag in _BLOCKS:
            self._flush()
            if len(self._stack) < _MAX_DEPTH:
                self._open(tag, attributes)
            else:
                self._too_deep += 1
        else:
            self._inside_text(tag, attributes)

    def _inside_text(self, tag: str, attributes: Mapping[str, str]) -> None:
        anchor = attributes.get("id") or (attributes.get("name") if tag == "a" else None)
        if anchor and not (self._anchor and self._pieces):  # the last one before a text, the first one in it
            self._anchor = anchor
        if tag == "a":
            self._link(attributes)
        elif tag == "br":
            self._break_line()

    def end(self, tag: str) -> None:
        if self._skipping:
            self._skipping -= 1
        elif tag in _BLOCKS:
            self._flush()
            if self._too_deep:
                self._too_deep -= 1
            else:
                self._preformatted -= self._stack.pop().tag == "pre"
        elif tag == "a" and self._links:
            self._links.pop()
        if self._listening is not None and tag in {"title", "script"}:
            heard, self._listening = "".join(self._listening), None
            if tag == "title":
                self.facts.title = heard
            else:
                self.facts.json_ld.append(heard)

    def data(self, data: str) -> None:
        self._count()
        if self._listening is not None:
            self._listening.append(data)
        elif not self._skipping and self._stack:
            self._pieces.append((data, self._links[-1] if self._links else _Link.NONE))

    def close(self) -> None:
        self._flush()

    def _count(self) -> None:
        self._events += 1
        if self._events > _MAX_EVENTS:
            raise Enough

    def _is_skipped(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag in self._skipped or tag in _HEAD:
            # the headings of a folding list are often buttons
            return not (tag == "button" and self._stack and self._stack[-1].tag in HEADINGS)
        return is_hidden(tag, attributes)

    def _note(self, tag: str, attributes: Mapping[str, str]) -> None:
        facts = self.facts
        if tag == "meta":
            name = (
                attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or attributes.get("http-equiv")
            )
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

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self.nodes) >= _MAX_NODES:
            raise Enough
        hint = _hint(tag, attributes) if attributes else ""
        if tag == "div" and "fragment" in hint.split():
            tag = "pre"  # Doxygen's code: one <div> a line
        parent = self._stack[-1] if self._stack else None
        node = Node(tag, hint, tokens(hint), parent, attributes.get("id", ""))
        node.frame = node if tag in _FRAMES else parent and parent.frame
        if parent is not None:
            parent.children.append(node)
        self._stack.append(node)
        self.nodes.append(node)
        self._preformatted += tag == "pre"

    def _link(self, attributes: Mapping[str, str]) -> None:
        target = attributes.get("href", "")
        listed = bool(self._stack) and self._stack[-1].tag == "li"
        if not target or target.startswith(_OUTWARD):
            link = _Link.OUTWARD
        elif target.startswith("#") and not listed:
            link = _Link.HERE  # a heading that links to itself is not a pointer elsewhere; an entry of a table of contents is
        else:
            link = _Link.INWARD
        self._links.append(link)
        turns = not _TURNING.isdisjoint(attributes.get("rel", "").lower().split())
        self._turns = self._turns or turns or attributes.get("accesskey", "").lower() in _TURNING_KEYS

    def _break_line(self) -> None:
        """One <br> is a new line, two are a new paragraph."""
        for text, _ in reversed(self._pieces):
            if text == _LINE_BREAK:
                self._flush()
                return
            if not text.isspace():
                break
        if self._pieces:
            self._pieces.append((_LINE_BREAK, _Link.NONE))

    def _flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        raw = "".join([text for text, _ in pieces])
        if not raw or raw.isspace() or not self._stack:
            return
        node = self._stack[-1]
        text = _code(raw) if self._preformatted else _prose(raw)
        words = count_words(text)
        if not words and not self._preformatted and node.tag not in _SIGNED:  # a line of code may be a bracket, a cell a tick
            return
        inner = sum(count_words(text) for text, link in pieces if link in (_Link.INWARD, _Link.HERE))
        linked = sum(count_words(text) for text, link in pieces if link in (_Link.INWARD, _Link.OUTWARD))
        run = Run(text, words, min(linked, words), min(inner, words), self._turns, node, self._anchor)
        self._turns = False
        self._anchor = ""
        node.children.append(run)
        self.runs.append(run)


def _hint(tag: str, attributes: Mapping[str, str]) -> str:
    names = [attributes.get(name, "") for name in ("class", "itemprop", "role")]
    anchor = attributes.get("id", "")
    # headings and the sections of manuals are labelled with their own words: these accuse nobody
    if tag not in HEADINGS and len(tokens(anchor)) < 4:
        names.append(anchor)
    return " ".join(name for name in names if name)


def _prose(raw: str) -> str:
    if _LINE_BREAK not in raw:
        return " ".join(raw.split()).removesuffix("¶").rstrip()
    lines = (" ".join(line.split()) for line in raw.split(_LINE_BREAK))
    return "\n".join(line for line in lines if line)


def _code(raw: str) -> str:
    lines = raw.replace(_LINE_BREAK, "\n").expandtabs(4).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def parse(html: str, *, generous: bool = False) -> Tree:
    """The block tree of a page, however broken; an empty one where there is no markup at all.

    A `generous` reading takes navigation, forms and what is shown where no scripts run for text: elements left open may hold the
    whole page.
    """
    builder = _Builder(generous)
    feed_html(html, builder)
    for node in reversed(builder.nodes):
        _sum_up(node)
    return Tree(builder.nodes, builder.runs, builder.facts)


def _sum_up(node: Node) -> None:
    """Sum up what is below a node, whose children have been summed up."""
    for child in node.children:
        node.words += child.words
        node.linked += child.linked
        node.inner += child.inner
        if isinstance(child, Run):
            node.longest = max(node.longest, child.words)
            node.pieces += 1
        else:
            _add(node, child)
    node.named = node.tag not in WHOLE and names_main_text(node.hint, node.tokens)
    quotes = node.tag == "pre" or (node.tag in {"blockquote", "table"} and node.words > 5)
    node.holds = node.holds or quotes or node.tag in {"h1", "main"} or node.is_article_body
    if node.tag in HEADINGS and node.tag != "h1":
        node.linked_headings = int(0 < node.words * 4 <= node.linked * 5)


def _add(node: Node, child: Node) -> None:
    node.longest = max(node.longest, child.longest)
    node.rows += child.rows + (child.tag == "tr")
    node.cells += child.cells + (child.tag in _CELLS)
    node.pieces += child.pieces
    node.code = node.code or child.code or child.tag == "pre"
    node.tables += child.tables + (child.tag == "table")
    node.holds = node.holds or child.holds
    node.linked_headings += child.linked_headings
