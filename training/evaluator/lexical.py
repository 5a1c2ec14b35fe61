"""BM25 over a few thousand to a few hundred thousand passages, in numpy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75
COMMON = 0.2  # words in more than this share of the passages say nothing
MAX_TERMS = 48  # of a long query, the rarest

_WORD = re.compile(r"\w+")
_SUFFIX = re.compile(r"(?:'s|ies|es|s)$")


def terms_of(text: str) -> list[str]:
    """Lower-case words without the plural."""
    return [_SUFFIX.sub("", word) or word for word in _WORD.findall(text.lower())]


class Bm25:
    """An index of passages in memory: for each word the passages that have it and its weight there."""

    def __init__(self, texts: Iterable[str]) -> None:
        rows: list[int] = []
        columns: list[int] = []
        counts: list[int] = []
        lengths: list[int] = []
        self._terms: dict[str, int] = {}
        for row, text in enumerate(texts):
            counted = Counter(terms_of(text))
            lengths.append(sum(counted.values()))
            for term, count in counted.items():
                rows.append(row)
                columns.append(self._terms.setdefault(term, len(self._terms)))
                counts.append(count)
        self.size = len(lengths)
        self._lay_out(np.array(rows, np.int32), np.array(columns, np.int32), np.array(counts), np.array(lengths))

    def _lay_out(
        self, rows: NDArray[np.int32], columns: NDArray[np.int32], counts: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> None:
        order = np.argsort(columns, kind="stable")
        rows, columns, counts = rows[order], columns[order], counts[order]
        frequency = np.bincount(columns, minlength=len(self._terms))
        idf = np.log(1 + (self.size - frequency + 0.5) / (frequency + 0.5))
        norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0))
        self._rows = rows
        self._weights = (idf[columns] * counts * (K1 + 1) / (counts + norm[rows])).astype(np.float32)
        self._ends = np.cumsum(frequency)
        self._frequency = frequency

    def search(self, query: str, limit: int) -> list[int]:
        """The best `limit` passages, best first; ties by number."""
        known = {self._terms[term] for term in terms_of(query) if term in self._terms}
        useful = [term for term in known if self._frequency[term] <= max(COMMON * self.size, 10)] or list(known)
        useful = sorted(useful, key=lambda term: (self._frequency[term], term))[:MAX_TERMS]
        if not useful:
            return []
        spans = [slice(self._ends[term] - self._frequency[term], self._ends[term]) for term in useful]
        found = np.concatenate([self._rows[span] for span in spans])
        weights = np.concatenate([self._weights[span] for span in spans])
        scores = np.bincount(found, weights, minlength=self.size)
        return top(scores, limit)


def top(scores: NDArray[np.float64], limit: int) -> list[int]:
    """Indices of the largest positive scores, best first."""
    limit = min(limit, len(scores))
    best = np.argpartition(-scores, limit - 1)[:limit]
    best = best[np.lexsort((best, -scores[best]))]
    return [int(index) for index in best if scores[index] > 0]


def fuse_ranks(lists: Sequence[Sequence[int]], offset: float = 60.0) -> list[int]:
    """Reciprocal rank fusion of lists, best first."""
    scores: dict[int, float] = {}
    for entries in lists:
        for rank, key in enumerate(entries):
            scores[key] = scores.get(key, 0.0) + 1.0 / (offset + rank + 1)
    return sorted(scores, key=lambda key: -scores[key])
