"""Feeds of an index: passages with their quantised vectors, from wherever they come; embedding in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing

import numpy as np

from wellread.core.values import frozen
from wellread.index.ledger import Entry, Read
from wellread.index.progress import Progress, silent
from wellread.index.quantize import SAMPLE, Bytes, Codes, Floats, calibrate, check, to_bytes, to_codes
from wellread.protocols import Computed, Embedder
from wellread.text.places import about
from wellread.types import Passage

BATCH = 256  # passages embedded together: fixed, since a vector depends a little on its batch


@frozen
class Batch:
    """Passages and their vectors in small."""

    passages: Sequence[Passage]
    rows: Bytes
    codes: Codes

    def part(self, start: int, end: int) -> Batch:
        return Batch(self.passages[start:end], self.rows[start:end], self.codes[start:end])

    def scaled(self, own: Floats | None, wanted: Floats | None) -> Batch:
        """The same for an index whose bytes have another scale."""
        if own is None or wanted is None or np.array_equal(own, wanted):
            return self
        return Batch(self.passages, to_bytes(self.rows * own, wanted), self.codes)


class Feed(ABC):
    """The same passages in the same order each time, so that an interrupted build can go on."""

    embedder: str
    dimensions: int
    origin: str  # what it reads, in words; a build is resumed only with the same
    scale: Floats | None = None  # known from the start or from the first batch on

    @abstractmethod
    def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        """Everything after the first `skip` passages, with this scale if one is settled already."""


def embedding_text(passage: Passage) -> str:
    """The text to embed: title and headings say what a passage from the middle of a document is about."""
    named = about(passage)
    return f"{named}. {passage.text}" if named else passage.text


class Inputs:
    """Where passages without vectors come from, input by input."""

    @property
    def recorded(self) -> Mapping[str, str]:
        """Metadata for the manifest, so that they can be read again; empty where that is impossible."""
        return {}

    def join(self, origin: Mapping[str, str]) -> None:
        """They come to inputs that a manifest remembers, whose documents keep their names."""

    def read(self, known: Mapping[str, Entry], progress: Progress = silent) -> AsyncGenerator[Read]:
        """New and changed inputs, in their order."""
        raise NotImplementedError

    async def passages(self) -> AsyncGenerator[Passage]:
        """Everything in them, one after the other."""
        async with aclosing(self.read({})) as reads:
            async for read in reads:
                for passage in read.passages:
                    yield passage


class Stream(Inputs):
    """Passages that simply come, the same ones each time, with names of their own."""

    def __init__(self, passages: Callable[[], AsyncIterator[Passage]]) -> None:
        self._passages = passages

    async def read(self, known: Mapping[str, Entry], progress: Progress = silent) -> AsyncGenerator[Read]:
        entry = known.get("") or Entry("", whole=False, table=True)
        if entry.whole:
            return
        async for passages in grouped(self._passages(), entry.passages):
            entry = entry._replace(passages=entry.passages + len(passages))
            yield Read(entry, passages)
        yield Read(entry._replace(whole=True))


class EmbeddingFeed(Feed):
    """Embeds passages as they come."""

    def __init__(self, inputs: Inputs | Callable[[], AsyncIterator[Passage]], embedder: Embedder, origin: str) -> None:
        self.maker, self.embedder, self.dimensions, self.origin = embedder, embedder.name, embedder.dimensions, origin
        self.inputs = inputs if isinstance(inputs, Inputs) else Stream(inputs)

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        self.scale = scale
        if isinstance(self.maker, Computed):
            self.maker.settle()
        waiting: list[tuple[Sequence[Passage], Floats]] = []
        async for passages in grouped(self.inputs.passages(), skip, BATCH):
            vectors = await self.maker.embed([embedding_text(p) for p in passages], kind="passage")
            waiting.append((passages, check(vectors, self.dimensions)))
            if self.scale is None and len(waiting) * BATCH < SAMPLE:
                continue  # the scale is settled by the first few thousand vectors
            for batch in self._quantised(waiting):
                yield batch
            waiting = []
        for batch in self._quantised(waiting):
            yield batch

    def _quantised(self, waiting: Sequence[tuple[Sequence[Passage], Floats]]) -> Iterable[Batch]:
        if not waiting:
            return
        if self.scale is None:
            self.scale = calibrate(np.concatenate([vectors for _, vectors in waiting]))
        for passages, vectors in waiting:
            yield Batch(passages, to_bytes(vectors, self.scale), to_codes(vectors))


async def grouped(passages: AsyncIterator[Passage], skip: int, size: int = BATCH) -> AsyncIterator[list[Passage]]:
    """Passages in groups, without the first ones."""
    group: list[Passage] = []
    async for passage in passages:
        if skip:
            skip -= 1
            continue
        group.append(passage)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


async def streamed(passages: Iterable[Passage]) -> AsyncIterator[Passage]:
    """Passages that are at hand, as a stream."""
    for passage in passages:
        yield passage
