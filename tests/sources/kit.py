"""A kit for sources in tests: an environment, a cache switch, a small embedder."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wellread.errors import ReadError
from wellread.protocols import Embedder, PageReader
from wellread.types import Page


class LetterEmbedder:
    """Texts with the same letter pairs are near each other; needs no model."""

    name = "letters"
    dimensions = 256

    async def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            folded = text.lower()
            for first, second in itertools.pairwise(folded):
                vectors[row, (ord(first) * 31 + ord(second)) % self.dimensions] += 1.0
            vectors[row, 0] += 0.001
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass
class TestKit:
    """What a source may ask for."""

    __test__ = False
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    cache: bool = False
    reader: PageReader | None = None
    effort: Literal["low", "normal", "high"] = "normal"

    def embedder(self, spec: str | None = None) -> Embedder:
        return LetterEmbedder()

    def answer_reader(self) -> None:
        return None

    def pages(self) -> PageReader:
        assert self.reader is not None
        return self.reader


@dataclass
class Shelf:
    """A page reader that has its pages already."""

    texts: Mapping[str, Page]
    asked: list[str] = field(default_factory=list[str])

    async def read(self, url: str) -> Page:
        self.asked.append(url)
        if url not in self.texts:
            raise ReadError(url, "not on the shelf")
        return self.texts[url]
