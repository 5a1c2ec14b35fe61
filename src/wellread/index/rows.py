"""Vector search, stage 2: candidates rescored from int8 rows on disk with the float query.

The sum over a row is linear in it, so the scale is multiplied into the query once and the bytes are used as
they are. Candidates are read by several threads at once: on a cold disk the reads overlap. Those that were read before are in
memory, as a rule, where threads would only wait for each other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.index.blocks import Blocks, Seals, mapped, unsealed
from wellread.index.quantize import Bytes, Floats

Numbers: TypeAlias = NDArray[np.int64]
Ranked: TypeAlias = tuple[Numbers, Floats]  # numbers with their scores
NOTHING: Ranked = (np.zeros(0, np.int64), np.zeros(0, np.float32))

ROWS = "rows.i8"
FLOATS = "rows.f32"  # the first vectors of an index, until there are enough of them to choose the scale of the bytes
READERS = 4  # more would help a cold disk a little, and cost a warm search as much
_LARGE = 64 << 20  # bytes; smaller files are scanned as a whole, and soon in memory: then threads only wait for each other
_BLOCK = 512  # rows converted at once: they stay in a core's cache until they are multiplied
_PARALLEL_FROM = 64  # fewer candidates are read faster by one thread


class Rows:
    """The int8 rows of one segment (or its first floats), from a memory map that all processes share."""

    def __init__(self, path: Path, rows: int, dimensions: int, seals: Seals = unsealed) -> None:
        kind = np.dtype(np.float32 if path.name == FLOATS else np.int8)
        # Of a large one rows are read here and there: the system must not fetch what lies around each.
        advice = "MADV_RANDOM" if path.stat().st_size > _LARGE else ""
        self.matrix: Bytes = mapped(path, kind, (rows, dimensions), advice)
        self._width = dimensions * kind.itemsize
        self._blocks = Blocks(path, seals(path.name), self.matrix.reshape(-1).view(np.uint8))

    def stored(self, rows: Numbers) -> Bytes:
        """Some rows, for copying them."""
        self._blocks.check_rows(rows, self._width)
        return np.array(self.matrix[rows])

    def scores(self, query: Floats, candidates: Numbers, readers: ThreadPoolExecutor | None = None) -> Floats:
        """Scores of chosen rows; `query` is already multiplied by the scale."""

        def score(part: Numbers) -> Floats:
            self._blocks.check_rows(part, self._width)
            return _products(self.matrix[part], query)

        if self._blocks.known(candidates, self._width):
            return _products(self.matrix[candidates], query)
        if readers is None or len(candidates) < _PARALLEL_FROM or self.matrix.nbytes <= _LARGE:
            return score(candidates)
        # Each thread walks forward through its own stretch of the file.
        order = np.argsort(candidates)
        parts: list[Numbers] = np.array_split(candidates[order], READERS)
        scores = np.empty(len(candidates), np.float32)
        scores[order] = np.concatenate(list(readers.map(score, parts)))
        return scores

    def all_scores(self, query: Floats) -> Floats:
        """Scores of every row: right for small indexes, and the yardstick for the others."""
        self._blocks.check(0, self.matrix.nbytes)
        blocks = [_products(self.matrix[start : start + _BLOCK], query) for start in range(0, len(self.matrix), _BLOCK)]
        return np.concatenate(blocks) if blocks else np.zeros(0, np.float32)


def _products(rows: Bytes, query: Floats) -> Floats:
    """Row by row: a product of matrices wakes BLAS's threads, which wait for ours and go on spinning when they are done."""
    return np.vecdot(rows.astype(np.float32), query)


class RowFile:
    """Rows read from the file and not from a map: a build walks through all of them once, and mapped pages would
    count as its memory."""

    def __init__(self, path: Path, rows: int, dimensions: int) -> None:
        self._path, self._rows, self._dimensions = path, rows, dimensions

    def __len__(self) -> int:
        return self._rows

    def block(self, start: int, count: int) -> Bytes:
        """Rows that follow each other."""
        count = min(count, self._rows - start)
        found = np.fromfile(self._path, np.int8, count * self._dimensions, offset=start * self._dimensions)
        return found.reshape(count, self._dimensions)

    def some(self, numbers: Numbers) -> Bytes:
        """Rows here and there."""
        found = np.empty((len(numbers), self._dimensions), np.int8)
        with self._path.open("rb", buffering=0) as file:
            for place, number in enumerate(numbers.tolist()):
                file.seek(number * self._dimensions)
                file.readinto(found[place].data)
        return found


def in_order(found: Ranked, limit: int) -> Ranked:
    """The best, best first; equal ones in the order of their numbers."""
    rows, scores = found
    if 0 < limit < len(scores):
        # Everything that ties with the last place takes part, so that the choice never depends on partitioning.
        kept = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
        rows, scores = rows[kept], scores[kept]
    order = np.lexsort((rows, -scores))[:limit]
    return rows[order], scores[order]
