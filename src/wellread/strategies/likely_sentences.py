"""Sentence ranking: which sentences answer a question, judged without a language model.

Three signs, each weak alone: how much of the question's content the sentence (with the title it stands
under) covers, rare words counting more; how near its meaning is to the question's; whether it holds
the kind of thing that was asked for, a name or a number that the question does not have itself. Two
sentences may answer together when one leads to the other: the second's title is named in the first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from wellread.core.effort import ALLOWED
from wellread.core.values import frozen
from wellread.questions.kinds import Kind, wanted
from wellread.questions.languages import stems
from wellread.run import Run
from wellread.text.places import bare_title
from wellread.text.sentences import sentences, statements, unordered
from wellread.text.weighted_cache import remembered
from wellread.text.words import Words
from wellread.text.words import read as read_words
from wellread.types import Passage

_KEPT = 4_000_000  # characters whose words are remembered: the same passages are found for many questions
# Of languages that the evaluator does not know: what the passage, the sentence before and the place in the list count. How sure
# the best sentence is was fitted on XQuAD in German, Spanish and Russian (docs/log/languages.md), the bias 0.4 above the fit, in
# which every second question had no answer: most questions to one's own documents have one.
_WHOLE, _BEFORE, _RANK = 0.4, 0.2, 0.03
_SENTENCE, _PASSAGE, _MARGIN, _BIAS = 2.75, 3.91, 2.50, -3.13
_MOST = 0.89  # words alone never make it very sure: they do not see that a sentence only mentions what was asked about
NEAR = 0.6  # of the best score: these are quoted too


@frozen
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


@frozen
class Asked:
    """A question taken apart."""

    text: str
    weights: Mapping[str, float]
    words: Words
    wanted: Kind | None

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
    spans = statements(text) or sentences(unordered(text))
    return tuple((start, end, read_words(text[start:end])) for start, end in spans)


def asked(question: str, passages: Sequence[Passage], language: str | None = None) -> Asked:
    """The question's content words, weighed by how rare they are among the passages found."""
    texts = [set(_keys(f"{passage.title}. {passage.text}", language)) for passage in passages]
    weights = {
        key: math.log(1 + (len(texts) + 1) / (1 + sum(key in text for text in texts))) for key in _keys(question, language)
    }
    return Asked(question, weights, read(question), wanted(question))


def _keys(text: str, language: str | None) -> Collection[str]:
    """The content words of a text, by the stems of its language."""
    known = stems(text, language) if language else None
    return read(text).content if known is None else sorted(known)


def holds_wanted(question: Asked, candidate: Candidate) -> bool:
    """Whether the sentence has a name or number that could be the answer: one not in the question."""
    if question.wanted in ("number", "date"):
        return bool(set(candidate.words.numbers) - set(question.words.numbers))
    if question.wanted is not None:
        return bool(
            (set(candidate.words.names) | title_keys(candidate.passage)) - set(question.words.content) - set(question.words.names)
        )
    return True


def title_keys(passage: Passage) -> set[str]:
    """The words of a title, without what stands in brackets after it."""
    return set(read(bare_title(passage.title)).content)


def keys_of(candidate: Candidate) -> set[str]:
    """Content words of a sentence, and of its title."""
    return set(candidate.words.content) | title_keys(candidate.passage)


@frozen
class Scored:
    """A candidate with how well it fits."""

    candidate: Candidate
    score: float
    confidence: float = 0.0


async def rank(run: Run, question: Asked, sentences: Sequence[Candidate]) -> list[Scored]:
    """The sentences by words; the best of them again by words and meaning, best first."""
    allowed = ALLOWED[run.kit.effort]
    words = sorted(((by_words(question, one), one) for one in sentences), key=lambda pair: -pair[0])[: allowed.sentences]
    if allowed.behind is not None:
        words = [pair for pair in words if pair[0] > words[0][0] - allowed.behind]
    if not words:
        return []
    embedder, texts = run.kit.embedder(), [f"{bare_title(one.passage.title)}: {one.text}" for _, one in words]
    asked = await run.timed(embedder.embed([question.text], kind="query"))
    meanings = ((await run.timed(embedder.embed(texts, kind="passage"))) @ asked[0]).tolist()
    scored = [
        Scored(one, score + 2 * meaning, _confidence(question, one, meaning))
        for (score, one), meaning in zip(words, meanings, strict=True)
    ]
    return sorted(scored, key=lambda one: -one.score)


def by_words(question: Asked, one: Candidate) -> float:
    """How much of the question a sentence covers, whether it holds what is asked for, how far up its passage was found."""
    return question.coverage(keys_of(one)) + 0.2 * holds_wanted(question, one) - 0.03 * one.rank


def _confidence(question: Asked, one: Candidate, meaning: float) -> float:
    """How sure it is that the sentence answers: a logistic fit on the shipped questions (docs/log.md)."""
    covered = question.coverage(read(f"{one.passage.title}. {one.passage.text}").content)
    logit = 3.1 * covered + 15.5 * meaning - 11.3
    return 1 / (1 + math.exp(-logit))


def rank_foreign(question: str, language: str, passages: Sequence[Passage]) -> list[Scored]:
    """The sentences of passages by the words of their language, without endings: the embedder in the package knows English. Best
    first; the first has how sure it is."""
    wanted = asked(question, passages, language)
    found: list[tuple[Scored, float, float]] = []
    for place, passage in enumerate(passages):
        whole, before = wanted.coverage(_keys(f"{passage.title}. {passage.text}", language)), set[str]()
        for one in candidates([passage]):
            keys = set(_keys(one.text, language))
            covered = wanted.coverage(keys)
            score = covered + _WHOLE * whole + _BEFORE * (wanted.coverage(keys | before) - covered) - _RANK * place
            found.append((Scored(one, score), covered, whole))
            before = keys
    found.sort(key=lambda row: -row[0].score)
    ranked: list[Scored] = []
    for (one, covered, whole), (behind, *_) in pairwise([*found, *found[-1:]]):
        sure = _SENTENCE * covered + _PASSAGE * whole + _MARGIN * (one.score - behind.score) + _BIAS
        ranked.append(replace(one, confidence=min(_MOST, 1 / (1 + math.exp(-sure)))))
    return ranked
