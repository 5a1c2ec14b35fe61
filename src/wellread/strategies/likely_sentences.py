"""Which sentences answer a question, judged without a language model.

Three signs, each weak alone: how much of the question's content the sentence (with the title it stands
under) covers, rare words counting more; how near its meaning is to the question's; whether it holds
the kind of thing that was asked for, a name or a number that the question does not have itself. Two
sentences may answer together when one leads to the other: the second's title is named in the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.text.sentences import sentences, statements
from wellread.text.titles import bare_title
from wellread.text.weighted_cache import remembered
from wellread.text.words import Words
from wellread.text.words import read as read_words
from wellread.types import Passage

Wanted = Literal["name", "number", "any"]
_MEASURES = "many|much|long|far|old|tall|high|big|large|deep|wide|fast|heavy|hot|often"
_NUMBER = re.compile(rf"\b(when|(what|which) year|how ({_MEASURES})|what (date|percentage|number))\b", re.IGNORECASE)
_NAME = re.compile(r"\b(who|whom|whose|where|which|what (country|city|town|river|sea|ocean|island|language))\b", re.IGNORECASE)
_KEPT = 4_000_000  # characters whose words are remembered: the same passages are found for many questions


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage that may carry the answer."""

    passage: Passage
    start: int
    end: int
    words: Words
    rank: int  # of its passage in the search, 0 first

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question taken apart."""

    text: str
    weights: Mapping[str, float]
    words: Words
    wanted: Wanted

    def coverage(self, keys: Iterable[str]) -> float:
        """The share of the question's content that these words cover, 0 to 1."""
        total = sum(self.weights.values())
        found = set(keys)
        return sum(w for key, w in self.weights.items() if key in found) / total if total else 0.0


def candidates(passages: Sequence[Passage]) -> list[Candidate]:
    """All sentences of the passages, in their order."""
    return [
        Candidate(passage, start, end, words, rank)
        for rank, passage in enumerate(passages)
        for start, end, words in _taken_apart(passage.text)
    ]


@remembered(_KEPT)
def read(text: str) -> Words:
    """The words of a text, which nobody may change."""
    return read_words(text)


@remembered(_KEPT)
def _taken_apart(text: str) -> tuple[tuple[int, int, Words], ...]:
    """Sentences with their words. Questions and headings fit best and answer nothing: they count if nothing else is there."""
    spans = statements(text) or sentences(text)
    return tuple((start, end, read_words(text[start:end])) for start, end in spans)


def asked(question: str, passages: Sequence[Passage]) -> Asked:
    """The question's content words, weighed by how rare they are among the passages found."""
    words = read(question)
    texts = [set(read(f"{passage.title}. {passage.text}").content) for passage in passages]
    weights = {key: math.log(1 + (len(texts) + 1) / (1 + sum(key in text for text in texts))) for key in words.content}
    return Asked(question, weights, words, _wanted(question))


def holds_wanted(question: Asked, candidate: Candidate) -> bool:
    """Whether the sentence has a name or number that could be the answer: one not in the question."""
    if question.wanted == "number":
        return bool(set(candidate.words.numbers) - set(question.words.numbers))
    if question.wanted == "name":
        return bool(
            (set(candidate.words.names) | title_keys(candidate.passage)) - set(question.words.content) - set(question.words.names)
        )
    return True


def title_keys(passage: Passage) -> set[str]:
    """The words of a title, without what stands in brackets after it."""
    return set(read(bare_title(passage.title)).content)


def keys_of(candidate: Candidate) -> set[str]:
    """What a sentence speaks about: its words and its title's."""
    return set(candidate.words.content) | title_keys(candidate.passage)


def _wanted(question: str) -> Wanted:
    if _NUMBER.search(question):
        return "number"
    return "name" if _NAME.search(question) else "any"
