"""Write lock and folder of an index: one writer at a time, files made first and named last."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from wellread.errors import DamagedFile, IndexFault
from wellread.index import manifest
from wellread.index.manifest import SEGMENTS, Listed, Manifest, Segment, sync
from wellread.index.rows import FLOATS
from wellread.index.texts import TEXTS

T = TypeVar("T")
BUILDING = "building"


@contextmanager
def writing(folder: Path) -> Generator[None]:
    """One writer at a time; the lock goes with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(folder / ".writing.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as problem:
        if problem.errno != errno.ELOOP:
            raise
        raise IndexFault(f"{folder} cannot be written: its lock is a link that leads elsewhere") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BeingWritten(f"{folder} is being written by another process") from None
        yield
    finally:
        os.close(handle)


class BeingWritten(IndexFault):
    """Another process has the lock."""


@contextmanager
def disk_errors(folder: Path) -> Generator[None]:
    """A full disk or a read-only folder becomes one clear line; what was there is untouched."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise IndexFault(f"{folder} cannot be written: {reason}; what was there before is unchanged") from problem


async def unbroken(work: Callable[..., T], *arguments: object) -> T:
    """Writing in a thread. Who is cancelled meanwhile waits for its end: two must not write at once."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def start_over(work: Path) -> Path:
    """An empty place to work in."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


def existing(home: Path) -> Manifest | None:
    """The manifest in a folder, where there is one that can be read."""
    try:
        return manifest.load(home)
    except (IndexFault, DamagedFile):
        return None


def place(folder: Path, made: Path, segment: Segment, generation: int) -> Segment:
    """Move a finished segment to where the manifest will look for it."""
    digest = segment.files[TEXTS].sha256[:12]
    target = folder / SEGMENTS / f"{generation:06d}-{digest}"
    target.parent.mkdir(exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)  # left by a build that was killed between this and the manifest
    made.rename(target)
    for notes in target.glob("*.tmp"):  # kept until here, so that a build killed in its last step can go on
        notes.unlink()
    sync(target.parent)
    return replace(segment, name=target.name)


def write_removed(folder: Path, rows: set[int], generation: int) -> Listed | None:
    """The numbers of forgotten passages as a file, where there are any."""
    if not rows:
        return None
    path = folder / f"removed-{generation:06d}.npy"
    np.save(path, np.array(sorted(rows), np.int64))
    return Listed(path.name, len(rows), manifest.checksum(path))


def tidy(folder: Path, *current: Manifest) -> None:
    """Delete what none of these manifests names. Readers that have it open keep it."""
    segments = {segment.name: segment for content in current for segment in content.segments}
    for path in (folder / SEGMENTS).glob("*"):
        if path.name not in segments:
            gone = path.with_suffix(".gone")
            with suppress(OSError):  # of one that a tidying before this left
                path.rename(gone)  # at once, so that who opens it now misses all of it
            shutil.rmtree(gone, ignore_errors=True)
        elif FLOATS not in segments[path.name].files and segments[path.name].vectors:
            (path / FLOATS).unlink(missing_ok=True)
    listed = {entry.name for content in current for entry in (content.removed, content.read) if entry is not None}
    for path in (*folder.glob("removed-*.npy"), *folder.glob("inputs-*.jsonl")):
        if path.name not in listed:
            path.unlink(missing_ok=True)
