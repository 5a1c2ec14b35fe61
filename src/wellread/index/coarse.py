"""Stage 1: candidates from one bit a dimension in a memory map, all cores on a single query.

    exact      the published recipe: Hamming distance to every code, the nearest go to stage 2
    default    Hamming distance to every code; the nearest tenfold are scored again with the query at full precision
               against their bits (which costs no further reading), the best go to stage 2
    thorough   the same with more candidates

A large segment has sketches, which stand in for the codes in the last two: see `sketch`. What the second look at the bits is
worth: docs/log/index.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.errors import DamagedFile
from wellread.index.blocks import Blocks, Seals, unsealed
from wellread.index.quantize import Codes, Floats, code_bytes, to_codes
from wellread.index.rows import Numbers
from wellread.index.sketch import THREADS, Sketches, hamming

Mode: TypeAlias = Literal["default", "exact", "thorough"]

CODES = "codes.bin"
_WIDE = 1024  # dimensions at which the recipe's number of candidates was chosen
_SECOND_LOOK = 10  # candidates scored with the full query, for each that goes on
_THOROUGH = 4  # times the candidates
_PIECE = 1 << 20  # rows whose distances are held at once
_BITS: Floats = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)


class Coarse:
    """The codes of one segment, in the order of its rows."""

    def __init__(self, folder: Path, rows: int, lists: int, dimensions: int, seals: Seals = unsealed) -> None:
        self._folder = folder
        self._seals = seals
        self._lists = lists
        self._dimensions = dimensions
        self.width = code_bytes(dimensions)
        path = folder / CODES
        if path.stat().st_size < rows * self.width:
            raise DamagedFile(f"{path} is damaged: its size does not fit {rows} rows (run: wellread index verify)")
        shape = (rows, self.width)
        # A plain array over the map: slices of np.memmap cost microseconds each.
        self.codes: Codes = np.asarray(np.memmap(path, np.uint8, "r", shape=shape)) if rows else np.zeros(shape, np.uint8)
        self._blocks = Blocks(path, seals(CODES), self.codes.reshape(-1))

    @cached_property
    def sketches(self) -> Sketches | None:
        return Sketches(self._folder, len(self.codes), self._seals) if self._lists else None

    def candidates(self, query: Floats, count: int, mode: Mode, pool: ThreadPoolExecutor) -> Numbers:
        """Rows worth a closer look, in no particular order."""
        if mode == "exact":
            return self._near(to_codes(query[None, :]), count, pool)
        # One bit of a narrow vector says less: as many bytes are read in stage 2 as the recipe reads at 1024 dimensions.
        count = count * max(1, round(_WIDE / self._dimensions)) * (_THOROUGH if mode == "thorough" else 1)
        if self.sketches is not None:
            return self.sketches.candidates(query, count, mode == "thorough", pool)
        places = self._near(to_codes(query[None, :]), count * _SECOND_LOOK, pool)
        if len(places) > count:
            scores = self.bit_scores(query, places)
            places = places[np.argpartition(-scores, count - 1)[:count]]
        return places

    def stored(self, rows: Sequence[int]) -> Codes:
        """The codes of some rows, for copying them."""
        self._blocks.check_rows(np.array(rows, np.int64), self.width)
        return np.array(self.codes[list(rows)])

    def bit_scores(self, query: Floats, places: Numbers) -> Floats:
        """The full query against the bits: the sum of its dimensions whose bit is set, through a table per byte."""
        padded = np.zeros(self.width * 8, np.float32)
        padded[: self._dimensions] = query
        table = (padded.reshape(self.width, 8) @ _BITS.T).ravel()
        self._blocks.check_rows(places, self.width)
        cells = self.codes[places].astype(np.intp)
        cells += np.arange(0, self.width * 256, 256)
        return table.take(cells).sum(axis=1)

    def _near(self, code: Codes, count: int, pool: ThreadPoolExecutor) -> Numbers:
        """Places with the smallest Hamming distances, nearest first, equal ones in their order."""
        pieces = max(THREADS, -(-len(self.codes) // _PIECE))
        borders = [len(self.codes) * piece // pieces for piece in range(pieces + 1)]

        def part(start: int, end: int) -> tuple[Numbers, NDArray[np.int32]]:
            self._blocks.check(start * self.width, end * self.width)
            distances = hamming(code, self.codes[start:end])[0]
            chosen = smallest(distances, count)
            return chosen + start, distances[chosen]

        parts = list(pool.map(part, borders[:-1], borders[1:]))
        places, distances = (np.concatenate(column) for column in zip(*parts, strict=True))
        return places[np.lexsort((places, distances))[:count]]


def smallest(values: NDArray[np.int32], count: int) -> Numbers:
    """Positions of the `count` smallest values, equal ones in order. A sample gives a limit that lets few more through."""
    if len(values) <= count:
        return np.arange(len(values))
    sample = values[:: max(1, len(values) // 32_768)]
    wanted = min(len(sample) - 1, int(len(sample) * count / len(values) * 1.2) + 16)
    chosen = np.flatnonzero(values <= np.partition(sample, wanted)[wanted])
    if len(chosen) < count:
        chosen = np.arange(len(values))
    return chosen[np.argsort(values[chosen], kind="stable")[:count]]
