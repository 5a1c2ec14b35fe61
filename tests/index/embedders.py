"""An embedder without weights: a text is the sum of its words' directions, so shared words mean closeness. And what stands in a
word index, for comparing two of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wellread.index.lexical import Words


class WordEmbedder:
    """Deterministic; `dimensions` and `name` can be chosen to be wrong on purpose."""

    def __init__(self, dimensions: int = 64, name: str = "words-64") -> None:
        self.name = name
        self.dimensions = dimensions
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        total = np.full(self.dimensions, 1e-6, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            total += _direction(word, self.dimensions)
        return np.asarray(total / np.linalg.norm(total), np.float32)


@cache
def _direction(word: str, dimensions: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


def postings(words: Words) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """(field, term, rows) of everything."""
    searcher = words._searcher
    total = max(1, searcher.num_docs)
    for field in ("title", "text"):
        for term, _ in searcher.terms_with_prefix(field, ""):
            query = words._tantivy.Query.term_query(words._schema, field, term, "freq")
            rows = searcher.fast_field_values("row", [address for _, address in searcher.search(query, total, count=False).hits])
            yield field, term, tuple(sorted(int(row or 0) for row in rows))
