"""Doubts about a chain of passages, before anybody has read it.

A chain leads somewhere if each of its passages is named by the question, names another one or is named by it. And an answer about
Eris should stand in passages that mention Eris.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wellread.text.lexicon import STOPWORDS
from wellread.text.places import leads_to, mentions
from wellread.text.words import fold
from wellread.types import Passage

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Doubt:
    """Two shares, from 0 (nothing speaks against it) to 1."""

    astray: float = 0.0  # of a chain's passages that nothing leads to
    missing: float = 0.0  # of the question's names that stand nowhere in it


NONE = Doubt()


def doubts(question: str) -> Callable[[Sequence[Passage]], Doubt]:
    """How doubtful chains are as ways to the answer of a question."""
    words = (word for word in _WORD.findall(question) if word.lower() not in STOPWORDS)
    names = frozenset(fold(word) for word in words if word[0].isupper() or word[0].isdigit())
    held: dict[str, frozenset[str]] = {}

    def holds(passage: Passage) -> frozenset[str]:
        if passage.id not in held:
            held[passage.id] = names & {fold(word) for word in _WORD.findall(f"{passage.title} {passage.text}")}
        return held[passage.id]

    def doubt(chain: Sequence[Passage]) -> Doubt:
        found = frozenset[str]().union(*map(holds, chain))
        astray = sum(not _is_led_to(question, passage, chain) for passage in chain) if len(chain) > 1 else 0
        return Doubt(astray / len(chain), 1 - len(found) / len(names) if names else 0.0)

    return doubt


def _is_led_to(question: str, passage: Passage, chain: Sequence[Passage]) -> bool:
    if mentions(question, passage.title):
        return True
    others = (other for other in chain if other.id != passage.id)
    return any(
        other.title == passage.title or leads_to(other, passage.title) or leads_to(passage, other.title) for other in others
    )
