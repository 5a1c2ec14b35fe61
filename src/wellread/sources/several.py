"""Many sources asked at once: fused by rank, each page once, a failing one reported and skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from wellread.errors import SourceError, Unreachable, WellreadError
from wellread.net.address import canonical
from wellread.privacy import search as ask
from wellread.protocols import Source
from wellread.ranking.fusion import reciprocal_ranks
from wellread.types import Hit, Hits, Query


class Several(Source):
    """Sources as one. The order they are named in decides between equals."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.parts = tuple(sources)
        self.name = " + ".join(source.name for source in self.parts)
        self.hint = "\n".join(f"- {source.hint}" for source in self.parts)
        self.examples = "\n\n".join(source.examples for source in self.parts if source.examples)

    @property
    def members(self) -> Sequence[Source]:
        return self.parts

    async def search(self, query: Query) -> Sequence[Hit]:
        """`Hits` with the failures of some; `SourceError` only when all have failed."""
        asked = [source for source in self.parts if source.name not in query.without] or self.parts
        results = await asyncio.gather(*(_attempt(source, query) for source in asked))
        failures = [message for _, found in results for message in found.failures]
        answered = [found for answers, found in results if answers]
        unreachable = {name: why for _, found in results for name, why in found.unreachable.items()}
        if not answered:
            kind = Unreachable if len(unreachable) == len(asked) > 0 else SourceError
            raise kind("all sources failed", "; ".join(failures) or "there are none")
        pairs = sum(found.pairs for found in answered)
        return Hits(tuple(_fused(answered)[: query.limit]), tuple(failures), pairs, unreachable)


async def _attempt(source: Source, query: Query) -> tuple[bool, Hits]:
    """Whether a source answers, with its hits and complaints; a plugin's unexpected error must not take the others down."""
    try:
        return True, Hits.all_of(await ask(source, query))
    except WellreadError as problem:
        message = str(problem)
        unreachable = {source.name: problem.message} if isinstance(problem, Unreachable) else {}
        said = message if message.startswith(source.name) else f"{source.name}: {message}"
        return False, Hits(failures=(said,), unreachable=unreachable)
    except Exception as problem:
        return False, Hits(failures=(f"{source.name}: unexpected {type(problem).__name__}",))


def _fused(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    best: dict[str, Hit] = {}
    for hits in rankings:
        for hit in hits:
            key = _key(hit)
            best[key] = _richer(best[key], hit) if key in best else hit
    # A key counts once a ranking: two passages of one page must not outweigh a second source.
    orders = [list(dict.fromkeys(map(_key, hits))) for hits in rankings]
    return [replace(best[key], score=score) for key, score in reciprocal_ranks(orders)]


def _key(hit: Hit) -> str:
    """Passages of a local index stay apart although they share a page."""
    return canonical(hit.url) if hit.url and hit.document is None else hit.id


def _richer(first: Hit, second: Hit) -> Hit:
    """The first seen wins, and takes from the second what it lacks."""
    return replace(
        first,
        text=first.text or second.text,
        snippet=first.snippet or second.snippet,
        published=first.published or second.published,
        reference=first.reference or second.reference,
    )
