"""Fusion: several rankings of the same things become one, by their places or by their scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
SMOOTHING = 60  # how slowly a place loses weight; the customary value


def reciprocal_ranks(
    rankings: Sequence[Sequence[K]], weights: Sequence[float] | None = None, smoothing: float = SMOOTHING
) -> list[tuple[K, float]]:
    """Things with fused scores, best first. First in every ranking scores 1; equal scores keep the order of arrival."""
    weights = weights or [1.0] * len(rankings)
    most = sum(weight / (smoothing + 1) for weight in weights)
    scores: dict[K, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for place, key in enumerate(ranking, start=1):
            scores[key] = scores.get(key, 0.0) + weight / (smoothing + place)
    fused = [(key, score / most) for key, score in scores.items()] if most else []
    return sorted(fused, key=lambda item: -item[1])


def weighed(first: Mapping[K, float], second: Mapping[K, float], weight: float) -> list[tuple[K, float]]:
    """Things by both scores, each divided by the best of its kind; `weight` is the second's share.

    Unlike ranks, scores keep how much better one thing is than the next. A missing score counts as zero;
    where one ranking is empty the other decides alone.
    """
    if not first or not second:
        weight = 1.0 if second else 0.0
    most, other = max(first.values(), default=0.0), max(second.values(), default=0.0)
    fused = {
        key: (1 - weight) * max(0.0, first.get(key, 0.0)) / (most if most > 0 else 1.0)
        + weight * max(0.0, second.get(key, 0.0)) / (other if other > 0 else 1.0)
        for key in {**first, **second}
    }
    return sorted(fused.items(), key=lambda item: -item[1])
