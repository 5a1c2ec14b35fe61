"""An embedder without weights: a text is the sum of its words' directions, so shared words mean closeness."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray


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
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            total += np.random.default_rng(seed).standard_normal(self.dimensions).astype(np.float32)
        return np.asarray(total / np.linalg.norm(total), np.float32)
