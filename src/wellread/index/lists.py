"""Neighbourhoods: codes sorted into lists of passages that are alike, so that a query reads a part of them.

Two levels of spherical k-means on a projection of the vectors: a vector goes to the nearest of some dozens of
regions and then to the nearest list inside it, which costs a hundredth of comparing it with every list.
Written in numpy: the same lists from the same rows, and nothing to load at search time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.index.blas import one_thread
from wellread.index.quantize import Bytes, Codes, Floats
from wellread.index.rows import RowFile

Labels: TypeAlias = NDArray[np.uint32]
Nearest: TypeAlias = Callable[[Floats, Floats], Labels]

FROM_ROWS = 200_000  # below this a scan of all codes is as fast
PROJECTION, CENTRES, ENDS, ORDER = "lists-projection.npy", "lists-centres.npy", "lists-ends.npy", "order.u32"
SORTED = ".sorted"
_DIMENSIONS = 64
_PER_LIST = 48  # sample rows per list
_ROUNDS = 8
_BLOCK = 20_000  # rows assigned at once
_SORT_BLOCK = 500_000  # rows moved at once


@dataclass(frozen=True, slots=True)
class Lists:
    """Where lists lie in space: centres in the projected space, region by region."""

    projection: Floats  # dimensions × projected
    centres: Floats  # lists × projected, unit length
    regions: Floats  # regions × projected

    @property
    def count(self) -> int:
        return len(self.centres)

    def scaled(self, scale: Floats) -> Lists:
        """The same lists for int8 rows: the scale is multiplied into the projection once instead of into every row."""
        return replace(self, projection=np.ascontiguousarray(self.projection * scale[:, None]))

    def assign(self, vectors: Floats | Bytes) -> Labels:
        """The list of each vector."""
        points = vectors.astype(np.float32, copy=False) @ self.projection
        inside = self.count // len(self.regions)
        region = nearest_centre(points, self.regions)
        labels = np.empty(len(points), np.uint32)
        order = np.argsort(region, kind="stable")
        ends = np.searchsorted(region[order], np.arange(len(self.regions)), side="right")
        start = 0
        for number, end in enumerate(ends.tolist()):
            members = order[start:end]
            if len(members):
                centres = self.centres[number * inside : (number + 1) * inside]
                labels[members] = nearest_centre(points[members], centres) + np.uint32(number * inside)
            start = end
        return labels


def nearest_centre(points: Floats, centres: Floats) -> Labels:
    """The centre with the largest inner product."""
    return np.argmax(points @ centres.T, axis=1).astype(np.uint32)


def regions_for(rows: int) -> int:
    """The square root of the number of lists; lists grow as the square root of the rows."""
    return int(np.clip(round(rows**0.25 * 1.6), 8, 160))


def train(rows: RowFile, scale: Floats, nearest: Nearest = nearest_centre) -> Lists:
    """Lists for these rows, from a sample spread evenly over them."""
    regions = regions_for(len(rows))
    wanted = min(len(rows), max(regions * regions * _PER_LIST, 20_000))
    picks = np.linspace(0, len(rows) - 1, wanted).astype(np.int64)
    projection = _principal(rows.some(picks[:: max(1, wanted // 20_000)]).astype(np.float32) * scale)
    blocks = [(rows.some(picks[i : i + _BLOCK]).astype(np.float32) * scale) @ projection for i in range(0, wanted, _BLOCK)]
    sample = np.concatenate(blocks, dtype=np.float32)
    rng = np.random.default_rng(1)
    top = _kmeans(sample, regions, rng, nearest)
    region = nearest(sample, top)
    centres = [_kmeans(_members(sample, region == r, top[r], regions), regions, rng, nearest) for r in range(regions)]
    return Lists(projection, np.concatenate(centres), top)


def _members(sample: Floats, mask: NDArray[np.bool_], centre: Floats, least: int) -> Floats:
    """A region's sample; one that is too small takes in its surroundings."""
    if int(mask.sum()) >= least:
        return sample[mask]
    return sample[np.argsort(-(sample @ centre), kind="stable")[: max(least, 2 * int(mask.sum()))]]


def _principal(sample: Floats) -> Floats:
    """The directions in which the vectors differ most."""
    width = min(_DIMENSIONS, sample.shape[1])
    centred = sample - sample.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.ascontiguousarray(directions[:, ::-1][:, :width], dtype=np.float32)


def _kmeans(points: Floats, count: int, rng: np.random.Generator, nearest: Nearest) -> Floats:
    centres = _unit(points[rng.permutation(len(points))[:count]])
    for _ in range(_ROUNDS):
        labels = nearest(points, centres)
        order = np.argsort(labels, kind="stable")
        present, starts = np.unique(labels[order], return_index=True)
        fresh = points[rng.integers(0, len(points), count)]  # an empty list starts again somewhere
        fresh[present] = np.add.reduceat(points[order], starts, axis=0)
        centres = _unit(fresh)
    return centres


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def assign_all(rows: RowFile, assign: Callable[[Bytes], Labels], progress: Callable[[int], None]) -> Labels:
    """The list of every row, block by block on all cores."""
    labels = np.empty(len(rows), np.uint32)

    def block(start: int) -> int:
        part = rows.block(start, _BLOCK)
        labels[start : start + len(part)] = assign(part)
        return start + len(part)

    with one_thread(), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for done in pool.map(block, range(0, len(rows), _BLOCK)):
            progress(done)
    return labels


def sort_codes(folder: Path, codes: Path, labels: Labels, lists: Lists, width: int) -> None:
    """Write the codes in the order of their lists, with bounded memory: block by block, each row to its place."""
    rows = len(labels)
    sizes = np.bincount(labels, minlength=lists.count)
    ends = np.cumsum(sizes)
    places = ends - sizes
    order = np.memmap(folder / ORDER, np.uint32, "w+", shape=(rows,))
    with codes.open("rb") as source, codes.with_suffix(SORTED).open("wb") as target:
        target.truncate(rows * width)
        for start in range(0, rows, _SORT_BLOCK):
            part = labels[start : start + _SORT_BLOCK]
            block: Codes = np.frombuffer(source.read(len(part) * width), np.uint8).reshape(len(part), width)
            within = np.argsort(part, kind="stable")
            block = block[within]
            counts = np.bincount(part, minlength=lists.count)
            first = 0
            for number in np.flatnonzero(counts).tolist():
                count = int(counts[number])
                at = int(places[number])
                os.pwrite(target.fileno(), block[first : first + count].tobytes(), at * width)
                order[at : at + count] = within[first : first + count] + start
                places[number] += count
                first += count
        target.flush()
        os.fsync(target.fileno())
    order.flush()
    np.save(folder / PROJECTION, lists.projection)
    np.save(folder / CENTRES, lists.centres)
    np.save(folder / "ends.tmp.npy", ends.astype(np.int64))
    (folder / "ends.tmp.npy").replace(folder / ENDS)  # last: it says that the rest is complete
