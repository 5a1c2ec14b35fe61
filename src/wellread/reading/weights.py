"""What each run of text and each part of a page weighs: running prose counts for, links and scraps against.

Every pass over the page is linear.
"""

from __future__ import annotations

from collections import Counter

from wellread.reading.dom import HEADINGS, Node, Run, Tree
from wellread.reading.hints import names_main_text

WHOLE = frozenset({"html", "body"})
_CELLS = frozenset({"td", "th", "dt", "dd"})
_MAY_BE_SHORT = _CELLS | {"pre"}
_LISTS = frozenset({"ul", "ol", "dl"})
_WORST_LIST = -30.0  # one list of links must not outweigh the prose around it


def measure(tree: Tree) -> None:
    """Sum up what is below each node."""
    for node in tree.nodes:
        is_frame = node.tag in _LISTS or node.tag == "table"
        node.frame = node if is_frame else node.parent.frame if node.parent is not None else None
    for node in reversed(tree.nodes):
        for child in node.children:
            node.words += child.words
            node.linked += child.linked
            node.inner += child.inner
            if isinstance(child, Run):
                node.longest = max(node.longest, child.words)
                node.pieces += 1
            else:
                _add(node, child)
        _judge(node)


def _add(node: Node, child: Node) -> None:
    node.longest = max(node.longest, child.longest)
    node.rows += child.rows + (child.tag == "tr")
    node.cells += child.cells + (child.tag in _CELLS)
    node.pieces += child.pieces
    node.code = node.code or child.code or child.tag == "pre"
    node.tables += child.tables + (child.tag == "table")
    node.holds = node.holds or child.holds
    node.linked_headings += child.linked_headings


def _judge(node: Node) -> None:
    node.named = node.tag not in WHOLE and names_main_text(node.hint, node.tokens)
    quotes = node.tag == "pre" or (node.tag in {"blockquote", "table"} and node.words > 5)
    node.holds = node.holds or quotes or node.tag in {"h1", "main"} or node.is_article_body
    if node.tag in HEADINGS and node.tag != "h1":
        node.linked_headings = int(0 < node.words * 4 <= node.linked * 5)


def weigh(tree: Tree) -> None:
    blocks = tree.runs
    copies = Counter(run.text for run in blocks if run.linked)
    for run in blocks:
        run.weight = _weight(run)
        if run.weight > 0 and run.linked and copies[run.text] > 1:
            run.weight = -1.0  # lists of headlines come twice, sentences of an article do not
        frame = run.node.frame
        if frame is not None and run.weight < 0:
            run.weight = max(run.weight, _floor(frame))


def _weight(run: Run) -> float:
    plain = run.words - run.linked
    tag = run.node.tag
    if run.is_heading:
        return -8.0 if run.linked * 2 > run.words else 0.0
    if run.linked * 5 > run.words * 3:
        return -2.0 - run.linked
    if tag == "li" and run.linked * 7 > run.words:
        return 0.5 * plain - 0.5 * run.linked - 1.0
    if plain < 8:
        return 0.0 if tag in _MAY_BE_SHORT else -1.0
    return plain - 0.5 * run.linked - 2.0


def _floor(frame: Node) -> float:
    """Lists that say something and tables of data keep their links."""
    if frame.tag == "table":
        return 0.0 if is_data(frame) and frame.linked * 10 <= frame.words * 8 else float("-inf")
    return -1.0 if frame.linked * 2 <= frame.words else float("-inf")


def is_data(table: Node) -> bool:
    """Rows of short cells, not a table that lays out the page."""
    several = table.rows >= 2 and table.cells >= 2 * table.rows
    return several and not table.tables and table.longest <= 60 and table.words <= 15 * table.cells


def sum_up(tree: Tree) -> None:
    for node in reversed(tree.nodes):
        total = good = 0.0
        if not node.dropped:
            for child in node.children:
                if isinstance(child, Run):
                    total += child.weight
                    good += max(child.weight, 0.0)
                else:
                    total += child.total
                    good += child.good
        node.total = max(total, _WORST_LIST) if node.tag in _LISTS else total
        node.good = good
