"""Building and updating an index. With vectors at hand: into `building/`, then one move and one new manifest. Else words first:
see `grow`."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from wellread.errors import DamagedFile, IndexFault
from wellread.index import manifest
from wellread.index.feed import Batch, EmbeddingFeed, Feed
from wellread.index.folder import BUILDING, disk_errors, existing, place, start_over, tidy, unbroken, write_removed, writing
from wellread.index.following import Following, joined
from wellread.index.grow import Growing, first_to_merge, refuse_known
from wellread.index.ledger import Entry
from wellread.index.manifest import Manifest, Segment
from wellread.index.progress import Progress, silent
from wellread.index.search import LocalIndex
from wellread.index.vectors import Embedding, VectorLog, embed
from wellread.index.write import BuildOptions, SegmentWriter
from wellread.protocols import Embedder


async def build(folder: Path, feed: Feed, options: BuildOptions | None = None, progress: Progress = silent) -> Manifest:
    """Fill `folder` with a new index; a finished one that is there stays until the new one is complete.

    Passages that are yet to be embedded can be searched by their words meanwhile.
    """
    options = options or BuildOptions()
    with disk_errors(folder), writing(folder):
        if isinstance(feed, EmbeddingFeed):
            made = await _words_first(folder, feed, options, progress)
        else:
            made = await _with_vectors(folder, feed, options, progress)
        return _tidied(folder, made)


async def _words_first(folder: Path, feed: EmbeddingFeed, options: BuildOptions, progress: Progress) -> Manifest:
    live, begun = existing(folder), _unfinished(folder, feed, options)
    if begun is None:
        start_over(folder / BUILDING)
        begun = folder / BUILDING if live and live.rows else folder, _empty(feed, options, live, feed.inputs.recorded)
    home, content = begun
    growing = Growing(folder, home, content, options)
    await growing.take_in(feed.inputs.read(growing.entries, progress), progress)
    if not growing.passages:
        shutil.rmtree(folder / BUILDING, ignore_errors=True)
        raise IndexFault(f"{feed.origin}: there is no passage in it")
    await unbroken(growing.merge, 0)
    growing.publish(complete=True)
    if options.vectors:
        await embed(folder, home, feed.maker, Embedding(device=options.device), progress)
    made = manifest.load(home)
    if home != folder:
        manifest.save(folder, made)
    return made


async def _with_vectors(folder: Path, feed: Feed, options: BuildOptions, progress: Progress) -> Manifest:
    work, old = folder / BUILDING, existing(folder)
    content = _empty(feed, options, old, {})
    if not options.resume or _unfinished(folder, feed, options) is None:
        manifest.save(folder, content, start_over(work))
    segment = await fill_segment(work, content.scale, feed, options, progress)
    generation = content.generation + 1
    segments = (place(folder, work / segment.name, segment, generation),)
    made = replace(content, segments=segments, complete=True, generation=generation)
    manifest.save(folder, made)
    return made


async def fill_segment(
    work: Path,
    scale: Sequence[float],
    feed: Feed,
    options: BuildOptions,
    progress: Progress = silent,
    beside: LocalIndex | None = None,
) -> Segment:
    """Stream a feed into one segment under `work`; of an index that it is to stand `beside` no id may come again."""
    writer, known = SegmentWriter(work / "segment", feed.dimensions), np.asarray(scale, np.float32)
    try:
        saved = time.monotonic()
        async with aclosing(_ahead(feed.batches(writer.rows, known))) as batches:
            async for batch in batches:
                if beside is not None:
                    refuse_known(beside, batch.passages, beside.removed)
                await asyncio.to_thread(writer.append, batch.passages, batch.rows, batch.codes)
                progress("passages", writer.rows, None)
                if time.monotonic() - saved >= options.checkpoint_seconds:
                    await asyncio.to_thread(writer.checkpoint)
                    saved = time.monotonic()
        if writer.rows == 0:
            shutil.rmtree(work, ignore_errors=True)
            raise IndexFault(f"{feed.origin}: there is no passage in it")
        return await asyncio.to_thread(writer.finish, known, options, progress)
    finally:
        writer.close()


async def _ahead(batches: AsyncIterator[Batch]) -> AsyncGenerator[Batch]:
    """The same batches; the next one is made while one is written."""
    coming = asyncio.ensure_future(anext(batches, None))
    try:
        while (batch := await coming) is not None:
            coming = asyncio.ensure_future(anext(batches, None))
            yield batch
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


def _unfinished(folder: Path, feed: Feed, options: BuildOptions) -> tuple[Path, Manifest] | None:
    """A build of the same that was interrupted: where its manifest lies, and what it says already."""
    wanted = {"embedder": feed.embedder, "dimensions": feed.dimensions, "origin": feed.origin, "words": options.words}
    for home in (folder / BUILDING, folder):
        found = existing(home)
        if found is None or (home == folder and (found.finished or (found.complete and not options.vectors))):
            continue
        has = {**asdict(found), "origin": found.origin.get("inputs")}
        other = next((key for key, value in wanted.items() if has[key] != value), None)
        if other is None and _is_whole(folder, found):
            return home, found
        if options.resume and other is not None:
            raise IndexFault(f"the unfinished build in {folder} has another {other} ({has[other]!r}): build without --resume")
    return None


def _empty(feed: Feed, options: BuildOptions, live: Manifest | None, origin: Mapping[str, str]) -> Manifest:
    """What a build begins with, beside the index that is there."""
    return Manifest(
        embedder=feed.embedder,
        dimensions=feed.dimensions,
        scale=() if feed.scale is None else tuple(float(x) for x in feed.scale),
        codes="sign",
        segments=(),
        words=options.words,
        generation=live.generation if live else 0,
        complete=False,
        origin={"inputs": feed.origin, **origin},
    )


def _is_whole(folder: Path, content: Manifest) -> bool:
    """Whether what an unfinished build has named is there; else it begins again."""
    try:
        LocalIndex(folder, content)
    except DamagedFile:
        return False
    return True


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
        return _tidied(folder, fresh)


async def _add_texts(folder: Path, index: LocalIndex, feed: EmbeddingFeed, options: BuildOptions, progress: Progress) -> Manifest:
    feed.inputs.join(index.manifest.origin)
    content = replace(index.manifest, origin=joined(index.manifest.origin, feed.inputs.recorded))
    growing = Growing(folder, folder, content, options)
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
    work, generation = start_over(folder / BUILDING), old.generation + 1
    options = replace(options, language=old.language)
    made = await fill_segment(work, old.scale, feed, options, progress, index)
    segments = (*old.segments, place(folder, work / made.name, made, generation))
    fresh = replace(old, segments=segments, generation=generation)
    manifest.save(folder, fresh)
    growing = Growing(folder, folder, fresh, options)
    await unbroken(growing.merge, first_to_merge(old))
    return await unbroken(VectorLog(folder, folder, options.device).complete, growing.content, progress)


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
        made = await unbroken(_tidied, folder, existing(folder) or growing.content)
        return Changes.between(before, growing.entries, made)


def _begun(folder: Path, start: Manifest | None) -> Growing:
    return Growing(folder, folder, start if start is not None and not existing(folder) else manifest.load(folder))


def _forget_gone(growing: Growing, inputs: Following) -> None:
    growing.forget(inputs.gone(growing.entries))
    if inputs.rows is not None:
        growing.forget_rows(inputs.rows)
    growing.publish(complete=True)


def _tidied(folder: Path, made: Manifest) -> Manifest:
    """Without what work in progress has left, and what no manifest names any more."""
    shutil.rmtree(folder / BUILDING, ignore_errors=True)
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
        _tidied(folder, fresh)
        return count
