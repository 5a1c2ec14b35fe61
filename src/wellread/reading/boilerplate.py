"""Boilerplate: parts of a page that are something else than its main text, by their names, their shape, and what is inside."""

from __future__ import annotations

from collections import Counter

from wellread.reading.hints import COMMENTS, PICTURES, QUOTING, STRONG, USUAL
from wellread.reading.tree import HEADINGS, Node, Tree
from wellread.reading.weights import WHOLE

_APART = frozenset({"aside", "figure", "form", "footer"})
ENOUGH = 30.0  # words of prose that make a part worth keeping
FEW = 15  # words that make a part marked as the main one believable
_CARD = 130  # words; a longer thing with a linked heading is an article


def drop(tree: Tree) -> None:
    nodes = tree.nodes
    page = nodes[0].good or 1.0
    marked = any((node.is_article_body and node.good > ENOUGH) or (is_main(node) and node.words > FEW) for node in nodes)
    outer: dict[int, Node] = {}  # the article that a node is in
    for node in nodes:
        article = outer.get(id(node.parent))
        if node.tag not in WHOLE and not node.named:
            node.dropped = _reason_to_drop(node, page, marked, article)
        if node.tag == "article" or article is not None:
            outer[id(node)] = node if article is None or node.tag == "article" else article


def _reason_to_drop(node: Node, page: float, marked: bool, article: Node | None) -> str:
    """Names accuse a part; what is inside, and what would be left without it, speaks for it."""
    share = node.good / page
    if node.tag in _APART or not node.tokens.isdisjoint(STRONG):
        if _is_named_apart(node, share, page, marked):
            return "name"
    elif node.tag == "header" or not node.tokens.isdisjoint(USUAL):
        if share < 0.3:
            return "name"
    elif not node.tokens.isdisjoint(PICTURES) and not node.holds and node.words < 60 and share < 0.1:
        return "picture"
    if node.tag == "article" and article is not None and share < 0.4 and node.good < 0.5 * article.good:
        return "another article"
    return ""


def _is_named_apart(node: Node, share: float, page: float, marked: bool) -> bool:
    left = page - node.good > ENOUGH
    if node.holds and (node.tag == "figure" or not node.tokens.isdisjoint(QUOTING)):
        return False
    if share < 0.4 or (left and not node.tokens.isdisjoint(COMMENTS)):
        return True
    return not node.holds and (left or marked)


def drop_cards(tree: Tree) -> None:
    """Pointers to other pages: a linked heading with a few words, several of the same make."""
    found = [(node, _card_of(node)) for node in tree.nodes if node.tag in HEADINGS and node.linked_headings]
    inside: set[int] = set()  # a part that is named as the main one
    for node in tree.nodes:  # parents come before their children
        if node.named or id(node.parent) in inside:
            inside.add(id(node))
    makes = Counter((heading.tag, heading.hint, card.tag) for heading, card in found)
    for heading, card in found:
        if card is heading or makes[heading.tag, heading.hint, card.tag] < 3:
            continue
        if id(card) not in inside:
            card.dropped = "card"


def _card_of(heading: Node) -> Node:
    card = heading
    while card.parent is not None and card.parent.words <= _CARD and card.parent.linked_headings == 1:
        card = card.parent
    return card


def is_main(node: Node) -> bool:
    return node.tag == "main" or "main" in node.hint.split()


def spare(tree: Tree, *, everything: bool) -> None:
    """Take back what was dropped; if not everything, then not what is mostly links, and not comments."""
    for node in tree.nodes:
        accused = node.linked * 2 > node.words or node.tag == "footer" or not node.tokens.isdisjoint(COMMENTS)
        if node.dropped and (everything or not accused):
            node.dropped = ""
