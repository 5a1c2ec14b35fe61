"""Merging the results of many shards as one index (scatter and gather): the same passages in the same order with the same scores.

A shard that cannot be reached is left out, and the answer says which share of the passages was searched.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wellread.cluster import sharded
from wellread.cluster.shard import Candidates, Shard, Wanted
from wellread.cluster.sharded import Sharded
from wellread.errors import DamagedFile, IndexFault
from wellread.index import lexical, texts
from wellread.index.search import Scored, SearchOptions, as_hit, fused, query_vector, readable
from wellread.index.titles import LOOKED_AT, weigh_titles
from wellread.protocols import Embedder
from wellread.questions.languages import analyser
from wellread.types import Hit, Passage

T = TypeVar("T")


class ShardGone(IndexFault):
    """No replica of a shard answers."""


class Peer(ABC):
    """A shard, wherever it is. What it cannot do any more it says with `ShardGone`."""

    @abstractmethod
    async def call(self, method: str, *arguments: object) -> Any:
        """Calls the shard's method of this name."""

    @abstractmethod
    def close(self) -> None: ...

    async def candidates(self, wanted: Wanted) -> Candidates:
        return await self.call("candidates", wanted)

    async def lines(self, rows: Sequence[int]) -> Sequence[bytes]:
        return await self.call("lines", rows)


class LocalPeer(Peer):
    """A shard in this process."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard

    async def call(self, method: str, *arguments: object) -> Any:
        return await asyncio.to_thread(getattr(self.shard, method), *arguments)

    def close(self) -> None:
        self.shard.close()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Passages, best first, and the share of all passages that was looked at."""

    hits: tuple[Hit, ...]
    searched: float = 1.0
    gone: tuple[str, ...] = ()


class MergedIndex:
    """Searches all shards at once: those that the content names, in its order."""

    def __init__(self, content: Sharded, peers: Sequence[Peer]) -> None:
        self.content, self.peers = content, tuple(peers)

    async def search(
        self, text: str, embedder: Embedder | None, limit: int = 10, options: SearchOptions | None = None
    ) -> Outcome:
        options = options or SearchOptions()
        text, depth = readable(text), max(limit, options.similarity_search_top_k_nodes)
        words = tuple(lexical.query_terms(text, self._analyser)) if options.words else ()
        asked = embedder if options.meaning else None
        vector = await query_vector(text, asked, self.content.embedder, self.content.dimensions, "the index")
        wanted = Wanted(words, None if vector is None else vector.tobytes(), depth, options, len(self.peers), limit)
        found, missing = await self._everywhere(lambda peer: peer.candidates(wanted))
        ranked = fused_of(list(found.values()), wanted)[: max(LOOKED_AT, wanted.limit)]
        lines, lost = await self._lines([place for place, _ in ranked], found)
        ranked = [item for item in ranked if item[0] in lines]
        if options.fusion != "ranks":
            ranked = weigh_titles(
                text, ranked, lambda place: _read(texts.title_of, lines[place]), lambda place: _passage(lines[place])
            )
        best = tuple(as_hit(_passage(lines[place]), score) for place, score in ranked[:limit])
        gone = [self.content.shards[number] for number in sorted({*missing, *lost})]
        missed = sum(one.passages for one in gone)
        return Outcome(best, 1 - missed / max(1, self.content.passages), tuple(one.name for one in gone))

    def close(self) -> None:
        """Let go of what is in this process."""
        for peer in self.peers:
            peer.close()

    async def document(self, name: str) -> list[Hit]:
        """All passages of a document, in order."""
        return await self._all("document", name)

    async def titled(self, title: str) -> list[Hit]:
        return await self._all("titled", title)

    @cached_property
    def _analyser(self) -> lexical.tantivy.TextAnalyzer:
        return analyser(self.content.language)

    async def _all(self, method: str, name: str) -> list[Hit]:
        """The passages that the shards' method gives, with their places in the whole, for a name."""
        found: dict[int, Sequence[tuple[int, bytes]]]
        found, missing = await self._everywhere(lambda peer: peer.call(method, name))
        if missing and not any(found.values()):
            raise next(iter(missing.values()))
        in_order = sorted((item for some in found.values() for item in some), key=lambda item: item[0])
        return await asyncio.to_thread(lambda: [as_hit(_passage(line), 0.0) for _, line in in_order])  # of a book: thousands

    async def _lines(
        self, places: Sequence[int], found: Mapping[int, Candidates]
    ) -> tuple[dict[int, bytes], dict[int, ShardGone]]:
        """Passages by their places in the whole: most were sent along, the others are asked for."""
        known: dict[int, bytes] = {}
        for part in found.values():
            known.update(zip(part.columns["ordinals"][: len(part.lines)].tolist(), part.lines, strict=True))
        absent = [place for place in places if place not in known]
        if not absent:
            return known, {}
        held = {number: np.isin(part.columns["ordinals"], absent) for number, part in found.items()}
        asked = {number: found[number].columns["rows"][mine].tolist() for number, mine in held.items() if mine.any()}
        sent, lost = await self._some(
            {number: _as_many(self.peers[number].lines(rows), len(rows)) for number, rows in asked.items()}
        )
        for number, some in sent.items():
            known.update(zip(found[number].columns["ordinals"][held[number]].tolist(), some, strict=True))
        return known, lost

    async def _everywhere(self, call: Callable[[Peer], Awaitable[T]]) -> tuple[dict[int, T], dict[int, ShardGone]]:
        found, missing = await self._some({number: call(peer) for number, peer in enumerate(self.peers)})
        if missing and not found:
            raise next(iter(missing.values()))
        return found, missing

    async def _some(self, calls: dict[int, Awaitable[T]]) -> tuple[dict[int, T], dict[int, ShardGone]]:
        """Replies of the shards; those that are gone apart."""
        said = await asyncio.gather(*calls.values(), return_exceptions=True)
        found: dict[int, T] = {}
        missing: dict[int, ShardGone] = {}
        for number, one in zip(calls, said, strict=True):
            if isinstance(one, ShardGone):
                missing[number] = one
            elif isinstance(one, BaseException):
                raise one
            else:
                found[number] = one
        return found, missing


async def _as_many(answer: Awaitable[Sequence[bytes]], count: int) -> Sequence[bytes]:
    said = await answer
    if len(said) != count:
        raise IndexFault("a shard answers with something else than it was asked for: do all nodes have the same wellread?")
    return said


def open_folder(folder: Path) -> MergedIndex:
    """A sharded index on this machine, all in this process."""
    content = sharded.load(folder)
    return MergedIndex(content, [LocalPeer(Shard(sharded.check_shard(folder, entry))) for entry in content.shards])


def _passage(line: bytes) -> Passage:
    return _read(texts.decode, line)


def _read(decode: Callable[[bytes], T], line: bytes) -> T:
    try:
        return decode(line)
    except ValueError:
        raise DamagedFile("a shard sent a passage that cannot be read (run: wellread index verify on its folder)") from None


def fused_of(parts: Sequence[Candidates], wanted: Wanted) -> list[tuple[int, float]]:
    """Places in the whole with their scores, best first."""
    every = np.concatenate([part.columns for part in parts])
    scored = Scored(every["ordinals"], every["words"], every["meaning"], every["near"])
    return fused(scored, wanted.depth, wanted.options)
