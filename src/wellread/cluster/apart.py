"""Putting passages with their vectors into shards: the last step of a build, and all of it for an index that is there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np

from wellread.cluster import shard, sharded
from wellread.cluster.sharded import SHARDS, Sharded, shard_name, shard_of
from wellread.errors import IndexFault
from wellread.index.build import BuildOptions, build
from wellread.index.feed import Batch
from wellread.index.folder import disk_errors, writing
from wellread.index.progress import Progress, silent
from wellread.index.quantize import Floats
from wellread.index.search import LocalIndex

_BATCH = 2_000


class RowsFeed:
    """Chosen passages of an index as the feed of another: nothing is embedded again."""

    def __init__(self, index: LocalIndex, rows: Sequence[int]) -> None:
        self._index, self._rows = index, rows
        content = index.manifest
        self.embedder, self.dimensions = content.embedder, content.dimensions
        self.scale: Floats | None = np.asarray(content.scale, np.float32)
        self.origin = f"{len(rows)} passages of an index"

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        for start in range(skip, len(self._rows), _BATCH):
            rows = self._rows[start : start + _BATCH]
            yield Batch([self._index.passage(row) for row in rows], *self._index.vectors(rows))


async def shard_index(source: Path, folder: Path, count: int, progress: Progress = silent) -> Sharded:
    """An index that is there, in `count` shards."""
    index = LocalIndex.open(source)
    if not index.manifest.finished or not index.manifest.vectors:
        raise IndexFault(f"{source} is not finished: not all its passages have vectors (run: wellread index embed {source})")
    members: list[list[int]] = [[] for _ in range(count)]
    for row in range(index.manifest.rows):
        if row not in index.removed:
            passage = index.passage(row)
            members[shard_of(passage.document or passage.id, count)].append(row)
    sharded.none_empty(sum(not rows for rows in members), count)
    with disk_errors(folder), writing(folder):
        for number, rows in enumerate(members):
            home = folder / SHARDS / shard_name(number)
            await build(home, RowsFeed(index, rows), BuildOptions(words=index.manifest.words))
            shard.write_beside(home, np.array(rows, np.int64))
            progress("shards", number + 1, count)
        shard.share_words([folder / SHARDS / shard_name(number) for number in range(count)])
        content = index.manifest
        made = Sharded(
            content.embedder,
            content.dimensions,
            content.words,
            tuple(sharded.entry_of(folder, number) for number in range(count)),
            sharded.next_generation(folder),
            origin=content.origin,
        )
        sharded.save(folder, made)
        sharded.tidy(folder, made)
    index.close()
    return made
