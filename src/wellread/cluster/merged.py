"""Many shards as one index: the same passages in the same order with the same scores.

A shard that cannot be reached is left out, and the answer says which share of the passages was searched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from wellread.cluster import sharded
from wellread.cluster.shard import Candidates, Shard, Wanted
from wellread.cluster.words import Statistics, Term, in_fields
from wellread.encodable import encodable
from wellread.errors import IndexFault
from wellread.index import lexical
from wellread.index.lexical import FIELDS
from wellread.index.quantize import check
from wellread.index.search import SearchOptions, by_ranks, by_scores
from wellread.index.titles import LOOKED_AT, weigh_titles
from wellread.protocols import Embedder
from wellread.types import Hit

T = TypeVar("T")
_MAX_QUERY = 20_000  # characters
_REMEMBERED = 200_000  # terms whose frequency is kept


class ShardGone(IndexFault):
    """No replica of a shard answers."""


class Peer(Protocol):
    """A shard, wherever it is. What it cannot do any more it says with `ShardGone`."""

    async def statistics(self, terms: Sequence[Term]) -> Statistics: ...
    async def candidates(self, wanted: Wanted) -> Candidates: ...
    async def hits(self, rows: Sequence[int]) -> Sequence[Hit]: ...
    async def document(self, name: str) -> Sequence[tuple[int, Hit]]: ...
    async def titled(self, title: str) -> Sequence[tuple[int, Hit]]: ...


class LocalPeer:
    """A shard in this process."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard

    async def statistics(self, terms: Sequence[Term]) -> Statistics:
        return await asyncio.to_thread(self.shard.statistics, terms)

    async def candidates(self, wanted: Wanted) -> Candidates:
        return await asyncio.to_thread(self.shard.candidates, wanted)

    async def hits(self, rows: Sequence[int]) -> Sequence[Hit]:
        return await asyncio.to_thread(self.shard.hits, rows)

    async def document(self, name: str) -> Sequence[tuple[int, Hit]]:
        return await asyncio.to_thread(self.shard.document, name)

    async def titled(self, title: str) -> Sequence[tuple[int, Hit]]:
        return await asyncio.to_thread(self.shard.titled, title)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Passages, best first, and the share of all passages that was looked at."""

    hits: tuple[Hit, ...]
    searched: float = 1.0
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A shard of the whole."""

    name: str
    passages: int
    peer: Peer


class MergedIndex:
    """Searches all shards at once."""

    def __init__(self, members: Sequence[Member], embedder: str, dimensions: int) -> None:
        self.members = tuple(members)
        self.embedder, self.dimensions = embedder, dimensions
        self._holding: dict[Term, int] = {}
        self._totals: Statistics | None = None

    async def search(
        self, text: str, embedder: Embedder | None, limit: int = 10, options: SearchOptions | None = None
    ) -> Outcome:
        options = options or SearchOptions()
        text = encodable(text[:_MAX_QUERY])
        depth = max(limit, options.similarity_search_top_k_nodes)
        terms = tuple(in_fields(lexical.query_terms(text, self._analyser))) if options.words else ()
        (statistics, unheard), vector = await asyncio.gather(self._statistics(terms), self._vector(text, embedder, options))
        wanted = Wanted(terms, statistics, vector, depth, options)
        found, missing = await self._everywhere(lambda peer: peer.candidates(wanted))
        return await self._ranked(text, found, wanted, limit, {**unheard, **missing})

    def close(self) -> None:
        """Let go of what is in this process."""
        for member in self.members:
            if isinstance(member.peer, LocalPeer):
                member.peer.shard.close()

    async def document(self, name: str) -> list[Hit]:
        """All passages of a document, in order."""
        return await self._all(lambda peer: peer.document(name))

    async def titled(self, title: str) -> list[Hit]:
        return await self._all(lambda peer: peer.titled(title))

    @cached_property
    def _analyser(self) -> lexical.tantivy.TextAnalyzer:
        return lexical.analyser()

    async def _all(self, call: Callable[[Peer], Awaitable[Sequence[tuple[int, Hit]]]]) -> list[Hit]:
        found, missing = await self._everywhere(call)
        if missing and not any(found.values()):
            raise next(iter(missing.values()))
        return [hit for _, hit in sorted((item for some in found.values() for item in some), key=lambda item: item[0])]

    async def _statistics(self, terms: Sequence[Term]) -> tuple[Statistics | None, dict[int, ShardGone]]:
        """Of all shards. Frequencies of terms are asked for once; where a shard is gone they are not kept."""
        if not terms:
            return None, {}
        unknown = [term for term in terms if term not in self._holding] if self._totals else list(terms)
        if self._totals is not None and not unknown:
            return replace(self._totals, holding={term: self._holding[term] for term in terms}), {}
        found, missing = await self._everywhere(lambda peer: peer.statistics(unknown))
        total = sum(found.values(), Statistics(0, dict.fromkeys(FIELDS, 0), {}))
        holding = {term: total.holding[term] if term in total.holding else self._holding.get(term, 0) for term in terms}
        if not missing:
            if len(self._holding) > _REMEMBERED:
                self._holding.clear()
            self._totals = replace(total, holding={})
            self._holding.update(total.holding)
        return replace(self._totals or total, holding=holding), missing

    async def _vector(self, text: str, embedder: Embedder | None, options: SearchOptions) -> np.ndarray | None:
        if embedder is None or not options.meaning or not text.strip():
            return None
        if embedder.name != self.embedder or embedder.dimensions != self.dimensions:
            raise IndexFault(f"the index was built with the embedder {self.embedder} and cannot be searched with {embedder.name}")
        return check(await embedder.embed([text], kind="query"), self.dimensions)[0]

    async def _ranked(
        self, text: str, found: dict[int, Candidates], wanted: Wanted, limit: int, missing: dict[int, ShardGone]
    ) -> Outcome:
        home = {int(o): (number, int(r)) for number, part in found.items() for o, r in zip(part.ordinals, part.rows, strict=True)}
        words = _best([(part.ordinals, part.words) for part in found.values()], 2 * wanted.depth)
        meaning = _best([(part.ordinals[part.near], part.meaning[part.near]) for part in found.values()], wanted.depth)
        if wanted.options.fusion == "ranks":
            fused = by_ranks(words, meaning)
        else:
            cosines = {int(o): float(c) for part in found.values() for o, c in zip(part.ordinals, part.meaning, strict=True)}
            meaning |= {row: cosines[row] for row in words if row not in meaning and not np.isnan(cosines[row])}
            fused = by_scores(words, meaning)
        hits, lost = await self._hits([home[row] for row, _ in fused[: max(LOOKED_AT, limit)]])
        known = {row: hits[home[row]] for row, _ in fused[: max(LOOKED_AT, limit)] if home[row] in hits}
        fused = [item for item in fused if item[0] in known or home[item[0]][0] not in lost]
        if wanted.options.fusion != "ranks":
            fused = weigh_titles(text, fused, known.__getitem__)
        missing = {**missing, **lost}
        best = tuple(replace(known[row], score=score) for row, score in fused[:limit])
        return Outcome(best, self._share(missing), tuple(self.members[number].name for number in sorted(missing)))

    async def _hits(self, places: Sequence[tuple[int, int]]) -> tuple[dict[tuple[int, int], Hit], dict[int, ShardGone]]:
        """Passages by shard and row."""
        rows: dict[int, list[int]] = {}
        for number, row in places:
            rows.setdefault(number, []).append(row)
        found, missing = await self._some({number: self.members[number].peer.hits(mine) for number, mine in rows.items()})
        return {(n, row): hit for n, some in found.items() for row, hit in zip(rows[n], some, strict=True)}, missing

    def _share(self, missing: dict[int, ShardGone]) -> float:
        total = sum(member.passages for member in self.members)
        return 1 - sum(self.members[number].passages for number in missing) / max(1, total)

    async def _everywhere(self, call: Callable[[Peer], Awaitable[T]]) -> tuple[dict[int, T], dict[int, ShardGone]]:
        return await self._some({number: call(member.peer) for number, member in enumerate(self.members)})

    async def _some(self, calls: dict[int, Awaitable[T]]) -> tuple[dict[int, T], dict[int, ShardGone]]:
        """What the shards say; those that are gone apart."""
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
        if missing and not found:
            raise next(iter(missing.values()))
        return found, missing


def open_folder(folder: Path) -> MergedIndex:
    """A sharded index on this machine, all in this process."""
    content = sharded.load(folder)
    members = [
        Member(entry.name, entry.passages, LocalPeer(Shard(sharded.check_shard(folder, entry)))) for entry in content.shards
    ]
    return MergedIndex(members, content.embedder, content.dimensions)


def _best(parts: Sequence[tuple[np.ndarray, np.ndarray]], limit: int) -> dict[int, float]:
    """Places in the whole with their scores, best first; equal ones in their order."""
    ordinals = np.concatenate([part[0] for part in parts])
    scores = np.concatenate([part[1] for part in parts])
    there = ~np.isnan(scores)
    ordinals, scores = ordinals[there], scores[there]
    order = np.lexsort((ordinals, -scores))[:limit]
    return dict(zip(ordinals[order].tolist(), scores[order].astype(float).tolist(), strict=True))
