"""Changing an index: add documents, forget documents. Both end with one new manifest, so both are crash-safe."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from wellread.errors import IndexFault
from wellread.index import manifest
from wellread.index.build import BuildOptions, fill_segment
from wellread.index.feed import Batch, EmbeddingFeed, Feed
from wellread.index.folder import BUILDING, disk_errors, existing, place, start_over, tidy, unbroken, write_removed, writing
from wellread.index.following import Following, joined
from wellread.index.grow import Growing, Pace, first_to_merge
from wellread.index.ledger import Entry
from wellread.index.manifest import Listed, Manifest
from wellread.index.progress import Progress, silent
from wellread.index.quantize import Floats
from wellread.index.search import LocalIndex
from wellread.index.vectors import Embedding, computed, embed
from wellread.protocols import Embedder

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
                yield Batch(
                    segment.texts.passages(rows), segment.rows.stored(np.array(rows, np.int64)), segment.coarse.stored(rows)
                )
            base += segment.entry.rows
        async for batch in self._feed.batches(0, self.scale):
            for passage in batch.passages:
                if self._index.find_id(passage.id):
                    raise IndexFault(f"the id {passage.id!r} is in the index already: remove it first")
            yield batch


async def add(folder: Path, feed: Feed, options: BuildOptions | None = None, progress: Progress = silent) -> Manifest:
    """Append passages; searchable by their words at once, by meaning when this returns."""
    manifest.load(folder)  # before the lock: nothing is made where there is no index
    with disk_errors(folder), writing(folder):
        index = LocalIndex.open(folder)
        old = index.manifest
        if (feed.embedder, feed.dimensions) != (old.embedder, old.dimensions):
            raise IndexFault(
                f"{folder} was built with the embedder {old.embedder} ({old.dimensions} dimensions); "
                f"passages of {feed.embedder} ({feed.dimensions}) cannot join it"
            )
        if not old.complete:
            raise IndexFault(f"{folder} is unfinished: run its build again first")
        options = replace(options or BuildOptions(), words=old.words)
        if isinstance(feed, EmbeddingFeed):
            fresh = await _add_texts(folder, index, feed, options, progress)
        else:
            fresh = await _add_vectors(folder, index, feed, options, progress)
        shutil.rmtree(folder / BUILDING, ignore_errors=True)
        tidy(folder, fresh)
        return fresh


async def _add_texts(folder: Path, index: LocalIndex, feed: EmbeddingFeed, options: BuildOptions, progress: Progress) -> Manifest:
    feed.inputs.join(index.manifest.origin)
    content = replace(index.manifest, origin=joined(index.manifest.origin, feed.inputs.recorded))
    growing = Growing(folder, folder, content, Pace(options.checkpoint_seconds, options.threads))
    known = {name: entry for name, entry in growing.entries.items() if name and index.find_document(name)}
    first = first_to_merge(content)
    await growing.take_in(feed.inputs.read(known, progress), progress)
    await unbroken(growing.merge, first)
    if options.vectors:
        return await embed(folder, folder, feed.maker, Embedding(device=options.device), progress)
    return growing.content


async def _add_vectors(folder: Path, index: LocalIndex, feed: Feed, options: BuildOptions, progress: Progress) -> Manifest:
    old = index.manifest
    if not old.finished:
        raise IndexFault(f"{folder} has passages without vectors: run wellread index embed {folder} first")
    first = first_to_merge(old)
    work = start_over(folder / BUILDING)
    kept = old.segments[:first]
    options = replace(options, language=old.language if kept else None)
    made, _ = await fill_segment(work, old.scale, GrowingFeed(index, first, feed), options, progress)
    generation = old.generation + 1
    fresh = replace(
        old,
        segments=(*kept, place(folder, work / made.name, made, generation)),
        removed=_tombstones(folder, index, sum(entry.rows for entry in kept), generation),
        generation=generation,
        origin={**old.origin, **computed(feed, old)},
    )
    manifest.save(folder, fresh)
    return fresh


async def update(
    folder: Path, inputs: Following, embedder: Embedder | None, progress: Progress = silent, *, start: Manifest | None = None
) -> Changes:
    """Read again what has changed, take in what is new, forget what is gone; vectors only with an embedder.

    Where there is no index yet, `start` says how it begins.
    """
    with disk_errors(folder), writing(folder):
        growing = await unbroken(_begun, folder, start)
        before = dict(growing.entries)
        first = first_to_merge(growing.content)
        await growing.take_in(inputs.read(before, progress), progress)
        await unbroken(_forget_gone, growing, inputs)
        await unbroken(growing.merge, first)
        if embedder is not None and growing.content.rows:
            await embed(folder, folder, embedder, progress=progress)
        made = await unbroken(_tidied, folder, growing)
        return Changes.between(before, growing.entries, made)


def _begun(folder: Path, start: Manifest | None) -> Growing:
    return Growing(folder, folder, start if start is not None and not existing(folder) else manifest.load(folder))


def _forget_gone(growing: Growing, inputs: Following) -> None:
    growing.forget(inputs.gone(growing.entries))
    if inputs.rows is not None:
        growing.forget_rows(inputs.rows)
    growing.publish(complete=True)


def _tidied(folder: Path, growing: Growing) -> Manifest:
    shutil.rmtree(folder / BUILDING, ignore_errors=True)
    made = existing(folder) or growing.content
    tidy(folder, made)
    return made


@dataclass(frozen=True, slots=True)
class Changes:
    """What an update has done, by name of input."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    content: Manifest
    entries: dict[str, Entry]

    @classmethod
    def between(cls, before: Mapping[str, Entry], after: Mapping[str, Entry], content: Manifest) -> Changes:
        added = tuple(name for name in after if name not in before)
        both = ((before[name], now) for name, now in after.items() if name in before)
        changed = tuple(now.name for old, now in both if old.sha256 != now.sha256 or (now.table and old.changed != now.changed))
        return cls(added, changed, tuple(name for name in before if name not in after), content, dict(after))


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
        fresh = replace(index.manifest, removed=write_removed(folder, gone, generation), generation=generation)
        manifest.save(folder, fresh)
        shutil.rmtree(folder / BUILDING, ignore_errors=True)
        tidy(folder, fresh)
        return count


def _tombstones(folder: Path, index: LocalIndex, below: int, generation: int) -> Listed | None:
    """What stays forgotten: passages of merged segments were left out, so only the others' numbers remain."""
    return write_removed(folder, {row for row in index.removed if row < below}, generation)
