"""Stage 1: candidates from one-bit codes in a memory map, all cores on a single query.

    exact      the published recipe: Hamming distance to every code, the nearest go to stage 2
    default    Hamming distance to the codes of the nearest lists; the nearest tenfold are scored again with the
               query at full precision against their bits (which costs no further reading), the best go to stage 2
    thorough   the same over every code, with more candidates

The second look at the bits is what a query's own precision is worth: see docs/log/index.md for its measure.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from wellread.errors import DamagedFile
from wellread.index.lists import CENTRES, ENDS, ORDER, PROJECTION
from wellread.index.quantize import Codes, Floats, code_bytes, to_codes
from wellread.index.rows import Numbers

Mode: TypeAlias = Literal["default", "exact", "thorough"]
Span: TypeAlias = tuple[int, int]

CODES = "codes.bin"
THREADS = max(1, os.cpu_count() or 1)
_WIDE = 1024  # dimensions at which the recipe's number of candidates was chosen
_SECOND_LOOK = 10  # candidates scored with the full query, for each that goes on
_THOROUGH = 4  # times the candidates
_SCAN = 300  # rows read in default mode: this times the square root of all rows
_BITS: Floats = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)


class Coarse:
    """The codes of one segment."""

    def __init__(self, folder: Path, rows: int, lists: int, dimensions: int) -> None:
        self._folder = folder
        self._lists = lists
        self._dimensions = dimensions
        self.width = code_bytes(dimensions)
        path = folder / CODES
        if path.stat().st_size != rows * self.width:
            raise DamagedFile(f"{path} is damaged: its size does not fit {rows} rows (run: wellread index verify)")
        shape = (rows, self.width)
        # A plain array over the map: slices of np.memmap cost microseconds each.
        self.codes: Codes = np.asarray(np.memmap(path, np.uint8, "r", shape=shape)) if rows else np.zeros(shape, np.uint8)

    @cached_property
    def _order(self) -> NDArray[np.uint32] | None:
        return np.memmap(self._folder / ORDER, np.uint32, "r") if self._lists else None

    @cached_property
    def _centres(self) -> tuple[Floats, Floats, Numbers]:
        return np.load(self._folder / PROJECTION), np.load(self._folder / CENTRES), np.load(self._folder / ENDS)

    def candidates(self, query: Floats, count: int, mode: Mode, pool: ThreadPoolExecutor) -> Numbers:
        """Rows worth a closer look, in no particular order."""
        code = to_codes(query[None, :])
        if mode == "exact":
            return self._rows(self._nearest(code, count, pool))
        # One bit of a narrow vector says less: as many bytes are read in stage 2 as the recipe reads at 1024 dimensions.
        count = count * max(1, round(_WIDE / self._dimensions))
        if mode == "thorough":
            count *= _THOROUGH
            places = self._nearest(code, count * _SECOND_LOOK // 2, pool)
        else:
            places = self._near(code, self._spans(query), count * _SECOND_LOOK, pool)
        if len(places) > count:
            scores = self.bit_scores(query, places)
            places = places[np.argpartition(-scores, count - 1)[:count]]
        return self._rows(places)

    def stored(self, rows: Sequence[int]) -> Codes:
        """The codes of some rows, for copying them."""
        if self._order is None:
            return np.array(self.codes[list(rows)])
        places = np.empty(len(self.codes), np.uint32)
        places[self._order] = np.arange(len(self.codes), dtype=np.uint32)
        return np.array(self.codes[places[list(rows)]])

    def bit_scores(self, query: Floats, places: Numbers) -> Floats:
        """The full query against the bits: the sum of its dimensions whose bit is set, through a table per byte."""
        padded = np.zeros(self.width * 8, np.float32)
        padded[: self._dimensions] = query
        table = (padded.reshape(self.width, 8) @ _BITS.T).ravel()
        cells = self.codes[places].astype(np.intp)
        cells += np.arange(0, self.width * 256, 256)
        return table.take(cells).sum(axis=1)

    def _rows(self, places: Numbers) -> Numbers:
        return places if self._order is None else self._order[places].astype(np.int64)

    def _spans(self, query: Floats) -> list[Span]:
        """The stretches of the file that hold the lists nearest to the query."""
        rows = len(self.codes)
        if not self._lists:
            return [(0, rows)]
        projection, centres, ends = self._centres
        nearest = cast("Numbers", np.argsort(-(centres @ (query @ projection)), kind="stable"))
        starts = np.append(np.int64(0), ends[:-1]).astype(np.int64)
        sizes = cast("Numbers", (ends - starts)[nearest])
        enough = int(np.searchsorted(np.cumsum(sizes), _SCAN * math.sqrt(rows))) + 1
        chosen = np.sort(nearest[:enough])
        return merged(cast("list[Span]", np.stack([starts[chosen], ends[chosen]], axis=1).tolist()))

    def _near(self, code: Codes, spans: Sequence[Span], count: int, pool: ThreadPoolExecutor) -> Numbers:
        """Places with the smallest Hamming distances within the spans."""
        import faiss

        total = sum(end - start for start, end in spans)
        distances = np.empty(total, np.int32)
        pointer = faiss.swig_ptr
        hammings = cast("Callable[..., None]", getattr(faiss, "hammings"))  # noqa: B009 (faiss makes its names at run time)

        def scan(job: Sequence[tuple[int, int, int]]) -> None:
            for start, end, at in job:
                out = distances[at : at + end - start]
                hammings(pointer(code), pointer(self.codes[start:end]), 1, end - start, self.width, pointer(out))

        list(pool.map(scan, shares(spans, THREADS)))
        chosen = smallest(distances, count)
        firsts = np.array([start for start, _ in spans])
        offsets = np.cumsum([0] + [end - start for start, end in spans])
        span = np.searchsorted(offsets, chosen, side="right") - 1
        return chosen - offsets[span] + firsts[span]

    def _nearest(self, code: Codes, count: int, pool: ThreadPoolExecutor) -> Numbers:
        """Places with the smallest Hamming distances of all: each core takes a stretch of the file."""
        import faiss

        borders = [len(self.codes) * part // THREADS for part in range(THREADS + 1)]

        def part(start: int, end: int) -> tuple[Numbers, Numbers]:
            faiss.omp_set_num_threads(1)  # faiss cannot split one query; our threads do
            found = cast(
                "tuple[Numbers, Numbers]",
                faiss.knn_hamming(code, self.codes[start:end], min(count, end - start), variant="hc"),
            )
            return found[0][0].astype(np.int64), found[1][0] + start

        parts = list(pool.map(part, borders[:-1], borders[1:]))
        distances = np.concatenate([part[0] for part in parts])
        places = np.concatenate([part[1] for part in parts])
        return places[np.lexsort((places, distances))][:count]


def merged(spans: Sequence[Span]) -> list[Span]:
    """Sorted spans with neighbours joined and empty ones dropped."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        elif end > start:
            joined.append((start, end))
    return joined


def shares(spans: Sequence[Span], parts: int) -> list[list[tuple[int, int, int]]]:
    """Equal shares of the spans, as (start, end, place in the output)."""
    total = sum(end - start for start, end in spans)
    size = max(1, -(-total // parts))
    jobs: list[list[tuple[int, int, int]]] = [[] for _ in range(parts)]
    at = 0
    for start, end in spans:
        while start < end:
            part = at // size
            stop = min(end, start + (part + 1) * size - at)
            jobs[part].append((start, stop, at))
            at += stop - start
            start = stop
    return jobs


def smallest(values: NDArray[np.int32], count: int) -> Numbers:
    """Positions of the `count` smallest values. A sample gives a limit that lets few more through."""
    if len(values) <= count:
        return np.arange(len(values))
    sample = values[:: max(1, len(values) // 32_768)]
    wanted = min(len(sample) - 1, int(len(sample) * count / len(values) * 1.2) + 16)
    chosen = np.flatnonzero(values <= np.partition(sample, wanted)[wanted])
    if len(chosen) < count:
        chosen = np.arange(len(values))
    return chosen[np.argpartition(values[chosen], count - 1)[:count]]
