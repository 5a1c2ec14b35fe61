"""Sentences ranked by how well they fit a question in words and in meaning, and how sure the best one is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.effort import ALLOWED
from wellread.run import Run
from wellread.strategies import likely_sentences
from wellread.strategies.likely_sentences import Asked, Candidate
from wellread.text.titles import bare_title


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with how well it fits."""

    candidate: Candidate
    score: float
    confidence: float = 0.0


async def rank(run: Run, question: Asked, sentences: Sequence[Candidate], known: dict[str, float] | None = None) -> list[Scored]:
    """The sentences by words; the best of them again by words and meaning, best first. `known` keeps how near they are."""
    known = {} if known is None else known
    allowed = ALLOWED[run.kit.effort]
    words = sorted(((by_words(question, one), one) for one in sentences), key=lambda pair: -pair[0])[: allowed.sentences]
    if allowed.behind is not None:
        words = [pair for pair in words if pair[0] > words[0][0] - allowed.behind]
    texts = [f"{bare_title(one.passage.title)}: {one.text}" for _, one in words]
    if new := [text for text in texts if text not in known]:
        embedder = run.kit.embedder()
        asked = await run.timed(embedder.embed([question.text], kind="query"))
        known |= zip(new, ((await run.timed(embedder.embed(new, kind="passage"))) @ asked[0]).tolist(), strict=True)
    scored = [
        Scored(one, score + 2 * known[text], _confidence(question, one, known[text]))
        for (score, one), text in zip(words, texts, strict=True)
    ]
    return sorted(scored, key=lambda one: -one.score)


def by_words(question: Asked, one: Candidate) -> float:
    """How much of the question a sentence covers, whether it holds what is asked for, how far up its passage was found."""
    return question.coverage(likely_sentences.keys_of(one)) + 0.2 * likely_sentences.holds_wanted(question, one) - 0.03 * one.rank


def _confidence(question: Asked, one: Candidate, meaning: float) -> float:
    """How sure it is that the sentence answers: a logistic fit on the shipped questions (docs/log.md)."""
    covered = question.coverage(likely_sentences.read(f"{one.passage.title}. {one.passage.text}").content)
    logit = 3.1 * covered + 15.5 * meaning - 11.3
    return 1 / (1 + math.exp(-logit))
