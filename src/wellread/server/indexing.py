"""Reading collections: words first, which can be searched at once, vectors after, a few seconds at a time.

What has been read stays read, however a job ends: one that is begun again goes on where the last one was.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from wellread.errors import DamagedFile, WellreadError
from wellread.index import ledger
from wellread.index.build import update
from wellread.index.folder import BeingWritten, existing, writing
from wellread.index.following import Following
from wellread.index.inputs import InputOptions
from wellread.index.ledger import Entry
from wellread.index.manifest import Manifest
from wellread.index.progress import Gauge
from wellread.index.vectors import Embedding, embed
from wellread.parts import Parts
from wellread.protocols import Embedder
from wellread.server import logs, viewer
from wellread.server.collections import Collection, Collections

_SLICE = 3.0  # seconds of making vectors before looking whether documents have come
_PATIENCE = 0.5  # seconds between two looks at an index that another process writes


@dataclass(slots=True)
class Job:
    """The reading of one collection, going on or over."""

    gauge: Gauge = field(default_factory=Gauge)
    again: bool = True  # there is something to read, again or still
    problem: str = ""
    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.task is not None and not self.task.done()


class Indexing:
    """All jobs of this process."""

    def __init__(self, collections: Collections, kit: Parts) -> None:
        self._collections, self._kit = collections, kit
        self.jobs: dict[str, Job] = {}
        self._leaving: Counter[str] = Counter()  # those that are being removed
        self._turn = asyncio.Lock()  # one collection at a time: reading one takes all processors already

    def begin(self, one: Collection) -> None:
        """Bring it up to date; a job that is at it already will look again. One that is being removed stays as it is."""
        if one.slug in self._leaving:
            return
        one.mark_stopped(False)
        job = self.jobs.get(one.slug)
        if job is not None and job.running:
            job.again = True
            return
        job = self.jobs[one.slug] = Job(entries=job.entries if job else {})
        job.task = asyncio.create_task(self._work(one, job), name=f"collection {one.slug}")

    def resume(self) -> None:
        """After a start: go on with whatever was not finished, unless somebody had stopped it."""
        for one in self._collections.everything():
            if not one.stopped:
                self.begin(one)

    async def stop(self, one: Collection) -> None:
        """End the job; what it has read can be searched."""
        one.mark_stopped(True)
        await self._end(one.slug)

    @asynccontextmanager
    async def without(self, one: Collection) -> AsyncGenerator[None]:
        """End the job of a collection that goes away in this block; none is begun until it has: it would make its folder anew."""
        self._leaving[one.slug] += 1
        try:
            await self._end(one.slug)
            self.jobs.pop(one.slug, None)
            yield
        finally:
            self._leaving -= Counter([one.slug])

    async def aclose(self) -> None:
        for slug in list(self.jobs):
            await self._end(slug)

    def job(self, one: Collection) -> Job | None:
        return self.jobs.get(one.slug)

    def entries(self, one: Collection) -> Mapping[str, Entry]:
        """What has been read of it, by document. Blocks."""
        content = existing(one.index)
        job = self.jobs.get(one.slug)
        known: Mapping[str, Entry] = job.entries if job is not None else {}
        if content is None:
            return known
        try:
            return {**known, **ledger.load(one.index, content.read)}
        except DamagedFile:  # replaced while we looked
            return known

    async def _end(self, slug: str) -> None:
        job = self.jobs.get(slug)
        if job is not None and job.task is not None and job.running:
            job.task.cancel()
            await asyncio.wait([job.task])

    async def _work(self, one: Collection, job: Job) -> None:
        try:
            embedder = await asyncio.to_thread(self._kit.embedder)
            finished = False
            while (job.again or not finished) and one.there:
                async with self._turn:
                    finished = await self._step(one, job, embedder)
        except WellreadError as problem:
            job.problem = str(problem).replace(f"{one.index}", "the index")
            logs.fault("collection not read", problem)
        except Exception as problem:
            job.problem = "something unexpected went wrong"
            logs.fault("collection not read", problem)
        finally:
            if not one.there:
                await asyncio.to_thread(self._collections.clear, one)

    async def _step(self, one: Collection, job: Job, embedder: Embedder) -> bool:
        """Read what is new, or make some vectors; whether that was all."""
        try:
            if job.again:
                job.again = False
                content = await self._words(one, job, embedder)
            else:
                how = Embedding(until=time.monotonic() + _SLICE, turn=lambda: writing(one.index))
                content = await embed(one.index, one.index, embedder, how, job.gauge)
        except BeingWritten:  # another process that serves the same folder
            job.again = True
            await asyncio.sleep(_PATIENCE)
            return False
        return content.finished or not content.rows

    async def _words(self, one: Collection, job: Job, embedder: Embedder) -> Manifest:
        items = await asyncio.to_thread(self._collections.documents, one)
        how = InputOptions(unreadable=[], address=lambda name: viewer.document(one.slug, name))
        following = Following((str(one.root),), how, found=items)
        if (old := existing(one.index)) is not None and (old.embedder, old.dimensions) != (embedder.name, embedder.dimensions):
            await asyncio.to_thread(_clear, one.index)  # its vectors say nothing to this embedder
        start = Manifest(embedder.name, embedder.dimensions, (), "sign", (), generation=0, origin=following.recorded)
        made = await update(one.index, following, None, job.gauge, start=start)
        job.entries = made.entries
        return made.content


def _clear(index: Path) -> None:
    with suppress(FileNotFoundError), writing(index):
        shutil.rmtree(index)
