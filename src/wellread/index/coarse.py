"""Stage 1: candidates from one-bit codes in a memory map, all cores on a single query."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np

from wellread.errors import DamagedFile
from wellread.index.quantize import Codes, Floats, to_codes
from wellread.index.rows import Numbers

Mode: TypeAlias = Literal["default", "exact", "thorough"]

CODES = "codes.bin"
_THREADS = max(1, os.cpu_count() or 1)


class Coarse:
    """The codes of one segment."""

    def __init__(self, folder: Path, rows: int, lists: int, dimensions: int) -> None:
        path = folder / CODES
        width = (dimensions + 7) // 8
        if path.stat().st_size != rows * width:
            raise DamagedFile(f"{path} is damaged: its size does not fit {rows} rows (run: wellread index verify)")
        shape = (rows, width)
        self.codes: Codes = np.memmap(path, np.uint8, "r", shape=shape) if rows else np.zeros(shape, np.uint8)

    def candidates(self, query: Floats, count: int, mode: Mode, pool: ThreadPoolExecutor) -> Numbers:
        """Rows worth a closer look."""
        return self._scan(to_codes(query[None, :]), count, pool)

    def _scan(self, code: Codes, count: int, pool: ThreadPoolExecutor) -> Numbers:
        """The plain Hamming scan: each core takes a stretch of the file."""
        import faiss

        borders = np.linspace(0, len(self.codes), _THREADS + 1).astype(int)

        def part(start: int, end: int) -> tuple[Numbers, Numbers]:
            faiss.omp_set_num_threads(1)
            found = cast(
                "tuple[Numbers, Numbers]", faiss.knn_hamming(code, self.codes[start:end], min(count, end - start), variant="hc")
            )
            return found[0][0].astype(np.int64), found[1][0] + start

        parts = list(pool.map(part, borders[:-1], borders[1:]))
        distances = np.concatenate([part[0] for part in parts])
        rows = np.concatenate([part[1] for part in parts])
        return rows[np.lexsort((rows, distances))][:count]
