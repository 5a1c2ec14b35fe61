"""Making an index: into `building/`, then one move and one new manifest."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from wellread.errors import DamagedFile, IndexFault
from wellread.index import manifest
from wellread.index.feed import Batch, Feed
from wellread.index.manifest import AS_SHIPPED, Manifest, Segment, replace_file, sync_folder
from wellread.index.quantize import Floats
from wellread.index.texts import TEXTS
from wellread.index.write import Device, Progress, SegmentWriter, silent
from wellread.protocols import Computed

BUILDING, SEGMENTS = "building", "segments"
_PLAN = "plan.json"
_CHECKPOINT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build."""

    words: bool = True
    resume: bool = False
    threads: int = 1  # of the word index; more give other (equally good) files
    device: Device = "cpu"  # where lists are trained and rows assigned to them
    checkpoint_seconds: float = _CHECKPOINT_SECONDS


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an unfinished build was told, so that it is only taken up with the same."""

    embedder: str
    dimensions: int
    origin: str
    words: bool
    scale: tuple[float, ...] | None = None


async def build(folder: Path, feed: Feed, options: BuildOptions | None = None, progress: Progress = silent) -> Manifest:
    """Fill `folder` with a new index; an index that is there stays until the new one is complete."""
    options = options or BuildOptions()
    with disk_errors(folder), writing(folder):
        work = folder / BUILDING
        plan = _Plan(feed.embedder, feed.dimensions, feed.origin, options.words)
        plan = _begin(work, plan, options.resume)
        segment, scale = await fill_segment(work, plan.scale, feed, options, progress)
        old = _existing(folder)
        generation = old.generation + 1 if old else 1
        made = Manifest(
            embedder=feed.embedder,
            dimensions=feed.dimensions,
            scale=tuple(float(x) for x in scale),
            codes="sign",
            segments=(place(folder, work / segment.name, segment, generation),),
            words=options.words,
            generation=generation,
            origin={"inputs": feed.origin} | computed(feed),
        )
        manifest.save(folder, made)
        tidy(folder, made)
    return made


def computed(feed: Feed, before: str = AS_SHIPPED, rows: int = 0) -> dict[str, str]:
    """How vectors were computed, where not as shipped; the ways of one model go together, and all that were used are named."""
    now = feed.recipe if isinstance(feed, Computed) else ""
    ways = {now or AS_SHIPPED} | ({*before.split(", ")} if rows else set[str]())
    return {"arithmetic": ", ".join(sorted(ways))} if ways != {AS_SHIPPED} else {}


async def fill_segment(
    work: Path, scale: tuple[float, ...] | None, feed: Feed, options: BuildOptions, progress: Progress = silent
) -> tuple[Segment, Floats]:
    """Stream a feed into one segment under `work`."""
    writer = SegmentWriter(work / "segment", feed.dimensions)
    try:
        known = np.asarray(scale, np.float32) if scale is not None else None
        saved = time.monotonic()
        async with aclosing(_ahead(feed.batches(writer.rows, known))) as batches:
            async for batch in batches:
                if known is None and feed.scale is not None:
                    known = feed.scale
                    _settle(work / _PLAN, known)
                await asyncio.to_thread(writer.append, batch.passages, batch.rows, batch.codes)
                progress("passages", writer.rows, None)
                if time.monotonic() - saved >= options.checkpoint_seconds:
                    await asyncio.to_thread(writer.checkpoint)
                    saved = time.monotonic()
        if writer.rows == 0:
            shutil.rmtree(work, ignore_errors=True)
            raise IndexFault(f"{feed.origin}: there is no passage in it")
        final = known if known is not None else feed.scale
        assert final is not None
        segment = await asyncio.to_thread(
            writer.finish, final, words=options.words, threads=options.threads, device=options.device, progress=progress
        )
        return segment, final
    finally:
        writer.close()


async def _ahead(batches: AsyncIterator[Batch]) -> AsyncGenerator[Batch]:
    """The same batches; the next one is made while one is written."""
    coming = asyncio.ensure_future(_next(batches))
    try:
        while (batch := await coming) is not None:
            coming = asyncio.ensure_future(_next(batches))
            yield batch
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def _next(batches: AsyncIterator[Batch]) -> Batch | None:
    return await anext(batches, None)


def place(folder: Path, made: Path, segment: Segment, generation: int) -> Segment:
    """Move a finished segment to where the manifest will look for it."""
    digest = segment.files[TEXTS].sha256[:12]
    target = folder / SEGMENTS / f"{generation:06d}-{digest}"
    target.parent.mkdir(exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)  # left by a build that was killed between this and the manifest
    made.rename(target)
    for notes in target.glob("*.tmp"):  # kept until here, so that a build killed in its last step can go on
        notes.unlink()
    sync_folder(target.parent)
    return Segment(target.name, segment.rows, segment.lists, segment.files)


def tidy(folder: Path, current: Manifest) -> None:
    """Delete what the manifest no longer names. Readers that have it open keep it."""
    shutil.rmtree(folder / BUILDING, ignore_errors=True)
    named = {segment.name for segment in current.segments}
    for path in (folder / SEGMENTS).iterdir():
        if path.name not in named:
            shutil.rmtree(path, ignore_errors=True)
    for path in folder.glob("removed-*.npy"):
        if current.removed is None or path.name != current.removed.name:
            path.unlink(missing_ok=True)


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """One writer at a time; the lock goes with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / ".writing.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IndexFault(f"{folder} is being written by another process") from None
        yield
    finally:
        os.close(handle)


@contextmanager
def disk_errors(folder: Path) -> Generator[None]:
    """A full disk or a read-only folder becomes one clear line; what was there is untouched."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise IndexFault(f"{folder} cannot be written: {reason}; what was there before is unchanged") from problem


def start_over(work: Path) -> Path:
    """An empty place to work in."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


def _begin(work: Path, plan: _Plan, resume: bool) -> _Plan:
    path = work / _PLAN
    if not resume or not path.exists():
        _write_plan(start_over(work) / _PLAN, plan)
        return plan
    try:
        found = cast("dict[str, Any]", json.loads(path.read_bytes()))
    except ValueError:
        raise DamagedFile(f"{path} is damaged: build again without --resume") from None
    wanted: Mapping[str, object] = {
        "embedder": plan.embedder,
        "dimensions": plan.dimensions,
        "origin": plan.origin,
        "words": plan.words,
    }
    for key, value in wanted.items():
        if found.get(key) != value:
            raise IndexFault(f"the unfinished build in {work} has another {key} ({found.get(key)!r}): build without --resume")
    scale = found.get("scale")
    return _Plan(plan.embedder, plan.dimensions, plan.origin, plan.words, tuple(scale) if scale else None)


def _settle(path: Path, scale: Floats) -> None:
    found = cast("dict[str, Any]", json.loads(path.read_bytes()))
    found["scale"] = [float(x) for x in scale]
    replace_file(path, json.dumps(found).encode())


def _write_plan(path: Path, plan: _Plan) -> None:
    fields = {"embedder": plan.embedder, "dimensions": plan.dimensions, "origin": plan.origin, "words": plan.words}
    replace_file(path, json.dumps(fields).encode())


def _existing(folder: Path) -> Manifest | None:
    try:
        return manifest.load(folder)
    except (IndexFault, DamagedFile):
        return None
