"""Sentences ranked by the words of the question's own language, where the evaluator was not trained for it.

What was found was found by words and meaning; which sentence answers is told by words alone, without their endings: the embedder
in the package knows English. How sure the best one is was fitted on XQuAD in German, Spanish and Russian (docs/log/languages.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from wellread.questions.languages import stems
from wellread.strategies import likely_sentences
from wellread.strategies.likely_sentences import Candidate
from wellread.strategies.wording import Scored
from wellread.types import Passage

_WHOLE, _BEFORE, _RANK = 0.4, 0.2, 0.03  # what the passage, the sentence before and the place in the list count
# The bias is 0.4 above the fit, in which every second question had no answer: most questions to one's own documents have one.
_SENTENCE, _PASSAGE, _MARGIN, _BIAS = 2.75, 3.91, 2.50, -3.13
_NEAR = 0.6  # of the best score: these are quoted too


def rank(question: str, language: str, passages: Sequence[Passage]) -> list[Scored]:
    """The sentences of the passages, best first; the first has how sure it is."""
    held = [_keys(f"{passage.title}. {passage.text}", language) for passage in passages]
    weights = {
        key: math.log(1 + (len(held) + 1) / (1 + sum(key in one for one in held))) for key in sorted(_keys(question, language))
    }
    found: list[tuple[Scored, float, float]] = []
    for place, passage in enumerate(passages):
        whole, before = _covered(weights, held[place]), frozenset[str]()
        for one in likely_sentences.candidates([passage]):
            keys = _keys(one.text, language)
            covered = _covered(weights, keys)
            score = covered + _WHOLE * whole + _BEFORE * (_covered(weights, keys | before) - covered) - _RANK * place
            found.append((Scored(one, score), covered, whole))
            before = keys
    found.sort(key=lambda row: -row[0].score)
    margins = [*(first[0].score - second[0].score for first, second in pairwise(found)), 0.0]
    return [
        Scored(one.candidate, one.score, _sure(covered, whole, margin))
        for (one, covered, whole), margin in zip(found, margins, strict=False)
    ]


def near_best(ranked: Sequence[Scored], most: int) -> list[Candidate]:
    """The best sentence and those that fit nearly as well."""
    return [one.candidate for one in ranked[:most] if one.score >= _NEAR * ranked[0].score]


def _keys(text: str, language: str) -> frozenset[str]:
    known = stems(text, language)
    return frozenset(likely_sentences.read(text).content if known is None else known)


def _covered(weights: dict[str, float], keys: frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(weight for key, weight in weights.items() if key in keys) / total if total else 0.0


def _sure(sentence: float, passage: float, margin: float) -> float:
    return 1 / (1 + math.exp(-(_SENTENCE * sentence + _PASSAGE * passage + _MARGIN * margin + _BIAS)))
