"""Vectors that come after the words: appended to their segments batch by batch, each batch named by a new manifest.

The bytes of a row have a scale that the first few thousand vectors decide. Until there are as many they are kept as
floats, which can be searched too; then all are written as bytes and the floats go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from wellread.errors import IndexFault
from wellread.index import feed, manifest
from wellread.index.coarse import CODES
from wellread.index.folder import unbroken
from wellread.index.manifest import AS_SHIPPED, SEGMENTS, FileSum, Manifest, RunningSum, Segment, checksums
from wellread.index.progress import Progress, silent
from wellread.index.quantize import Floats, calibrate, check, to_bytes, to_codes
from wellread.index.rows import FLOATS, ROWS
from wellread.index.seal import sealed
from wellread.index.search import LocalIndex
from wellread.index.write import Device, is_large, write_lists
from wellread.protocols import Computed, Embedder

_NAMED_EVERY = 1.0  # seconds between two manifests, where batches are quicker than that


@dataclass(frozen=True, slots=True)
class Embedding:
    """How vectors are made."""

    batch: int = 0  # passages at once; 0: the number that an index is built with
    until: float | None = None  # time.monotonic() at which to stop
    device: Device = "cpu"
    turn: Callable[[], AbstractContextManager[None]] = nullcontext  # held while files are written


async def embed(
    folder: Path, home: Path, embedder: Embedder, how: Embedding | None = None, progress: Progress = silent
) -> Manifest:
    """Give every passage its vector, or as many as there is time for. `home` is where the manifest lies."""
    how = how or Embedding()
    log = VectorLog(folder, home, how.device)
    content = _told(manifest.load(home), embedder)
    if (embedder.name, embedder.dimensions) != (content.embedder, content.dimensions):
        raise IndexFault(f"{folder} was built with the embedder {content.embedder}; {embedder.name} cannot go on with it")
    index, named, told = await asyncio.to_thread(LocalIndex, folder, content), time.monotonic(), content.vectors
    progress("vectors", content.vectors, content.rows)
    try:
        while (found := _next(content, how.batch or feed.BATCH)) is not None and (
            how.until is None or time.monotonic() < how.until
        ):
            vectors = await _vectors(index, *found, embedder)
            with how.turn():
                now = manifest.load(home)
                if now.generation != index.manifest.generation:  # somebody else has changed it
                    index, told = await asyncio.to_thread(LocalIndex, folder, now), now.vectors
                    content = _told(now, embedder)
                    continue
                content = await unbroken(log.append, content, found[0], vectors, progress)
                if how.turn is not nullcontext or time.monotonic() - named >= _NAMED_EVERY:
                    content = log.name(content)
                    told = content.vectors
                    index, named = await asyncio.to_thread(LocalIndex, folder, content), time.monotonic()
            progress("vectors", content.vectors, content.rows)
    finally:
        if content.vectors > told:
            content = log.name(content)
    return content


def _told(content: Manifest, embedder: Embedder) -> Manifest:
    """How vectors are computed, where not as shipped. What joins an index is computed as those that it has were."""
    used = content.origin.get("arithmetic", AS_SHIPPED) if content.vectors else ""
    way = embedder.settle(used) if isinstance(embedder, Computed) else used
    return replace(content, origin={**content.origin, "arithmetic": way}) if way not in ("", AS_SHIPPED) else content


def _next(content: Manifest, most: int) -> tuple[int, range] | None:
    """The segment and its rows that are to be embedded next."""
    for number, segment in enumerate(content.segments):
        if segment.growing:
            return number, range(segment.vectors, min(segment.rows, segment.vectors + most))
    return None


async def _vectors(index: LocalIndex, number: int, rows: range, embedder: Embedder) -> Floats:
    """The vectors of some passages; forgotten ones get none."""
    segment = index.segments[number]
    kept = [row for row in rows if segment.base + row not in index.removed]
    vectors = np.zeros((len(rows), embedder.dimensions), np.float32)
    if kept:
        passages = await asyncio.to_thread(segment.texts.passages, kept)
        made = await embedder.embed([feed.embedding_text(passage) for passage in passages], kind="passage")
        vectors[np.array(kept) - rows.start] = check(made, embedder.dimensions)
    return vectors


class VectorLog:
    """Appends vectors to the files of segments. What it returns is not there until `name` has named it."""

    def __init__(self, folder: Path, home: Path, device: Device = "cpu") -> None:
        self._folder, self._home = folder, home
        self._device: Device = device
        self._sums: dict[Path, RunningSum] = {}

    def append(self, content: Manifest, number: int, vectors: Floats, progress: Progress = silent) -> Manifest:
        """A manifest with the next vectors of a segment."""
        segment = content.segments[number]
        scale = np.asarray(content.scale, np.float32)
        parts = _quantised(vectors, scale) if content.scale else {FLOATS: vectors.tobytes()}
        files = {**segment.files, **{name: self._appended(segment, name, data) for name, data in parts.items()}}
        grown = replace(segment, vectors=segment.vectors + len(vectors), files=files)
        content = _with(content, number, grown)
        if not content.scale and (content.vectors >= feed.SAMPLE or _next(content, 1) is None):
            content = self._settled(content)
        return self._sorted(content, progress)

    def complete(self, content: Manifest, progress: Progress = silent) -> Manifest:
        """Name the lists and sums that segments lack, where vectors came in other ways."""
        done = self._sorted(content, progress)
        return content if done == content else self.name(done)

    def name(self, content: Manifest) -> Manifest:
        """Make it so: from here on readers see these vectors."""
        named = replace(content, generation=content.generation + 1)
        manifest.save(self._folder, named, self._home)
        return named

    def _appended(self, segment: Segment, name: str, data: bytes) -> FileSum:
        path = self._folder / SEGMENTS / segment.name / name
        known = segment.files[name].bytes if name in segment.files else 0
        running = self._sums.get(path)
        if running is None or running.bytes != known:
            running = self._sums[path] = RunningSum()
            if known:
                running.add_file(path, known)
        with path.open("ab") as out:
            out.truncate(known)  # what no manifest names was left by a writer that was killed
            out.write(data)
        running.add(data)
        return running.sum()

    def _settled(self, content: Manifest) -> Manifest:
        """The scale is known: floats become bytes."""
        held = [number for number, segment in enumerate(content.segments) if FLOATS in segment.files]
        floats: dict[int, Floats] = {}
        for number in held:
            path, count = self._folder / SEGMENTS / content.segments[number].name / FLOATS, content.segments[number].vectors
            floats[number] = np.fromfile(path, np.float32, count * content.dimensions).reshape(-1, content.dimensions)
        scale = calibrate(np.concatenate([floats[number] for number in held]))
        for number in held:
            segment = content.segments[number]
            files = {name: known for name, known in segment.files.items() if name != FLOATS}
            bare = replace(segment, files=files)
            files |= {name: self._appended(bare, name, data) for name, data in _quantised(floats[number], scale).items()}
            content = _with(content, number, replace(segment, files=files))
        return replace(content, scale=tuple(float(x) for x in scale))

    def _sorted(self, content: Manifest, progress: Progress) -> Manifest:
        """Segments whose last vector has come get the sums of their blocks, and large ones their lists before."""
        for number, segment in enumerate(content.segments):
            if segment.growing or not content.scale:
                continue
            place = self._folder / SEGMENTS / segment.name
            if not segment.lists and is_large(segment.rows, content.dimensions):
                (place / FLOATS).unlink(missing_ok=True)
                count, _ = write_lists(place, segment.rows, np.asarray(content.scale, np.float32), self._device, progress)
                segment = replace(segment, lists=count, files=checksums(place, segment.files))
            content = _with(content, number, sealed(place, segment))
        return content


def _quantised(vectors: Floats, scale: Floats) -> dict[str, bytes]:
    return {ROWS: to_bytes(vectors, scale).tobytes(), CODES: to_codes(vectors).tobytes()}


def _with(content: Manifest, number: int, segment: Segment) -> Manifest:
    segments = (*content.segments[:number], segment, *content.segments[number + 1 :])
    return replace(content, segments=segments)
