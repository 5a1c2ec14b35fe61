"""An index that can be searched while it is filled: texts and words first, vectors after them.

    passages ─► word segments      published every few seconds, each with one new manifest
             ─► one segment        when all is read, so that word statistics and numbers are those of one build
             ─► vectors            appended to it batch by batch: see `vectors`

A build that is interrupted goes on behind what its manifest names. An index that is there already and finished stays in
use: the new one's manifest lies in `building/` until it is complete, and then takes the other's place.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from wellread.errors import IndexFault, WellreadError
from wellread.index import ledger, manifest
from wellread.index.coarse import CODES
from wellread.index.folder import BUILDING, existing, place, start_over, tidy, unbroken, write_removed
from wellread.index.keys import hashed
from wellread.index.ledger import Entry, Read
from wellread.index.manifest import Manifest, Segment
from wellread.index.progress import Progress, silent
from wellread.index.rows import FLOATS, ROWS, Numbers
from wellread.index.seal import sealed
from wellread.index.search import LocalIndex, SegmentReader
from wellread.index.write import BuildOptions, SegmentWriter
from wellread.types import Passage

MERGE_BELOW = 100_000  # rows: smaller segments at the end are written again together with what is added
_STORED = 5_000  # rows copied at once
_SOON, _SHARE = 0.5, 0.2  # a part is published after half a second, later after a fifth of the time so far
_WORK = "part"


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
                    if self._is_due():
                        await unbroken(self.publish)
        except BaseException:
            with suppress(WellreadError, OSError):
                await unbroken(self.publish)  # stopped or failed: what has been read stays
            if self._writer is not None:
                self._writer.close()
            raise
        await unbroken(self.publish)

    def forget(self, entries: Sequence[Entry]) -> None:
        """Inputs that are no longer there."""
        for entry in entries:
            self._gone.update(self._index.find_document(entry.name))
            del self.entries[entry.name]
            self._changed = True

    def forget_rows(self, but: set[int]) -> None:
        """Passages of tables whose hashed ids are not among these."""
        for row in range(self.content.rows):
            passage = self._index.passage(row)
            if hashed(passage.id) not in but and (passage.document or passage.id) not in self.entries:
                self._gone.add(row)
                self._changed = True

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

    def _is_due(self) -> bool:
        now = time.monotonic()
        wait = min(self._options.checkpoint_seconds, max(_SOON, _SHARE * (now - self._begun)))
        return self._changed and now - self._published >= wait

    def _finished(self, writer: SegmentWriter, language: str | None) -> Segment:
        try:
            return writer.finish(np.zeros(0, np.float32), replace(self._options, words=self.content.words, language=language))
        finally:
            writer.close()

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
        for number in segment.ids.among(hashes):
            if not gone >= set(index.find_id(passages[number].id)):
                raise IndexFault(f"the id {passages[number].id!r} is in the index already: remove it first")


def first_to_merge(content: Manifest) -> int:
    """The segments at the end that are small, and those that an unfinished build has left."""
    first = len(content.segments) if content.complete else 0
    while first and content.segments[first - 1].rows < MERGE_BELOW:
        first -= 1
    return first
