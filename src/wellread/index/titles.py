"""Title boosts: what titles say about the passages that were found.

A passage whose title the question spells out is probably about what is asked. A passage whose title one of the best passages
names is probably where the question leads next: it moves up, at most to just behind the one that names it.
What each is worth: docs/log/index.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from wellread.index import keys
from wellread.text.places import SHORTEST, bare_title, leads_to
from wellread.types import Passage

LOOKED_AT = 100  # best passages whose titles are compared
ASKED_BONUS = 0.15
NAMED_BONUS = 0.4
_LEADS = 2  # best passages whose texts are searched for names


def weigh_titles(
    question: str, found: Sequence[tuple[int, float]], title: Callable[[int], str], passage: Callable[[int], Passage]
) -> list[tuple[int, float]]:
    """(number, score) with what the titles add, best first; equal scores keep their order. Only the leads are read whole."""
    titles = {row: title(row) for row, _ in found[:LOOKED_AT]}
    asked = f" {_words(question)} "
    words = frozenset(asked.split())
    scores = {row: score + ASKED_BONUS * _is_asked_for(titles.get(row, ""), asked, words) for row, score in found}
    order = sorted(scores, key=lambda row: -scores[row])
    raised = dict(scores)
    for lead in order[:_LEADS]:
        known = passage(lead)
        for row, other in titles.items():
            if scores[row] < scores[lead] and leads_to(known, other):
                raised[row] = max(raised[row], min(scores[row] + NAMED_BONUS, scores[lead]))
    return sorted(((row, raised[row]) for row in order), key=lambda item: -item[1])


def _is_asked_for(title: str, asked: str, words: frozenset[str]) -> bool:
    name = keys.plain(bare_title(title))
    first = name.partition(" ")[0]
    if first.isalnum() and first not in words:  # most are done with here: taking the words out of all of them costs more
        return False
    name = _words(name)
    return len(name) >= SHORTEST and f" {name} " in asked


def _words(text: str) -> str:
    """Words alone, for finding a name in a question."""
    return re.sub(r"\W+", " ", keys.plain(text)).strip()
