"""The index side by side with the original recipe: python benchmarks/index.py [--quick] [--rows N] [--dim D]

The original recipe: `faiss.IndexBinaryFlat` in memory, its 400 nearest by Hamming distance re-scored with int8 rows (from
a memory map here; a `usearch` view returns the same bytes). Vectors at size are mixtures of real embeddings (see
`chunks`): with `--quick` of those that the library in the wheel holds, spread out (see `spread`), so that nothing has to be
embedded first; else of a data set's. Times are ratios of best times in alternating rounds of one run. Data are cached in
~/.cache/wellread-bench (or $WELLREAD_BENCH).

    exact_ratio      plain Hamming scan (mode exact, stage 1) / IndexBinaryFlat
    default_ratio    default mode, both stages / IndexBinaryFlat alone
    thorough_ratio   thorough mode, both stages / IndexBinaryFlat alone
    *_work           the same in processor time, beside IndexBinaryFlat on one thread (idle ones of OpenMP spin): the work
                     that is done, which other work on the machine changes little
    *_recall         recall@100 against the exact float scan, whole search (stage 1 and 2)
    real_recall      default mode on MiniLM embeddings of real passages, real questions
    resident_ratio   (anonymous memory + resident pages of the codes, over an idle process) / size of the codes
    growth_ratio     default mode, processor time at N / processor time at N/10
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np

from wellread.index.build import BuildOptions, build
from wellread.index.feed import Batch
from wellread.index.quantize import to_bytes, to_codes
from wellread.index.rows import RowFile
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Passage

CACHE = Path(os.environ.get("WELLREAD_BENCH", Path.home() / ".cache" / "wellread-bench"))
CHUNK = 50_000
QUICK = "--quick" in sys.argv or bool(os.environ.get("WELLREAD_BENCH_QUICK"))
QUERIES = int(os.environ.get("WELLREAD_BENCH_QUERIES", "2"))  # the seed of the queries: constants were chosen looking at 2
TOP, CANDIDATES = 100, 400


def base() -> np.ndarray:
    """What rows are mixed from."""
    return spread() if QUICK else real()


def library() -> np.ndarray:
    """The embeddings of the library's passages, as its index holds them."""
    from wellread.sources.index import library_path

    index = LocalIndex.open(library_path())
    rows = index.segments[0].rows.matrix.astype(np.float32) * np.asarray(index.manifest.scale, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def spread(count: int = 60_000) -> np.ndarray:
    """As many vectors as a corpus has, from few real ones: each a passage moved by the difference of two others."""
    rng = np.random.default_rng(7)
    rows = library()
    here, there, from_ = (rows[rng.integers(0, len(rows), count)] for _ in range(3))
    moved = here + 0.5 * (there - from_)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def real(name: str = "hotpotqa") -> np.ndarray:
    """Cached embeddings of a data set's passages (`NAME.npy`) or questions (`NAME_q.npy`)."""
    path = CACHE / f"{name}.npy"
    if not path.exists():
        embed_real(name)
    vectors = np.load(path).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def embed_real(name: str) -> None:
    """Embed a data set of ../shared/data with the default embedder: about an hour on two slow cores."""
    import gzip

    from wellread.embedding.onnx import OnnxEmbedder
    from wellread.index.feed import embedding_text

    folder = Path(__file__).resolve().parents[2] / "shared" / "data" / name.removesuffix("_q")
    path = folder / ("questions.jsonl.gz" if name.endswith("_q") else "corpus.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    if name.endswith("_q"):
        texts = [row["question"] for row in rows]
    else:
        texts = [embedding_text(Passage(row["id"], row["text"], row["title"])) for row in rows]
    print(f"embedding {len(texts):,} texts of {name} …", file=sys.stderr)
    CACHE.mkdir(parents=True, exist_ok=True)
    np.save(CACHE / f"{name}.npy", OnnxEmbedder().embed_now(texts, kind="passage").astype(np.float16))


def library_questions() -> np.ndarray:
    """The library's own questions, embedded now: seconds."""
    from wellread.embedding.onnx import OnnxEmbedder
    from wellread.sources.index import library_path

    lines = (library_path().parent / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return OnnxEmbedder().embed_now([json.loads(line)["question"] for line in lines], kind="query")


def turn(dim: int) -> np.ndarray:
    """The random orthogonal map into `dim` dimensions."""
    square = np.random.default_rng(1).standard_normal((dim, dim))
    return np.linalg.qr(square)[0].astype(np.float32)[:384]


def chunks(rows: int, seed: int = 1):
    """Normalised mixtures w·a + (1−w)·b of random pairs of real embeddings, with noise; still in 384 dimensions."""
    mixed_from = base()
    rng = np.random.default_rng(seed)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        a, b = (mixed_from[rng.integers(0, len(mixed_from), count)] for _ in range(2))
        w = rng.uniform(0.2, 0.8, (count, 1)).astype(np.float32)
        mixed = w * a + (1 - w) * b + rng.standard_normal((count, 384), dtype=np.float32) * 0.03
        yield mixed / np.linalg.norm(mixed, axis=1, keepdims=True)


class SyntheticFeed:
    """Rows of the benchmark: quantised ahead and cached, so that the build is timed without making them."""

    embedder = "synthetic"
    origin = "synthetic vectors"

    def __init__(self, rows: int, dim: int) -> None:
        self.rows, self.dimensions = rows, dim
        self.scale = np.full(dim, 6 / np.sqrt(dim) / 127, np.float32)
        kind = "quick-" if QUICK else ""
        self.path = CACHE / f"{kind}rows-{rows}x{dim}.i8"
        self.truth_path = CACHE / (f"{kind}truth-{rows}.npz" if QUERIES == 2 else f"{kind}truth-{rows}-{QUERIES}.npz")

    def prepare(self, queries: np.ndarray) -> np.ndarray:
        """Make the rows, and the true neighbours of the queries on the way."""
        if self.path.exists() and self.truth_path.exists():
            return np.load(self.truth_path)["best"]
        CACHE.mkdir(parents=True, exist_ok=True)
        mapped = turn(self.dimensions)
        scores = np.full((len(queries), TOP), -2, np.float32)
        best = np.zeros((len(queries), TOP), np.int64)
        with self.path.with_suffix(".part").open("wb") as out:
            for number, vectors in enumerate(chunks(self.rows)):
                out.write(to_bytes(vectors @ mapped, self.scale).tobytes())
                fresh = queries @ vectors.T
                both = np.concatenate([scores, fresh], axis=1)
                names = np.concatenate([best, np.broadcast_to(np.arange(len(vectors)) + number * CHUNK, fresh.shape)], axis=1)
                keep = np.argpartition(-both, TOP - 1, axis=1)[:, :TOP]
                scores, best = np.take_along_axis(both, keep, 1), np.take_along_axis(names, keep, 1)
        self.path.with_suffix(".part").replace(self.path)
        np.savez(self.truth_path, best=best)
        return best

    async def batches(self, skip: int, scale: np.ndarray | None) -> AsyncIterator[Batch]:
        rows = RowFile(self.path, self.rows, self.dimensions)
        for start in range(skip, self.rows, 10_000):
            part = rows.block(start, 10_000)
            passages = [Passage(f"p{start + i}", f"Passage {start + i}.", f"Title {(start + i) // 8}") for i in range(len(part))]
            yield Batch(passages, part, to_codes(part))


def made_index(feed: SyntheticFeed, keep: bool = True) -> tuple[Path, float]:
    """The index of a feed and its build rate; built again when it is not in the cache."""
    folder = CACHE / f"{'quick-' if QUICK else ''}index-{feed.rows}x{feed.dimensions}"
    note = folder / "rate.txt"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        begun = time.perf_counter()
        asyncio.run(build(folder, feed, BuildOptions(words=False)))
        note.write_text(str(feed.rows / (time.perf_counter() - begun)))
    return folder, float(note.read_text())


Costs = dict[str, tuple[float, float]]  # seconds by the clock, and of the processor


def best_times(jobs: dict[str, Callable[[np.ndarray], object]], queries: np.ndarray, rounds: int) -> Costs:
    """Medians over the queries of each query's best; the jobs take turns, so that noise meets all alike."""
    times = {name: np.full((2, len(queries)), np.inf) for name in jobs}
    for _ in range(rounds):
        for number, query in enumerate(queries):
            for name, job in jobs.items():
                begun, used = time.perf_counter(), time.process_time()
                job(query)
                took = time.perf_counter() - begun, time.process_time() - used
                times[name][:, number] = np.minimum(times[name][:, number], took)
    return {name: tuple(np.median(values, axis=1).tolist()) for name, values in times.items()}


def recall(found: list[list[int]], truth: np.ndarray) -> float:
    return float(np.mean([len(set(f) & set(t.tolist())) / TOP for f, t in zip(found, truth, strict=True)]))


def rows_of(index: LocalIndex, query: np.ndarray, mode: str) -> list[int]:
    options = SearchOptions(mode=mode)  # pyright: ignore[reportArgumentType]
    return index.by_meaning(query, TOP, options)[0].tolist()


class Recipe:
    """The original: all codes in memory in one faiss index, int8 rows in a usearch view."""

    def __init__(self, feed: SyntheticFeed) -> None:
        import faiss

        self.feed = feed
        self.codes = faiss.IndexBinaryFlat(feed.dimensions)
        rows = np.memmap(feed.path, np.int8, "r", shape=(feed.rows, feed.dimensions))
        for start in range(0, feed.rows, 100_000):
            self.codes.add(to_codes(rows[start : start + 100_000]))
        self.rows = rows

    def stage1(self, query: np.ndarray) -> np.ndarray:
        return self.codes.search(to_codes(query[None, :]), CANDIDATES)[1][0]

    def search(self, query: np.ndarray) -> list[int]:
        candidates = self.stage1(query)
        scores = self.rows[candidates].astype(np.float32) @ (query * self.feed.scale)
        return candidates[np.argsort(-scores)[:TOP]].tolist()


def measure(rows: int, dim: int, rounds: int, timed: int) -> dict[str, float]:
    import faiss

    queries384 = next(chunks(200, seed=QUERIES))
    feed = SyntheticFeed(rows, dim)
    truth = feed.prepare(queries384)
    folder, rate = made_index(feed)
    queries = queries384 @ turn(dim)
    begun = time.perf_counter()
    index = LocalIndex.open(folder)
    coarse = index.segments[0].coarse
    opened = time.perf_counter() - begun
    recipe = Recipe(feed)

    def flat(query: np.ndarray, threads: int = os.cpu_count() or 1) -> None:
        faiss.omp_set_num_threads(threads)
        recipe.stage1(query)

    pool = index.pool
    jobs: dict[str, Callable[[np.ndarray], object]] = {
        "flat": flat,
        "flat alone": lambda q: flat(q, 1),
        "exact": lambda q: coarse.candidates(q, CANDIDATES, "exact", pool),
        "default": lambda q: rows_of(index, q, "default"),
        "thorough": lambda q: rows_of(index, q, "thorough"),
    }
    times = best_times(jobs, queries[:timed], rounds)
    modes = "exact", "default", "thorough"
    return {
        "rows": rows,
        "flat_ms": round(times["flat"][0] * 1e3, 2),
        "default_ms": round(times["default"][0] * 1e3, 2),
        **{f"{mode}_ratio": round(times[mode][0] / times["flat"][0], 3) for mode in modes},
        **{f"{mode}_work": round(times[mode][1] / times["flat alone"][1], 3) for mode in modes},
        "recipe_recall": round(recall([recipe.search(q) for q in queries], truth), 4),
        "default_recall": round(recall([rows_of(index, q, "default") for q in queries], truth), 4),
        "thorough_recall": round(recall([rows_of(index, q, "thorough") for q in queries], truth), 4),
        "open_seconds": round(opened, 4),
        "build_rows_per_second": round(rate),
    }


def default_time(rows: int, dim: int, rounds: int, timed: int) -> float:
    """Processor seconds of a whole default search by meaning."""
    feed = SyntheticFeed(rows, dim)
    queries384 = next(chunks(200, seed=QUERIES))
    feed.prepare(queries384)
    index = LocalIndex.open(made_index(feed)[0])
    queries = (queries384 @ turn(dim))[:timed]
    return best_times({"default": lambda q: rows_of(index, q, "default")}, queries, rounds)["default"][1]


class RealFeed:
    """Real embeddings, already made."""

    embedder, origin, dimensions = "onnx:all-minilm-l6-v2", "real embeddings", 384

    def __init__(self, vectors: np.ndarray) -> None:
        from wellread.index.quantize import SAMPLE, calibrate

        self.vectors = vectors
        self.scale = calibrate(vectors[:SAMPLE])

    async def batches(self, skip: int, scale: np.ndarray | None) -> AsyncIterator[Batch]:
        for start in range(skip, len(self.vectors), CHUNK):
            part = self.vectors[start : start + CHUNK]
            passages = [Passage(f"p{start + i}", "text") for i in range(len(part))]
            yield Batch(passages, to_bytes(part, self.scale), to_codes(part))


def real_recall(questions: int = 300) -> dict[str, float]:
    """Default mode and the recipe's, on real passages and questions."""
    import tempfile

    passages, asked = (library(), library_questions()) if QUICK else (real(), real("hotpotqa_q"))
    asked = asked[:: max(1, len(asked) // questions)]
    truth = np.argpartition(-(asked @ passages.T), TOP - 1, axis=1)[:, :TOP]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(build(Path(folder), RealFeed(passages), BuildOptions(words=False)))
        index = LocalIndex.open(folder)
        return {
            "real_rows": len(passages),
            "real_recall": round(recall([rows_of(index, q, "default") for q in asked], truth), 4),
            "real_exact_recall": round(recall([rows_of(index, q, "exact") for q in asked], truth), 4),
        }


_RESIDENT = """
import sys, re, numpy as np
from benchmarks import index as bench
from wellread.index.rows import RowFile
from wellread.index.search import LocalIndex
def kept(codes_only):
    total = 0; mine = False
    for line in open('/proc/self/smaps'):
        if re.match('^[0-9a-f]+-', line): mine = 'codes.bin' in line or 'sketch.bin' in line
        elif line.startswith('Anonymous:') : total += int(line.split()[1])
        elif line.startswith('Rss:') and mine: total += int(line.split()[1])
    return total * 1024
import faiss
queries = next(bench.chunks(200, seed=bench.QUERIES)) @ bench.turn({dim})
idle = kept(True)
i = LocalIndex.open({folder!r})
for n in range(1000): bench.rows_of(i, queries[n % 200], 'default')
print((kept(True) - idle) / i.segments[0].coarse.codes.nbytes)
"""


def resident_ratio(rows: int, dim: int) -> float:
    folder, _ = made_index(SyntheticFeed(rows, dim))
    code = _RESIDENT.format(folder=str(folder), dim=dim)
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **({"WELLREAD_BENCH_QUICK": "1"} if QUICK else {})}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    return round(float(done.stdout), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1 million rows")
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--dim", type=int, default=1024)
    options = parser.parse_args()
    rows = options.rows or (1_000_000 if options.quick else 10_000_000)
    rounds, timed = (3, 10) if options.quick else (5, 20)
    result = measure(rows, options.dim, rounds, timed)
    print(json.dumps(result), file=sys.stderr)
    result |= real_recall()
    result["resident_ratio"] = resident_ratio(rows, options.dim)
    small, large = (default_time(n, options.dim, rounds, timed) for n in (rows // 10, rows))
    result["growth_ratio"] = round(large / small, 3)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
