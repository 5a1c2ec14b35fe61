"""How sure a number is: bootstrap intervals and a paired test. Seeded, so that a table is always the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
