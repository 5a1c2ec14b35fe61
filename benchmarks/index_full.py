"""The index at full size, once: python -m benchmarks index_full [--rows N]

41,488,110 rows × 1024 (the published Wikipedia index has as many) would be 42 GB as a file of vectors, so they are made while
they are indexed: mixtures as in `index.chunks`, the parts and a stock of noise turned ahead. On the way the true neighbours
of some queries are kept. Prints build time, sizes, memory and latency percentiles; the index is deleted afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np

from benchmarks import index as bench
from wellread.index.build import BuildOptions, build
from wellread.index.feed import Batch
from wellread.index.quantize import to_codes
from wellread.index.search import LocalIndex
from wellread.types import Passage

ROWS, DIM = 41_488_110, 1024
BATCH, BLOCK, NOISES, JUDGED = 10_000, 250, 32_768, 24
BYTES_A_ROW = 1024 + 128 + 2 * 64 + 70 + 8 + 24 + 36 + 4  # the build's peak: sketches are there twice while they are sorted


class StreamFeed:
    """Vectors made on demand, the same ones each time."""

    embedder, origin, dimensions = "synthetic", "a stream of synthetic vectors", DIM

    def __init__(self, rows: int, queries: np.ndarray) -> None:
        self.rows = rows
        step = 6 / np.sqrt(DIM) / 127
        self.scale = np.full(DIM, step, np.float32)
        turn = bench.turn(DIM)
        self._parts = bench.real() @ turn
        self._noise = (np.random.default_rng(7).standard_normal((NOISES, 384), dtype=np.float32) * 0.03) @ turn
        self._queries = np.ascontiguousarray(queries.T)
        self.scores = np.full((queries.shape[0], bench.TOP), -2, np.float32)
        self.best = np.zeros((queries.shape[0], bench.TOP), np.int64)

    def vectors(self, start: int) -> np.ndarray:
        """One batch, in units of the int8 step."""
        rng = np.random.default_rng((1, start))
        count = min(BATCH, self.rows - start)
        a, b = rng.integers(0, len(self._parts), count), rng.integers(0, len(self._parts), count)
        w, n = rng.uniform(0.2, 0.8, count).astype(np.float32), rng.integers(0, NOISES, count)
        out = np.empty((count, DIM), np.float32)
        for i in range(0, count, BLOCK):  # blocks that stay in the processor's cache
            part = slice(i, i + BLOCK)
            mixed = self._parts[b[part]]
            mixed += w[part, None] * (self._parts[a[part]] - mixed)
            mixed += self._noise[n[part]]
            lengths = np.sqrt(np.einsum("ij,ij->i", mixed, mixed))
            np.multiply(mixed, (1 / (lengths * self.scale[0]))[:, None], out=out[part])
        return out

    def batch(self, start: int) -> Batch:
        vectors = self.vectors(start)
        self._judge(start, (vectors @ self._queries).T * self.scale[0])
        rows = np.rint(vectors, out=vectors).clip(-127, 127, out=vectors).astype(np.int8)
        named = [Passage(f"p{start + i}", f"Passage {start + i}.", f"Title {(start + i) // 8}") for i in range(len(rows))]
        return Batch(named, rows, to_codes(rows))

    def _judge(self, start: int, fresh: np.ndarray) -> None:
        both = np.concatenate([self.scores, fresh], axis=1)
        names = np.concatenate([self.best, np.broadcast_to(np.arange(start, start + fresh.shape[1]), fresh.shape)], axis=1)
        keep = np.argpartition(-both, bench.TOP - 1, axis=1)[:, : bench.TOP]
        self.scores, self.best = np.take_along_axis(both, keep, 1), np.take_along_axis(names, keep, 1)

    async def batches(self, skip: int, scale: np.ndarray | None) -> AsyncIterator[Batch]:
        for start in range(skip, self.rows, BATCH):
            yield await asyncio.to_thread(self.batch, start)


class Watch:
    """Progress on stderr, and the most anonymous memory that was seen."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.steps: dict[str, float] = {}
        self.anonymous = 0
        self._said = 0.0

    def __call__(self, step: str, done: int, total: int | None) -> None:
        now = time.perf_counter() - self.begun
        self.steps.setdefault(step, round(now, 1))
        if now - self._said > 15:
            self._said = now
            self.anonymous = max(self.anonymous, status("RssAnon"))
            print(f"{now:7.0f} s  {step} {done:,}  {self.anonymous / 1e9:.2f} GB", file=sys.stderr, flush=True)


def status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def forget(folder: Path) -> None:
    """Push the files out of the page cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def latencies(index: LocalIndex, queries: np.ndarray, mode: str = "default") -> dict[str, float]:
    times = []
    for query in queries:
        begun = time.perf_counter()
        bench.rows_of(index, query, mode)
        times.append((time.perf_counter() - begun) * 1e3)
    return {f"p{share}": round(float(np.percentile(times, share)), 1) for share in (50, 95, 99)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    queries = next(bench.chunks(600, seed=2)) @ bench.turn(DIM)
    folder = bench.CACHE / "index-full"
    shutil.rmtree(folder, ignore_errors=True)
    room = int((shutil.disk_usage(bench.CACHE).free - 2e9) / BYTES_A_ROW)
    if room < rows:
        sys.exit(f"there is room for {room:,} rows only: give --rows")
    feed, watch = StreamFeed(rows, queries[:JUDGED]), Watch()
    begun = time.perf_counter()
    for start in range(0, 5 * BATCH, BATCH):
        feed.vectors(start)
    making = (time.perf_counter() - begun) / (5 * BATCH)
    try:
        watch.begun = time.perf_counter()
        asyncio.run(build(folder, feed, BuildOptions(words=False), watch))
        seconds = time.perf_counter() - watch.begun
        result = {"rows": rows, "build_seconds": round(seconds), "rows_per_second": round(rows / seconds)}
        result |= {"making_vectors_us_a_row": round(making * 1e6, 1), "steps": watch.steps}
        result |= {"most_anonymous_gb": round(watch.anonymous / 1e9, 2), "most_resident_gb": round(status("VmHWM") / 1e9, 2)}
        print(json.dumps(result), file=sys.stderr, flush=True)
        print(json.dumps(result | searched(folder, feed, queries)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def searched(folder: Path, feed: StreamFeed, queries: np.ndarray) -> dict[str, object]:
    segment = next((folder / "segments").iterdir())
    sizes = {path.name: round(path.stat().st_size / 1e9, 2) for path in sorted(segment.iterdir())}
    forget(folder)
    begun = time.perf_counter()
    index = LocalIndex.open(folder)
    opened = time.perf_counter() - begun
    found: dict[str, object] = {"gigabytes": sizes, "open_seconds": round(opened, 3)}
    found["cold_first_20"] = latencies(index, queries[:20])
    latencies(index, queries[20:100])
    found["fresh_queries"] = latencies(index, queries[100:])  # sketches in memory, int8 rows mostly on disk
    found["same_queries_again"] = latencies(index, queries[300:])
    found["default_recall"] = bench.recall([bench.rows_of(index, q, "default") for q in queries[:JUDGED]], feed.best)
    found["thorough"] = latencies(index, queries[:JUDGED], "thorough")
    found["exact_cold_and_warm"] = latencies(index, queries[:JUDGED], "exact")
    found["exact"] = latencies(index, queries[:JUDGED], "exact")
    found["exact_recall"] = bench.recall([bench.rows_of(index, q, "exact") for q in queries[:JUDGED]], feed.best)
    return found


if __name__ == "__main__":
    main()
