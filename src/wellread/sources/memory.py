"""Passages searched in memory: by words (BM25) and by meaning, fused by rank. For some pages."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from wellread.errors import SourceError
from wellread.protocols import Embedder, Parts, Source
from wellread.ranking.fusion import reciprocal_ranks
from wellread.sources.hits import without_headings
from wellread.text.lexicon import STOPWORDS, UNSPACED_CLASS
from wellread.text.places import about
from wellread.text.words import fold, stem
from wellread.types import Hit, Hits, Passage, Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOKEN = re.compile(rf"(?P<wide>{UNSPACED_CLASS}+)|[^\W_]+")
_SATURATION, _LENGTH = 1.2, 0.75  # the customary constants of BM25
_CANDIDATES = 100  # of each ranking
_EMBED_ALL = 2_000  # passages; of more only those with the right words are compared by meaning
_BATCH = 64


class Memory:
    """A fixed set of passages. Building it is quick; embedding waits for the first search."""

    def __init__(self, passages: Sequence[Passage], source: str, embedder: Embedder | None) -> None:
        self.passages = tuple(passages)
        self._source = source
        self._embedder = embedder
        self._words = _Bm25([f"{about(passage)}\n{passage.text}" for passage in self.passages])
        self._vectors: dict[int, NDArray[np.float32]] = {}
        self._embedding = asyncio.Lock()

    async def search(self, text: str, limit: int) -> list[Hit]:
        by_words = await asyncio.to_thread(self._words.search, text, _CANDIDATES)
        by_meaning = await self._by_meaning(text, [row for row, _ in by_words]) if self._embedder else []
        if not by_words and not by_meaning:
            return []
        fused = reciprocal_ranks([[row for row, _ in by_words], by_meaning])
        return [self._hit(row, score) for row, score in fused[:limit]]

    async def _by_meaning(self, text: str, candidates: list[int]) -> list[int]:
        import numpy as np

        assert self._embedder is not None
        rows = list(range(len(self.passages))) if len(self.passages) <= _EMBED_ALL else candidates
        if not rows or not tokens(text):
            return []
        async with self._embedding:  # two searches at once must not embed everything twice
            missing = [row for row in rows if row not in self._vectors]
            for start in range(0, len(missing), _BATCH):
                batch = missing[start : start + _BATCH]
                texts = [f"{about(self.passages[row])}\n{self.passages[row].text}" for row in batch]
                self._vectors.update(zip(batch, await self._embedder.embed(texts, kind="passage"), strict=True))
        question = (await self._embedder.embed([text], kind="query"))[0]
        scores = np.stack([self._vectors[row] for row in rows]) @ question
        order = np.argsort(-scores, kind="stable")[:_CANDIDATES]
        return [rows[place] for place in order.tolist()]

    def _hit(self, row: int, score: float) -> Hit:
        passage = self.passages[row]
        return replace(Hit.of(passage, score), snippet=without_headings(passage.text)[:300], source=self._source)


class InMemory(Source):
    """Base class of sources whose passages are read at the first search and kept in memory. What could not be read is said with
    every search, and skipped."""

    def __init__(self, name: str, kit: Parts, *, meaning: bool = True) -> None:
        self.name, self.kit, self._meaning = name, kit, meaning
        self._memory: Memory | None = None
        self._failures: tuple[str, ...] = ()
        self._reading = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def read(self) -> tuple[Sequence[Passage], Sequence[str]]:
        """All passages, and what could not be read."""
        raise NotImplementedError

    async def search(self, query: Query) -> Sequence[Hit]:
        if not query.text.strip() or query.limit < 1:
            return []
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # locks belong to a loop
            self._loop, self._reading, self._memory = loop, asyncio.Lock(), None
        async with self._reading:  # searches at once must not read everything twice
            memory = self._memory = self._memory or await self._remembered()
        return Hits(tuple(await memory.search(query.text, query.limit)), self._failures)

    async def _remembered(self) -> Memory:
        found, failures = await self.read()
        if not found:
            raise SourceError(self.name, "nothing could be read" + (f": {few(failures)}" if failures else ""))
        self._failures = (f"{self.name}: {few(failures)}",) if failures else ()
        return await asyncio.to_thread(Memory, found, self.name, self.kit.embedder() if self._meaning else None)


@dataclass(frozen=True)
class _Bm25:
    texts: Sequence[str]

    @cached_property
    def _counts(self) -> list[Counter[str]]:
        return [Counter(tokens(text)) for text in self.texts]

    @cached_property
    def _postings(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, counts in enumerate(self._counts):
            for token in counts:
                found.setdefault(token, []).append(row)
        return found

    @cached_property
    def _mean(self) -> float:
        return sum(counts.total() for counts in self._counts) / max(1, len(self._counts)) or 1.0

    def search(self, text: str, limit: int) -> list[tuple[int, float]]:
        """Rows and scores of the texts that have any of the words, best first."""
        scores: dict[int, float] = {}
        for token in dict.fromkeys(tokens(text)):
            rows = self._postings.get(token, [])
            weight = math.log(1 + (len(self.texts) - len(rows) + 0.5) / (len(rows) + 0.5))
            for row in rows:
                times = self._counts[row][token]
                long = 1 - _LENGTH + _LENGTH * self._counts[row].total() / self._mean
                scores[row] = scores.get(row, 0.0) + weight * times * (_SATURATION + 1) / (times + _SATURATION * long)
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]


def tokens(text: str) -> list[str]:
    """Stems of the words that say something; scripts without blanks by pairs of characters."""
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        if match["wide"] and len(word) > 1:
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        elif (form := fold(word)) not in STOPWORDS:
            found.append(stem(form))
    return found


def few(failures: Sequence[str], most: int = 3) -> str:
    """The first failures in words, and how many more there are."""
    more = f" and {len(failures) - most} more" if len(failures) > most else ""
    return "; ".join(failures[:most]) + more
