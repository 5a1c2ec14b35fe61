"""What shards have found as one ranking: what `wellread.index.search` makes of one index, on arrays, since the caller of many
shards does this for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wellread.cluster.asked import Candidates, Wanted
from wellread.index.search import MEANING_WEIGHT, by_ranks


def fused_of(parts: Sequence[Candidates], wanted: Wanted) -> list[tuple[int, float]]:
    """Places in the whole with their scores, best first: of what was found, the best by words and by meaning, as in one index."""
    places = np.concatenate([part.ordinals for part in parts])
    words = np.concatenate([part.words for part in parts]).astype(np.float64)
    meaning = np.concatenate([part.meaning for part in parts]).astype(np.float64)
    near = np.concatenate([part.near for part in parts])
    worded = _best(places, words, 2 * wanted.depth)
    close = _best(places, np.where(near, meaning, np.nan), wanted.depth)
    if wanted.options.fusion == "ranks":
        return by_ranks(*(dict.fromkeys(places[chosen].tolist(), 0.0) for chosen in (worded, close)))
    is_worded = np.zeros(len(places), np.bool_)
    is_worded[worded] = True
    only_close = close[~is_worded[close]]
    chosen = np.concatenate([worded, only_close])
    words = np.concatenate([words[worded], np.zeros(len(only_close))])
    total = _weighed(words, len(worded), meaning[chosen])
    order = np.argsort(-total, kind="stable")
    return list(zip(places[chosen[order]].tolist(), total[order].tolist(), strict=True))


def _weighed(words: NDArray[np.float64], worded: int, meaning: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each divided by the best of its kind; the first so many were found by words. See `ranking.fusion.weighed`."""
    there = ~np.isnan(meaning)
    if not there.any():
        return np.maximum(words, 0) / _most(words)
    if not worded:
        return np.maximum(meaning, 0) / _most(meaning)
    # A passage whose vector has not been made yet is taken for as close as its words are.
    meaning = np.where(there, meaning, words * (meaning[there].max() / words[:worded].max()))
    own = (1 - MEANING_WEIGHT) * np.maximum(words, 0) / _most(words[:worded])
    return own + MEANING_WEIGHT * np.maximum(meaning, 0) / _most(meaning)


def _most(scores: NDArray[np.float64]) -> float:
    most = float(scores.max(initial=0.0))
    return most if most > 0 else 1.0


def _best(places: NDArray[np.int64], scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Where the highest scores stand, best first; equal ones in the order of their places."""
    there = np.flatnonzero(~np.isnan(scores))
    return there[np.lexsort((places[there], -scores[there]))[:limit]]
