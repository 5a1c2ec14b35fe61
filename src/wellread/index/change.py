"""Changing an index: add documents, forget documents. Both end with one new manifest, so both are crash-safe."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wellread.errors import IndexFault
from wellread.index import manifest
from wellread.index.build import BUILDING, BuildOptions, computed, disk_errors, fill_segment, place, start_over, tidy, writing
from wellread.index.feed import Batch, Feed
from wellread.index.manifest import AS_SHIPPED, Manifest, Removed
from wellread.index.quantize import Floats
from wellread.index.search import LocalIndex
from wellread.index.write import Progress, silent

MERGE_BELOW = 100_000  # rows: smaller segments at the end are written again together with what is added
_STORED = 5_000  # rows copied at once


class GrowingFeed:
    """The kept passages of small segments, as they are stored, and then the new ones."""

    def __init__(self, index: LocalIndex, first: int, feed: Feed) -> None:
        self._index, self._first, self._feed = index, first, feed
        self.embedder, self.dimensions, self.origin = feed.embedder, feed.dimensions, feed.origin
        self.scale: Floats | None = np.asarray(index.manifest.scale, np.float32)

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        base = sum(entry.rows for entry in self._index.manifest.segments[: self._first])
        for segment in self._index.segments[self._first :]:
            for start in range(0, segment.entry.rows, _STORED):
                rows = [r for r in range(start, min(start + _STORED, segment.entry.rows)) if base + r not in self._index.removed]
                yield Batch(segment.texts.passages(rows), np.array(segment.rows.matrix[rows]), segment.coarse.stored(rows))
            base += segment.entry.rows
        async for batch in self._feed.batches(0, self.scale):
            for passage in batch.passages:
                if self._index.find_id(passage.id):
                    raise IndexFault(f"the id {passage.id!r} is in the index already: remove it first")
            yield batch


async def add(folder: Path, feed: Feed, options: BuildOptions | None = None, progress: Progress = silent) -> Manifest:
    """Append passages; searchable as soon as this returns."""
    manifest.load(folder)  # before the lock: nothing is made where there is no index
    with disk_errors(folder), writing(folder):
        index = LocalIndex.open(folder)
        old = index.manifest
        if (feed.embedder, feed.dimensions) != (old.embedder, old.dimensions):
            raise IndexFault(
                f"{folder} was built with the embedder {old.embedder} ({old.dimensions} dimensions); "
                f"passages of {feed.embedder} ({feed.dimensions}) cannot join it"
            )
        first = len(old.segments)
        while first and old.segments[first - 1].rows < MERGE_BELOW:
            first -= 1
        work = start_over(folder / BUILDING)
        options = replace(options or BuildOptions(), words=old.words)
        made, _ = await fill_segment(work, old.scale, GrowingFeed(index, first, feed), options, progress)
        kept = old.segments[:first]
        generation = old.generation + 1
        fresh = replace(
            old,
            segments=(*kept, place(folder, work / made.name, made, generation)),
            removed=_tombstones(folder, index, sum(entry.rows for entry in kept), generation),
            generation=generation,
            origin={**old.origin, **computed(feed, old.origin.get("arithmetic", AS_SHIPPED), old.rows)},
        )
        manifest.save(folder, fresh)
        tidy(folder, fresh)
        return fresh


def remove(folder: Path, names: Sequence[str]) -> int:
    """Forget documents or single passages, by document or id; how many passages went."""
    manifest.load(folder)  # before the lock: nothing is made where there is no index
    with disk_errors(folder), writing(folder):
        index = LocalIndex.open(folder)
        gone = set(index.removed)
        for name in names:
            rows = index.find_document(name) or index.find_id(name)
            if not rows:
                raise IndexFault(f"{folder} has no document and no passage {name!r}; nothing was removed")
            gone.update(rows)
        count = len(gone) - len(index.removed)
        generation = index.manifest.generation + 1
        fresh = replace(index.manifest, removed=_write_removed(folder, gone, generation), generation=generation)
        manifest.save(folder, fresh)
        tidy(folder, fresh)
        return count


def _tombstones(folder: Path, index: LocalIndex, below: int, generation: int) -> Removed | None:
    """What stays forgotten: passages of merged segments were left out, so only the others' numbers remain."""
    rest = {row for row in index.removed if row < below}
    return _write_removed(folder, rest, generation) if rest else None


def _write_removed(folder: Path, rows: set[int], generation: int) -> Removed:
    path = folder / f"removed-{generation:06d}.npy"
    np.save(path, np.array(sorted(rows), np.int64))
    return Removed(path.name, len(rows), manifest.checksum(path))
