"""Inverted lists and sketches for vector search (IVF): rows clustered with what is alike, each with a few bits of the residual.

A vector is projected on the directions in which the vectors differ most, turned at random so that each says about as
much, and goes to the nearest centre. What the centre leaves over is kept in two bits a direction: its sign, and whether it
is large.

    sketch.bin   all first bits, list by list; then all second bits
    order.u32    which row a place in it belongs to
    lists.npz    the small arrays of `Lists`, where each list ends, and a sample of the first bits

Written in numpy: the same lists from the same rows.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from wellread.core.processors import available_processors
from wellread.core.values import frozen
from wellread.errors import MissingExtra, optional
from wellread.index.quantize import Bytes, Codes, Floats
from wellread.index.rows import RowFile

_GET, _SET = "scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"


@cache
def _switch() -> tuple[Callable[[], int], Callable[[int], Any]] | None:
    for path in (Path(np.__file__).parents[1] / "numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        if hasattr(library, _SET):
            return getattr(library, _GET), getattr(library, _SET)
    return None  # another build of numpy: slower, not wrong


@contextmanager
def one_thread() -> Generator[None]:
    """Within, a matrix product uses the thread that asks for it."""
    switch = _switch()
    if switch is None:
        yield
        return
    get, put = switch
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


Labels: TypeAlias = NDArray[np.uint32]
Nearest: TypeAlias = Callable[[Floats, Floats], Labels]
Encode: TypeAlias = Callable[[Bytes], tuple[Labels, Codes]]

FROM_ROWS = 200_000  # below this a scan of all codes is as fast
NARROWEST = 64  # dimensions; below this there is nothing to project
LISTS, ORDER, SKETCH, UNSORTED = "lists.npz", "order.u32", "sketch.bin", "sketch.tmp"
_DIRECTIONS = (256, 128, 64)  # widths for which faiss has a scan of its own
_SAMPLE = 20_000  # rows that decide the directions
_PER_LIST = 64  # sample rows per list
_ROUNDS = 8
_BLOCK = 4_096  # rows encoded at once
_SORT_BLOCK = 500_000  # rows moved at once
_WITNESSES = 16_384  # places whose first bits a query looks at to see how far it must go


@frozen
class Lists:
    """Where lists lie in the projected space, and how rows lie around them."""

    projection: Floats  # dimensions × directions
    centres: Floats  # lists × directions
    spread: Floats  # mean distance of a list's rows from its centre
    steps: Floats  # spread along each direction: where the second bit divides

    @property
    def count(self) -> int:
        return len(self.centres)

    def scaled(self, scale: Floats) -> Lists:
        """The same lists for int8 rows: the scale is multiplied into the projection once instead of into every row."""
        return replace(self, projection=np.ascontiguousarray(self.projection * scale[:, None]))

    def encode(self, vectors: Floats | Bytes) -> tuple[Labels, Codes]:
        """The list of each vector, and its sketch: first bits, then second bits."""
        points = vectors.astype(np.float32, copy=False) @ self.projection
        labels = nearest_centre(*chief(points, self.centres))
        return labels, self.sketches(points, labels)

    def sketches(self, points: Floats, labels: Labels) -> Codes:
        """Two bits a direction of what the centres leave over."""
        rest = points - self.centres[labels]
        first = rest > 0
        second = (np.abs(rest) > self.steps) == first  # the four levels in order: 00, 01, 10, 11
        return np.concatenate([np.packbits(first, axis=1), np.packbits(second, axis=1)], axis=1)


def chief(points: Floats, centres: Floats) -> tuple[Floats, Floats]:
    """Both in the half of the directions that says most: enough to tell lists apart."""
    half = centres.shape[1] // 2
    return points[:, :half], centres[:, :half]


def nearest_centre(points: Floats, centres: Floats) -> Labels:
    """The centre at the smallest distance."""
    scores = points @ np.ascontiguousarray(centres.T)
    scores -= (centres * centres).sum(axis=1) / 2
    return np.argmax(scores, axis=1).astype(np.uint32)


def lists_for(rows: int) -> int:
    """Lists grow as the square root of the rows: 1,024 for ten million."""
    return int(np.clip(round(rows**0.5 * 0.324), 16, 4096))


def train(rows: RowFile, scale: Floats, nearest: Nearest = nearest_centre) -> Lists:
    """Lists for these rows, from a sample spread evenly over them."""
    count = lists_for(len(rows))
    wanted = min(len(rows), max(count * _PER_LIST, _SAMPLE))
    picks = np.linspace(0, len(rows) - 1, wanted).astype(np.int64)
    rng = np.random.default_rng(1)
    projection = _directions(rows.some(picks[:: max(1, wanted // _SAMPLE)]).astype(np.float32) * scale, rng)
    blocks = [(rows.some(picks[i : i + _BLOCK]).astype(np.float32) * scale) @ projection for i in range(0, wanted, _BLOCK)]
    sample = np.concatenate(blocks, dtype=np.float32)
    centres, labels = _kmeans(sample, count, rng, nearest)
    rest = sample - centres[labels]
    lengths = np.linalg.norm(rest, axis=1)
    members = np.bincount(labels, minlength=count)
    spread = np.bincount(labels, weights=lengths, minlength=count) / np.maximum(members, 1)
    spread[members == 0] = lengths.mean()
    return Lists(projection, centres, spread.astype(np.float32), np.maximum(rest.std(axis=0), 1e-6).astype(np.float32))


def _directions(sample: Floats, rng: np.random.Generator) -> Floats:
    """The directions in which the vectors differ most, the chief half and the other half each turned at random."""
    width = next(w for w in _DIRECTIONS if w <= sample.shape[1])
    centred = sample - sample.mean(axis=0)
    _, found = np.linalg.eigh(centred.T @ centred)
    chosen = found[:, ::-1][:, :width]
    turned = [part @ np.linalg.qr(rng.standard_normal((width // 2, width // 2)))[0] for part in np.split(chosen, 2, axis=1)]
    return np.ascontiguousarray(np.concatenate(turned, axis=1), dtype=np.float32)


def _kmeans(points: Floats, count: int, rng: np.random.Generator, nearest: Nearest) -> tuple[Floats, Labels]:
    centres = points[rng.permutation(len(points))[:count]]
    for _ in range(_ROUNDS):
        labels = _by_blocks(points, centres, nearest)
        order = np.argsort(labels, kind="stable")
        present, starts = np.unique(labels[order], return_index=True)
        centres = points[rng.integers(0, len(points), count)]  # an empty list starts again somewhere
        sums = np.add.reduceat(points[order], starts, axis=0)
        centres[present] = sums / np.diff(np.append(starts, len(points)))[:, None]
    return centres, _by_blocks(points, centres, nearest)


def _by_blocks(points: Floats, centres: Floats, nearest: Nearest) -> Labels:
    near = [nearest(*chief(points[i : i + _BLOCK], centres)) for i in range(0, len(points), _BLOCK)]
    return np.concatenate(near)


def encode_all(
    rows: RowFile,
    encode: Encode,
    out: BinaryIO,
    progress: Callable[[int], None],
    passing: Callable[[Bytes], None] = lambda _: None,
) -> Labels:
    """The list of every row, and its sketch to a file: block by block on all cores. `passing` sees all rows in order."""
    labels = np.empty(len(rows), np.uint32)

    def block(start: int) -> tuple[Bytes, Codes]:
        part = rows.block(start, _BLOCK)
        labels[start : start + len(part)], sketches = encode(part)
        return part, sketches

    cores = available_processors()
    starts = range(0, len(rows), _BLOCK)
    done = 0
    with one_thread(), ThreadPoolExecutor(cores) as pool:
        for first in range(0, len(starts), 8 * cores):  # in groups: what is encoded must not wait in memory for the disk
            for part, sketches in pool.map(block, starts[first : first + 8 * cores]):
                out.write(sketches.data)
                passing(part)
                done += len(part)
                progress(done)
    return labels


def sort_sketches(folder: Path, labels: Labels, lists: Lists) -> None:
    """Write the sketches in the order of their lists, with bounded memory: block by block, each row to its place."""
    rows, width = len(labels), lists.centres.shape[1] // 8
    sizes = np.bincount(labels, minlength=lists.count)
    ends = np.cumsum(sizes)
    places = ends - sizes
    order = np.memmap(folder / ORDER, np.uint32, "w+", shape=(rows,))
    with (folder / UNSORTED).open("rb") as source, (folder / SKETCH).open("wb") as target:
        target.truncate(rows * width * 2)
        for start in range(0, rows, _SORT_BLOCK):
            part = labels[start : start + _SORT_BLOCK]
            block: Codes = np.frombuffer(source.read(len(part) * width * 2), np.uint8).reshape(len(part), 2, width)
            within = np.argsort(part, kind="stable")
            firsts, seconds = block[within, 0], block[within, 1]
            present, begins = np.unique(part[within], return_index=True)
            for number, first, last in zip(present.tolist(), begins.tolist(), [*begins[1:].tolist(), len(part)], strict=True):
                at = int(places[number])
                os.pwrite(target.fileno(), firsts[first:last].data, at * width)
                os.pwrite(target.fileno(), seconds[first:last].data, (rows + at) * width)
                order[at : at + last - first] = within[first:last] + start
                places[number] += last - first
        target.flush()
        os.fsync(target.fileno())
        if hasattr(os, "posix_fadvise"):  # it was written in small pieces; read again it lies in large pages
            os.posix_fadvise(target.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    order.flush()
    _finish(folder, lists, ends, width)


def _finish(folder: Path, lists: Lists, ends: NDArray[np.int64], width: int) -> None:
    """The small arrays, last: their file says that the others are complete."""
    rows = int(ends[-1])
    witnesses = np.linspace(0, rows - 1, min(rows, _WITNESSES)).astype(np.int64)
    firsts: Codes = np.memmap(folder / SKETCH, np.uint8, "r", shape=(2, rows, width))[0][witnesses]
    fresh = folder / (LISTS + ".tmp")
    with fresh.open("wb") as out:
        np.savez(
            out,
            projection=lists.projection,
            centres=lists.centres,
            spread=lists.spread,
            steps=lists.steps,
            ends=ends.astype(np.int64),
            witnesses=firsts,
            witness_lists=np.searchsorted(ends, witnesses, side="right").astype(np.int64),
        )
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(folder / LISTS)


GPU = "cuda"


def cuda_torch() -> Any:
    """torch with a device, or an error that says what is missing."""
    with optional("building on a GPU", "cuda"):
        module = cast("Any", import_module("torch"))
    if not module.cuda.is_available():
        raise MissingExtra("building on a GPU (torch sees no CUDA device)", "cuda")
    return module


def nearest_on_gpu(points: Floats, centres: Floats) -> Labels:
    """The centre at the smallest distance."""
    up = cuda_torch().from_numpy
    there = (up(np.ascontiguousarray(values)).to(GPU) for values in (points, centres))
    return _down(_gpu_scores(*there).argmax(dim=1), np.uint32)


def _gpu_scores(points: Any, centres: Any) -> Any:
    return points @ centres.T - (centres * centres).sum(dim=1) / 2


def _down(values: Any, kind: Any) -> NDArray[Any]:
    return np.asarray(values.cpu().numpy(), dtype=kind)


class GpuEncoder:
    """Lists on the device: int8 rows go up; numbers of lists and sketches come down, a sixteenth of that."""

    def __init__(self, lists: Lists) -> None:
        self._torch = cuda_torch()
        up = self._torch.from_numpy
        self._projection, self._centres, self._steps = (
            up(np.ascontiguousarray(values)).to(GPU) for values in (lists.projection, lists.centres, lists.steps)
        )
        self._places = up(np.array([128, 64, 32, 16, 8, 4, 2, 1], np.uint8)).to(GPU)

    def __call__(self, rows: Bytes) -> tuple[Labels, Codes]:
        points = self._torch.from_numpy(np.ascontiguousarray(rows)).to(GPU).float() @ self._projection
        scores = _gpu_scores(*chief(points, self._centres))
        labels = scores.argmax(dim=1)
        rest = points - self._centres[labels]
        first = rest > 0
        second = (rest.abs() > self._steps) == first
        sketches = self._torch.cat([self._packed(first), self._packed(second)], dim=1)
        return _down(labels, np.uint32), _down(sketches, np.uint8)

    def _packed(self, bits: Any) -> Any:
        return (bits.view(len(bits), -1, 8) * self._places).sum(dim=2, dtype=self._torch.uint8)
