"""Boilerplate removal: which part of a page is its main text.

Every run of text has a weight: running prose counts for, links and scraps against. Parts that their names or their shape give
away as something else are dropped as boilerplate. The node with the largest sum of weights below it is the main part, less
the lines in it that are not text. The rules know no site and, but for a few words, no language; every pass is linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wellread.reading.dom import HEADINGS, WHOLE, Node, Run, Tree, below
from wellread.reading.hints import COMMENTS, STRONG, USUAL, is_about_the_page, points_away


def weigh(tree: Tree) -> None:
    blocks = tree.runs
    for run in blocks:
        run.weight = _weight(run)
        frame = run.node.frame
        if frame is not None and run.weight < 0:
            run.weight = max(run.weight, _floor(frame))


def _weight(run: Run) -> float:
    plain = run.words - run.linked
    if run.is_heading:
        return -8.0 if run.linked * 2 > run.words else 0.0
    if run.linked * 5 > run.words * 3:
        return -2.0 - run.linked
    if plain < 8:
        return -1.0
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
        node.total, node.good = total, good


_APART = frozenset({"aside", "figure", "form", "footer"})
_ENOUGH = 30.0  # words of prose that make a part worth keeping
_CARD = 130  # words; a longer thing with a linked heading is an article


def _drop(tree: Tree) -> None:
    nodes = tree.nodes
    page = nodes[0].good or 1.0
    outer: dict[int, Node] = {}  # the article that a node is in
    for node in nodes:
        article = outer.get(id(node.parent))
        if node.tag not in WHOLE and not node.named:
            node.dropped = _reason_to_drop(node, page, article)
        if node.tag == "article" or article is not None:
            outer[id(node)] = node if article is None or node.tag == "article" else article


def _reason_to_drop(node: Node, page: float, article: Node | None) -> str:
    """Names accuse a part; what is inside, and what would be left without it, speaks for it."""
    share, beside = node.good / page, page - node.good > _ENOUGH  # there is text beside it
    if node.tag in _APART or not node.tokens.isdisjoint(STRONG):
        alone = beside and (not node.holds or not node.tokens.isdisjoint(COMMENTS))
        if (share < 0.4 or alone) and not (node.holds and node.tag == "figure"):
            return "name"
    elif (node.tag == "header" or not node.tokens.isdisjoint(USUAL)) and share < 0.3:
        return "name"
    if node.tag == "article" and article is not None and node.good < 0.5 * article.good:
        return "another article"
    return ""


def _drop_cards(tree: Tree) -> None:
    """Pointers to other pages: a linked heading with a few words, several of the same make."""
    found = [(node, _card_of(node)) for node in tree.nodes if node.tag in HEADINGS and node.linked_headings]
    makes = Counter((heading.tag, heading.hint, card.tag) for heading, card in found)
    for heading, card in found:
        if card is not heading and makes[heading.tag, heading.hint, card.tag] >= 3:
            card.dropped = "card"


def _card_of(heading: Node) -> Node:
    card = heading
    while card.parent is not None and card.parent.words <= _CARD and card.parent.linked_headings == 1:
        card = card.parent
    return card


_TEXTS = HEADINGS | {"p", "li", "td", "th", "dd", "dt", "pre", "blockquote"}
_LINE_ENDS = frozenset('.!?"”»。！？…:：')
_LABEL = 8  # words
_SIGNATURE = 3  # lines
_SENTENCE_ENDS = frozenset('.!?"”»。！？…')


def _without_noise(runs: list[Run]) -> list[Run]:
    kept: list[Run] = []
    pointing = False  # after "Related stories:", the list that follows is not text
    for run in runs:
        frame = run.node.frame
        if pointing and frame is not None and frame.linked * 4 > frame.words:
            continue
        pointing = points_away(run.text, run.words)
        is_title = run.node.tag == "h1" and not kept  # it stands elsewhere; a later h1 is a heading like others
        if not pointing and not is_title and not _is_noise(run):
            kept.append(run)
    return _without_signature(_without_scraps(kept))


def _without_signature(runs: list[Run]) -> list[Run]:
    """Without headings at the end, and without initials, agencies and names; a page of short pieces has more of these."""
    end, signed = len(runs), 0
    while end:
        last = runs[end - 1]
        short = last.weight < 0 and last.words <= _LABEL and last.text[-1] not in _SENTENCE_ENDS
        if not (last.is_heading or (short and last.node.tag in {"p", "div"})):
            break
        end -= 1
        signed += not runs[end].is_heading
        if signed > _SIGNATURE:
            return runs
    return runs[:end]


def _without_scraps(runs: list[Run]) -> list[Run]:
    """On a page that knows paragraphs, a few words without one are a label or a button."""
    prose = sum(run.words for run in runs if run.weight > 0)
    if sum(run.words for run in runs if run.weight > 0 and run.node.tag in _TEXTS) < 0.8 * prose:
        return runs
    return [run for run in runs if run.weight >= 0 or run.node.tag in _TEXTS or run.text[-1] in _LINE_ENDS]


def _is_noise(run: Run) -> bool:
    if is_about_the_page(run.text, run.words):
        return True
    if run.weight >= -1.5:
        return False
    needed = {"p": 3, "blockquote": 3, "li": 8}.get(run.node.tag)  # words of its own that make a sentence
    return needed is None or run.words - run.linked < needed or run.text[-1] not in _SENTENCE_ENDS


def without_orphans(every: Sequence[Run], kept: Sequence[Run]) -> list[Run]:
    """Without the headings of which all that followed was dropped."""
    wanted = {id(run) for run in kept}
    result: list[Run] = []  # from the end
    dropped = False  # what stands just after the one that is looked at
    for run in reversed(every):
        following = result[-1] if result else None
        alone = following is None or (following.is_heading and following.node.tag <= run.node.tag)
        dropped = id(run) not in wanted or (dropped and run.is_heading and alone)
        if not dropped:
            result.append(run)
    return result[::-1]


_TOO_LITTLE = 0.2  # of the page's prose
_NEAR = 40  # runs between a title and its text
_LEAD = 12  # words
_SCATTERED, _GATHERED = 0.65, 0.8  # of the prose that was not dropped


def main_blocks(tree: Tree) -> list[Run]:
    """The runs of the main text, in order; empty when the page has none."""
    if not tree.nodes:
        return []
    for step in (weigh, sum_up, _drop, _drop_cards, sum_up):
        step(tree)
    kept = _chosen(tree)
    if sum(run.words for run in kept) < _TOO_LITTLE * _prose(tree.runs):
        kept = _second_opinion(tree, kept)
    # a page that is a list of links has no prose, yet its words are what there is to read
    return kept or [run for run in below(tree.nodes[0]) if run.node.tag != "h1"]


def _chosen(tree: Tree) -> list[Run]:
    kept = _without_noise(list(below(_best(tree.nodes))))
    return without_orphans(tree.runs, [*_lead(tree.runs, kept), *kept])


def _prose(runs: Sequence[Run]) -> float:
    return sum(max(run.weight, 0.0) for run in runs)


def _second_opinion(tree: Tree, kept: list[Run]) -> list[Run]:
    """Where names took nearly all: believing only those of links and comments."""
    for node in tree.nodes:
        if node.linked * 2 <= node.words and node.tag != "footer" and node.tokens.isdisjoint(COMMENTS):
            node.dropped = ""
    sum_up(tree)
    return max(kept, _chosen(tree), key=_prose)


def _lead(runs: Sequence[Run], kept: Sequence[Run]) -> list[Run]:
    """The lead between the title and the text, where it is prose: papers set their first paragraph apart."""
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
    return not any(node.dropped and id(node) not in above for node in (run.node, *run.node.ancestors()))


def _best(nodes: list[Node]) -> Node:
    best, best_score = nodes[0], float("-inf")
    dead: set[int] = set()
    for node in nodes:  # parents come before their children
        if node.dropped or id(node.parent) in dead:
            dead.add(id(node))
            continue
        score = node.total
        if node.is_article_body:
            score = score * 1.5 + _ENOUGH
        elif node.named and node.words > 2 * _ENOUGH:
            score = score * 1.25 + _ENOUGH
        elif node.tag == "article":
            score *= 1.15
        if score > best_score:
            best, best_score = node, score
    prose = nodes[0].good
    if best.good >= _SCATTERED * prose or best.is_article_body:
        return best
    # texts in several places: the part that they are all in
    return next((node for node in best.ancestors() if node.good >= _GATHERED * prose), best)
