"""Which part of a page is its main text.

Every run of text has a weight (`weights`). Parts that their names or their shape give away as something else
are dropped (`boilerplate`). The node with the largest sum of weights below it is the main part, less the lines in it
that are not text (`noise`). The rules know no site and, but for a few words, no language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from wellread.reading.boilerplate import ENOUGH, FEW, drop, drop_cards, is_main, spare
from wellread.reading.dom import give_way
from wellread.reading.hints import is_about_the_page
from wellread.reading.noise import without_noise, without_orphans
from wellread.reading.tree import Node, Run, Tree, below
from wellread.reading.weights import measure, sum_up, weigh

_CLOCK = re.compile(r"\b\d{1,2}[:.h]\d\d\b")
_TOO_LITTLE = 0.2  # of the page's prose
_SCATTERED, _GATHERED = 0.65, 0.8  # of the prose that was not dropped
_RELATED = 3  # levels
_NEAR = 40  # runs between a title and its text
_LEAD = 12  # words


def main_blocks(tree: Tree) -> list[Run]:
    """The runs of the main text, in order; empty when the page has none."""
    if not tree.nodes:
        return []
    for step in (measure, weigh, sum_up, drop, drop_cards, sum_up):
        step(tree)
        give_way()
    kept = _chosen(tree)
    if sum(run.words for run in kept) < _TOO_LITTLE * _prose(tree.runs):
        kept = _second_opinion(tree, kept)
    # a page that is a list of links has no prose, yet its words are what there is to read
    return kept or [run for run in below(tree.nodes[0]) if run.node.tag != "h1"]


def _chosen(tree: Tree) -> list[Run]:
    kept = without_noise(list(below(_best(tree.nodes))))
    return without_orphans(tree.runs, [*_lead(tree.runs, kept), *kept])


def _prose(runs: Sequence[Run]) -> float:
    return sum(max(run.weight, 0.0) for run in runs)


def _second_opinion(tree: Tree, kept: list[Run]) -> list[Run]:
    """Where names took nearly all: once believing only those of links and comments; if that is nothing, believing none."""
    before = [node.dropped for node in tree.nodes]
    for everything in (False, True):
        if everything and _prose(kept) > ENOUGH:
            break
        spare(tree, everything=everything)
        sum_up(tree)
        kept = max(kept, _chosen(tree), key=_prose)
    for node, reason in zip(tree.nodes, before, strict=True):
        node.dropped = reason
    return kept


def _lead(runs: Sequence[Run], kept: Sequence[Run]) -> list[Run]:
    """What stands between the title and the text, where it is prose: papers set their first paragraph apart."""
    if not kept:
        return []
    first = next(place for place, run in enumerate(runs) if run is kept[0])
    title = next((place for place in range(first - 1, max(-1, first - _NEAR), -1) if runs[place].node.tag == "h1"), None)
    if title is None:
        return []
    above = {id(node) for node in (runs[title].node, *runs[title].node.ancestors())}
    return [run for run in runs[title + 1 : first] if _may_lead(run, above)]


def _may_lead(run: Run, above: set[int]) -> bool:
    """Prose that is in no part of its own; the head of the page, which the title is in too, is not one."""
    if run.words - run.linked < _LEAD or run.linked * 4 > run.words or is_about_the_page(run.text, run.words):
        return False
    if run.words < 2 * _LEAD and _CLOCK.search(run.text):
        return False  # a line of authors and dates
    return not any(node.dropped and id(node) not in above for node in (run.node, *run.node.ancestors()))


def all_blocks(tree: Tree) -> list[Run]:
    """Every block, for documents that have nothing but a main text."""
    measure(tree)
    return tree.runs


def _best(nodes: list[Node]) -> Node:
    best, best_score = nodes[0], float("-inf")
    dead: set[int] = set()
    for node in nodes:  # parents come before their children
        if node.dropped or id(node.parent) in dead:
            dead.add(id(node))
            continue
        score = node.total
        if node.is_article_body:
            score = score * 1.5 + ENOUGH
        elif node.named and node.words > 2 * ENOUGH:
            score = score * 1.25 + ENOUGH
        elif node.tag == "article":
            score *= 1.15
        if score > best_score:
            best, best_score = node, score
    # pages of many short pieces have no heaviest part: trust the one that is marked as the main one
    marked = [node for node in nodes if is_main(node) and node.words > FEW and id(node) not in dead]
    if (len(marked) == 1 and best.good < 0.5 * marked[0].good) or (marked and best.good < FEW):
        best = marked[0]
    twins = [node for node in nodes if best.hint and (node.tag, node.hint) == (best.tag, best.hint) and id(node) not in dead]
    return _widened(_with_twins(best, twins), nodes[0].good)


def _with_twins(best: Node, twins: Sequence[Node]) -> Node:
    """A text that is cut into several parts of one make."""
    if len(twins) < 2:
        return best
    parents = list(islice(best.ancestors(), _RELATED))
    for twin in twins:
        shared = next((node for node in islice(twin.ancestors(), _RELATED) if node in parents), None)
        if shared is not None and twin is not best and twin.good >= _LEAD:
            return shared
    return best


def _widened(best: Node, prose: float) -> Node:
    """Texts in several places: the part that they are all in."""
    if best.good >= _SCATTERED * prose or best.is_article_body:
        return best
    return next((node for node in best.ancestors() if node.good >= _GATHERED * prose), best)
