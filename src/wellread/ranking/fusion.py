"""Fusion: several rankings of the same things become one, by their places."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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
