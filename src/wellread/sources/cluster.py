"""An index in shards as a source: `index:ray://NAME` in a cluster, `index:FOLDER` in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wellread.core.private_files import at_home
from wellread.errors import SourceError
from wellread.protocols import Parts, Source
from wellread.sources.index_options import HINT, Options, embedder_for
from wellread.types import Hit, Hits, Query

if TYPE_CHECKING:
    from wellread.cluster.merged import MergedIndex

RAY = "ray://"


class ClusterSource(Source):
    """Searches all shards. Those that cannot be reached are named in the result."""

    has_documents = True

    def __init__(self, name: str, argument: str, options: Options, kit: Parts, hint: str = HINT) -> None:
        self.name = name
        self.hint = hint
        self._argument = argument
        self._options = options
        self._kit = kit
        self._opening = asyncio.Lock()
        self._index: MergedIndex | None = None

    async def search(self, query: Query) -> Sequence[Hit]:
        index = await self._opened()
        embedder = embedder_for(index.embedder, self._options.embedder, self._kit) if self._options.meaning else None
        outcome = await index.search(query.text, embedder, query.limit, self._options.searching())
        failures = ()
        if outcome.gone:
            share = f"{outcome.searched:.0%} of the passages were searched"
            failures = (f"{self.name}: {share}; nobody answers for shard {', '.join(outcome.gone)}",)
        return Hits(tuple(self._named(outcome.hits)), failures)

    def tuned(self, **options: int) -> ClusterSource:
        """The same index, searched with other options."""
        other = ClusterSource(self.name, self._argument, replace(self._options, **options), self._kit, self.hint)
        other._index, other.private = self._index, self.private
        return other

    async def passages(self, document: str) -> Sequence[Hit]:
        return await asyncio.to_thread(self._named, await (await self._opened()).document(document))

    async def find_title(self, title: str) -> Sequence[Hit]:
        return self._named(await (await self._opened()).titled(title))

    async def aclose(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    async def _opened(self) -> MergedIndex:
        async with self._opening:
            if self._index is None:
                self._index = await asyncio.to_thread(self._open)
            return self._index

    def _open(self) -> MergedIndex:
        if not self._argument.startswith(RAY):
            from wellread.cluster.merged import open_folder

            return open_folder(at_home(self._argument))
        from wellread.cluster.on_ray import open_index

        name, _, address = self._argument.removeprefix(RAY).partition("@")
        if not name:
            raise SourceError(self.name, "index:ray://NAME needs the name of a deployed index")
        return open_index(name, address or None)

    def _named(self, hits: Sequence[Hit]) -> list[Hit]:
        return [replace(hit, source=self.name) for hit in hits]
