"""What titles say about the passages that were found.

A passage whose title the question spells out is probably about what is asked. A passage whose title one of the best passages
names is probably where the question leads next: it moves up, at most to just behind the one that names it.
What each is worth: docs/log/index.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from wellread.index import keys
from wellread.text.titles import SHORTEST, bare_title, leads_to
from wellread.types import Passage

LOOKED_AT = 100  # best passages whose titles are compared
ASKED_BONUS = 0.15
NAMED_BONUS = 0.4
_LEADS = 2  # best passages whose texts are searched for names


def weigh_titles(question: str, found: Sequence[tuple[int, float]], passage: Callable[[int], Passage]) -> list[tuple[int, float]]:
    """(number, score) with what the titles add, best first; equal scores keep their order."""
    passages = {row: passage(row) for row, _ in found[:LOOKED_AT]}
    asked = f" {_words(question)} "
    scores = {row: score + ASKED_BONUS * _is_asked_for(passages.get(row), asked) for row, score in found}
    order = sorted(scores, key=lambda row: -scores[row])
    raised = dict(scores)
    for lead in order[:_LEADS]:
        for row, other in passages.items():
            if scores[row] < scores[lead] and leads_to(passages[lead], other):
                raised[row] = max(raised[row], min(scores[row] + NAMED_BONUS, scores[lead]))
    return sorted(((row, raised[row]) for row in order), key=lambda item: -item[1])


def _is_asked_for(passage: Passage | None, asked: str) -> bool:
    title = _words(bare_title(passage.title)) if passage else ""
    return len(title) >= SHORTEST and f" {title} " in asked


def _words(text: str) -> str:
    """Words alone, for finding a name in a question."""
    return re.sub(r"\W+", " ", keys.plain(text)).strip()
