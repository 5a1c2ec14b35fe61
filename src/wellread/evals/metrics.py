"""Metrics: of rankings against gold passages, of answers against accepted answers, and how sure a number is.

Seeded, so that a table is always the same.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def recall(ranking: Sequence[str], gold: Sequence[str], k: int) -> float:
    """The share of the gold passages among the first `k`."""
    wanted = set(gold)
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def reciprocal_rank(ranking: Sequence[str], gold: Sequence[str]) -> float:
    """1 over the place of the first gold passage; 0 without one."""
    wanted = set(gold)
    return next((1 / place for place, one in enumerate(ranking, 1) if one in wanted), 0.0)


def ndcg(ranking: Sequence[str], gold: Sequence[str], k: int = 10) -> float:
    """Discounted gain of the first `k`, as a share of the best possible; a passage is gold or not."""
    wanted = set(gold)
    gain = sum(1 / log2(place + 1) for place, one in enumerate(ranking[:k], 1) if one in wanted)
    best = sum(1 / log2(place + 1) for place in range(1, min(k, len(wanted)) + 1))
    return gain / best if best else 0.0


def normalise(text: str) -> str:
    """SQuAD's rules: lower case, no punctuation, no articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(given: str, accepted: Sequence[str]) -> float:
    """1 if the answer is one of the accepted ones; with none accepted, silence is right."""
    return _best(given, accepted, lambda one, other: float(normalise(one) == normalise(other)))


def f1(given: str, accepted: Sequence[str]) -> float:
    """The overlap in words with the closest accepted answer."""
    return _best(given, accepted, _overlap)


def answer_in_text(text: str, accepted: Sequence[str]) -> float:
    """1 if an accepted answer stands in the text, as whole words."""
    padded = f" {normalise(text)} "
    return float(any((one := normalise(answer)) and f" {one} " in padded for answer in accepted))


def _best(given: str, accepted: Sequence[str], score: Callable[[str, str], float]) -> float:
    if not accepted:
        return float(not normalise(given))
    return max(score(given, answer) for answer in accepted)


def _overlap(given: str, accepted: str) -> float:
    ours, theirs = normalise(given).split(), normalise(accepted).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    if not shared:
        return 0.0
    precision, found = shared / len(ours), shared / len(theirs)
    return 2 * precision * found / (precision + found)


def calibration_error(confidences: Sequence[float], right: Sequence[bool], bins: int = 10) -> float | None:
    """How far confidence and the share of right answers lie apart, averaged over bins; None without confidences."""
    if not confidences:
        return None
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [i for i, c in enumerate(confidences) if low <= c < high or (number == bins - 1 and c == 1)]
        if inside:
            total += abs(sum(confidences[i] for i in inside) - sum(right[i] for i in inside))
    return total / len(confidences)


_SEED = 20261115
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two runs over the same questions; `p` is how often chance alone does as much."""

    difference: float
    low: float
    high: float
    p: float


def mean(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The weighted mean; 0 without values."""
    if not values:
        return 0.0
    return float(np.average(values, weights=weights)) if weights is None or sum(weights) else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of them lie."""
    return float(np.quantile(values, share)) if values else 0.0


def interval(values: Sequence[float], weights: Sequence[float] | None = None, level: float = 0.95) -> tuple[float, float]:
    """A bootstrap interval of the mean."""
    if not values:
        return 0.0, 0.0
    means = _resampled(np.asarray(values, float), np.ones(len(values)) if weights is None else np.asarray(weights, float))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def compare(first: Sequence[float], second: Sequence[float], weights: Sequence[float] | None = None) -> Comparison:
    """Second minus first, question by question, with its interval and a sign-flip test."""
    weighting = np.ones(len(first)) if weights is None else np.asarray(weights, float)
    differences = np.asarray(second, float) - np.asarray(first, float)
    seen = float(np.average(differences, weights=weighting)) if len(differences) else 0.0
    if not np.any(differences):
        return Comparison(0.0, 0.0, 0.0, 1.0)
    low, high = np.quantile(_resampled(differences, weighting), [0.025, 0.975])
    random = np.random.default_rng(_SEED)
    total, extreme = weighting.sum(), 0
    for _ in range(_DRAWS):
        signs = random.integers(0, 2, len(differences)) * 2 - 1
        extreme += abs(float((signs * differences * weighting).sum() / total)) >= abs(seen) - 1e-12
    return Comparison(seen, float(low), float(high), (extreme + 1) / (_DRAWS + 1))


def _resampled(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(_SEED)
    means = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        chosen = random.integers(0, len(values), len(values))
        total = weights[chosen].sum()
        means[draw] = (values[chosen] * weights[chosen]).sum() / total if total else 0.0
    return means
