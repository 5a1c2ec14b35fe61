"""Figures of merit."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normal_form(text: str) -> str:
    """Lower case without punctuation, articles and extra space: how SQuAD compares answers."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(given: str, answers: Sequence[str]) -> float:
    return float(any(normal_form(given) == normal_form(answer) for answer in answers))


def f1(given: str, answers: Sequence[str]) -> float:
    """The best word overlap with any of the answers; yes and no only match themselves."""
    return max((_overlap(normal_form(given), normal_form(answer)) for answer in answers), default=0.0)


def _overlap(given: str, answer: str) -> float:
    if given == answer:
        return 1.0
    if {given, answer} & {"yes", "no"}:
        return 0.0
    a, b = given.split(), answer.split()
    shared = sum((Counter(a) & Counter(b)).values())
    return 2 * shared / (len(a) + len(b)) if shared else 0.0


def recall(ranking: Sequence[int], gold: Sequence[int], depth: int) -> float:
    return len(set(ranking[:depth]) & set(gold)) / len(set(gold))


def ndcg(ranking: Sequence[int], gold: Sequence[int], depth: int = 10) -> float:
    gains = sum(1 / math.log2(place + 2) for place, number in enumerate(ranking[:depth]) if number in set(gold))
    best = sum(1 / math.log2(place + 2) for place in range(min(depth, len(set(gold)))))
    return gains / best


def calibration_error(probabilities: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """Expected calibration error: the gap between what is said and what holds, by bins of equal width."""
    sums = [[0.0, 0.0, 0.0] for _ in range(bins)]
    for probability, hit in zip(probabilities, right, strict=True):
        cell = sums[min(int(probability * bins), bins - 1)]
        cell[0] += 1
        cell[1] += probability
        cell[2] += hit
    return sum(abs(said - held) for _, said, held in sums) / max(len(probabilities), 1)


def area_under_curve(scores: Sequence[float], right: Sequence[bool]) -> float:
    """The chance that a right one scores higher than a wrong one."""
    order = sorted(zip(scores, right, strict=True), key=lambda pair: pair[0])
    positives = sum(right)
    negatives = len(right) - positives
    if not positives or not negatives:
        return math.nan
    ranks = sum(place for place, (_, hit) in enumerate(order, start=1) if hit)
    return (ranks - positives * (positives + 1) / 2) / (positives * negatives)
