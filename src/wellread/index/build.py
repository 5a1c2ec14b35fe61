"""Building and updating an index, which can be searched while it is filled: texts and words first, vectors after them.

    passages ─► word segments      published every few seconds, each with one new manifest
             ─► one segment        when all is read, so that word statistics and numbers are those of one build
             ─► vectors            appended to it batch by batch: see `vectors`

A build that is interrupted goes on behind what its manifest names. An index that is there already and finished stays in
use: the new one's manifest lies in `building/` until it is complete, and then takes the other's place. With vectors at hand all
goes into `building/`, then one move and one new manifest.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing, closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from wellread.errors import DamagedFile, IndexFault, WellreadError
from wellread.index import ledger, manifest
from wellread.index.coarse import CODES
from wellread.index.feed import Batch, EmbeddingFeed, Feed
from wellread.index.folder import BUILDING, disk_errors, existing, place, start_over, tidy, unbroken, write_removed, writing
from wellread.index.following import Following, joined
from wellread.index.keys import hashed
from wellread.index.ledger import Entry, Read
from wellread.index.manifest import Manifest, Segment
from wellread.index.progress import Progress, silent
from wellread.index.rows import FLOATS, ROWS, Numbers
from wellread.index.seal import sealed
from wellread.index.search import LocalIndex, SegmentReader
from wellread.index.vectors import Embedding, VectorLog, embed
from wellread.index.write import BuildOptions, SegmentWriter
from wellread.protocols import Embedder
from wellread.types import Passage

MERGE_BELOW = 100_000  # rows: smaller segments at the end are written again together with what is added
_STORED = 5_000  # rows copied at once
_SOON, _SHARE = 0.5, 0.2  # a part is published after half a second, later after a fifth of the time so far
_WORK = "part"


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
    known = np.asarray(scale, np.float32)
    with closing(SegmentWriter(work / "segment", feed.dimensions)) as writer:
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
    """The empty manifest of a build, beside the index that is there."""
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
        growing = await unbroken(lambda: Growing(folder, folder, (None if existing(folder) else start) or manifest.load(folder)))
        before = dict(growing.entries)
        first = first_to_merge(growing.content)
        await growing.take_in(inputs.read(before, progress), progress)
        await unbroken(growing.forget, inputs)
        await unbroken(growing.merge, first)
        if embedder is not None and growing.content.rows:
            await embed(folder, folder, embedder, progress=progress)
        made = await unbroken(_tidied, folder, existing(folder) or growing.content)
        return Changes.between(before, growing.entries, made)


def _tidied(folder: Path, made: Manifest) -> Manifest:
    """Without what work in progress has left, and what no manifest names any more."""
    shutil.rmtree(folder / BUILDING, ignore_errors=True)
    tidy(folder, made)
    return made


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes by an update, by name of input."""

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


class Growing:
    """Takes in what was read and publishes it. One writer at a time: the caller holds the lock."""

    def __init__(self, folder: Path, home: Path, content: Manifest, options: BuildOptions | None = None) -> None:
        self.folder, self.home, self.content = folder, home, content
        self.entries = ledger.load(folder, content.read)
        self._options = options or BuildOptions()
        self._index = LocalIndex(folder, content)
        self._gone = set(self._index.removed)
        self._writer: SegmentWriter | None = None
        self._begun = self._published = time.monotonic()
        self._changed = False

    @property
    def passages(self) -> int:
        """That are in, published or not."""
        waiting = self._writer.rows if self._writer else 0
        return self.content.rows - len(self._gone) + waiting

    async def take_in(self, reads: AsyncGenerator[Read], progress: Progress = silent) -> None:
        """Everything that is read; published now and then, and when it ends, however it ends."""
        try:
            async with aclosing(reads) as arriving:
                async for read in arriving:
                    await unbroken(self._take, read)
                    progress("passages", self.passages, None)
                    now = time.monotonic()
                    wait = min(self._options.checkpoint_seconds, max(_SOON, _SHARE * (now - self._begun)))
                    if self._changed and now - self._published >= wait:
                        await unbroken(self.publish)
        except BaseException:
            with suppress(WellreadError, OSError):
                await unbroken(self.publish)  # stopped or failed: what has been read stays
            if self._writer is not None:
                self._writer.close()
            raise
        await unbroken(self.publish)

    def forget(self, inputs: Following) -> None:
        """Leave out documents that are no longer there, and passages whose rows have gone from tables that were read again."""
        for entry in inputs.gone(self.entries):
            self._gone.update(self._index.find_document(entry.name))
            del self.entries[entry.name]
            self._changed = True
        if (known := inputs.rows) is not None:
            for row in range(self.content.rows):
                passage = self._index.passage(row)
                if hashed(passage.id) not in known and (passage.document or passage.id) not in self.entries:
                    self._gone.add(row)
                    self._changed = True
        self.publish(complete=True)

    def publish(self, *, complete: bool | None = None) -> None:
        """Name what has come since the last time: from here on it is found."""
        if not self._changed and complete in (None, self.content.complete):
            return
        if not self.content.segments and not (self._writer and self._writer.rows):
            return  # an index of nothing is none
        generation = self.content.generation + 1
        segments = self.content.segments
        if self._writer is not None and self._writer.rows:
            made = self._finished(self._writer, self.content.language)
            segments = (*segments, place(self.folder, self.folder / BUILDING / _WORK, made, generation))
        self._writer = None
        self._name(segments, self._gone, generation, self.content.complete if complete is None else complete)
        self._published = time.monotonic()

    def merge(self, first: int) -> None:
        """Write the segments from `first` on as one, without forgotten passages; nothing to do where that is so already."""
        below = sum(segment.rows for segment in self.content.segments[:first])
        if len(self.content.segments) - first < 2 and not any(row >= below for row in self._gone):
            return
        work = start_over(self.folder / BUILDING / _WORK)
        writer = SegmentWriter(work, self.content.dimensions, vectors=False)
        counted: list[tuple[SegmentReader, Numbers]] = []
        gone = np.array(sorted(self._gone), np.int64)
        for segment in self._index.segments[first:]:
            kept = np.setdiff1d(np.arange(segment.entry.rows), gone - segment.base, assume_unique=True)
            for start in range(0, len(kept), _STORED):
                writer.append(segment.texts.passages(kept[start : start + _STORED].tolist()))
            counted.append((segment, kept))
        generation = self.content.generation + 1
        rest = {row for row in self._gone if row < below}
        segments = self.content.segments[:first]
        if writer.rows:
            vectors = self._copy_vectors(work, counted)
            finished = self._finished(writer, self.content.language if first else None)
            made = sealed(work, replace(finished, vectors=vectors))
            segments = (*segments, place(self.folder, work, made, generation))
        writer.close()
        self._name(segments, rest, generation, self.content.complete)

    def _copy_vectors(self, work: Path, counted: Sequence[tuple[SegmentReader, Numbers]]) -> int:
        """The vectors of the kept passages, up to the first that has none; how many."""
        names = (ROWS, CODES) if self.content.scale else (FLOATS,)
        count = 0
        outs = {name: (work / name).open("wb") for name in names}
        for segment, kept in counted:
            have = kept[kept < segment.entry.vectors]
            for start in range(0, len(have), _STORED):
                rows = have[start : start + _STORED]
                outs[names[0]].write(segment.rows.stored(rows).tobytes())
                if CODES in outs:
                    outs[CODES].write(segment.coarse.stored(rows.tolist()).tobytes())
            count += len(have)
            if len(have) < len(kept):
                break
        for name, out in outs.items():
            out.close()
            if not count:
                (work / name).unlink()
        return count

    def _take(self, read: Read) -> None:
        gone = {row for name in read.forget for row in self._index.find_document(name)}
        passages = read.passages
        if read.compare:
            there = {passage.id: rows for passage in passages if (rows := [*{*self._index.find_id(passage.id)} - self._gone])}
            same = {name for name, rows in there.items() if self._index.passage(rows[0]) in passages}
            gone |= {row for name, rows in there.items() if name not in same for row in rows}
            passages = [passage for passage in passages if passage.id not in same]
        if passages:
            refuse_known(self._index, passages, self._gone | gone)
            if self._writer is None:
                work = start_over(self.folder / BUILDING / _WORK)
                self._writer = SegmentWriter(work, self.content.dimensions, vectors=False)
            self._writer.append(passages)
        self._gone |= gone
        self.entries[read.entry.name] = read.entry
        self._changed = True

    def _finished(self, writer: SegmentWriter, language: str | None) -> Segment:
        with closing(writer):
            return writer.finish(np.zeros(0, np.float32), replace(self._options, words=self.content.words, language=language))

    def _name(self, segments: tuple[Segment, ...], gone: set[int], generation: int, complete: bool) -> None:
        before = self.content
        self.content = replace(
            before,
            segments=segments,
            removed=write_removed(self.folder, gone, generation),
            read=ledger.save(self.folder, self.entries, generation),
            generation=generation,
            complete=complete,
        )
        manifest.save(self.folder, self.content, self.home)
        live = existing(self.folder)
        # Readers that have just opened the manifest before this one still look for its files.
        tidy(self.folder, self.content, before, *((live,) if live else ()))
        self._index, self._gone, self._changed = LocalIndex(self.folder, self.content), set(gone), False


def refuse_known(index: LocalIndex, passages: Sequence[Passage], gone: AbstractSet[int]) -> None:
    """Ids are unique, but for those of forgotten rows."""
    hashes = np.array([hashed(passage.id) for passage in passages], np.uint64)
    for segment in index.segments:
        for number in segment.tables["id"].among(hashes):
            if not gone >= set(index.find_id(passages[number].id)):
                raise IndexFault(f"the id {passages[number].id!r} is in the index already: remove it first")


def first_to_merge(content: Manifest) -> int:
    """The segments at the end that are small, and those that an unfinished build has left."""
    first = len(content.segments) if content.complete else 0
    while first and content.segments[first - 1].rows < MERGE_BELOW:
        first -= 1
    return first
