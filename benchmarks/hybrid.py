"""Recall of words, meaning and both on real questions: python benchmarks/hybrid.py [--quick] [--hops]

recall@5 of the gold passages on sets of ../shared/data, over the whole corpus of each. Embeddings come from the
cache of benchmarks/index.py.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np

from benchmarks import index as bench
from wellread.embedding.onnx import OnnxEmbedder
from wellread.index.build import BuildOptions, build
from wellread.index.feed import Batch
from wellread.index.quantize import calibrate, to_bytes, to_codes
from wellread.index.search import LocalIndex, SearchOptions
from wellread.sources.index import IndexSource, Options
from wellread.sources.multi_hop import TwoSteps
from wellread.types import Passage, Query

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def rows(name: str, file: str) -> list[dict]:
    with gzip.open(DATA / name / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class CachedFeed:
    """Passages of a set with vectors from the cache."""

    embedder, dimensions = "onnx:all-minilm-l6-v2", 384

    def __init__(self, name: str) -> None:
        self.origin = name
        self.vectors = bench.real(name)
        self.passages = [Passage(row["id"], row["text"] or row["title"], row["title"]) for row in rows(name, "corpus")]
        self.scale = calibrate(self.vectors[:4096])

    async def batches(self, skip: int, scale: np.ndarray | None) -> AsyncIterator[Batch]:
        for start in range(skip, len(self.passages), 5000):
            part = self.vectors[start : start + 5000]
            yield Batch(self.passages[start : start + 5000], to_bytes(part, self.scale), to_codes(part))


class CachedEmbedder:
    """Questions from the cache; other texts (second steps) are embedded."""

    name, dimensions = "onnx:all-minilm-l6-v2", 384

    def __init__(self, known: dict[str, np.ndarray]) -> None:
        self.known, self.real = known, OnnxEmbedder()

    async def embed(self, texts: list[str], *, kind: str) -> np.ndarray:
        if all(text in self.known for text in texts):
            return np.stack([self.known[text] for text in texts])
        return await self.real.embed(texts, kind=kind)


class Unread:
    """A kit without an evaluator."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder

    def embedder(self, spec: str | None = None) -> CachedEmbedder:
        return self._embedder

    def answer_reader(self) -> None:
        return None


async def measure(name: str, limit: int, hops: bool) -> dict[str, float]:
    questions = rows(name, "questions")
    vectors = bench.real(f"{name}_q")
    step = max(1, len(questions) // limit)
    chosen = list(range(0, len(questions), step))[:limit]
    embedder = CachedEmbedder({questions[i]["question"]: vectors[i] for i in chosen})
    result: dict[str, float] = {"questions": len(chosen)}
    with tempfile.TemporaryDirectory() as folder:
        await build(Path(folder), CachedFeed(name), BuildOptions())
        index = LocalIndex.open(folder)
        gold = [questions[i]["gold"] for i in chosen]
        asked = [questions[i]["question"] for i in chosen]
        names = lambda found: [[index.passage(row).id for row in rows.tolist()] for rows in found]  # noqa: E731
        result |= scores("bm25", names([index.by_words(text, 20)[0] for text in asked]), gold)
        result |= scores("dense", names([index.by_meaning(vectors[i], 100)[0][:20] for i in chosen]), gold)
        for fusion in ("ranks", "scores"):
            options = SearchOptions(fusion=fusion)
            found = [await index.search(text, embedder, 20, options) for text in asked]
            result |= scores(f"hybrid by {fusion}", [[hit.id for hit in hits] for hits in found], gold)
        if hops:
            twice = TwoSteps(IndexSource("index", Path(folder), Options(), Unread(embedder)), Unread(embedder))
            hits = [await twice.search(Query(text, 20)) for text in asked]
            result |= scores("two steps", [[hit.id for hit in found] for found in hits], gold)
    return result


def scores(mode: str, found: list[list[str]], gold: list[list[str]]) -> dict[str, float]:
    def recall(depth: int) -> float:
        shares = [len(set(f[:depth]) & set(g)) / len(set(g)) for f, g in zip(found, gold, strict=True)]
        return round(100 * float(np.mean(shares)), 2)

    return {f"{mode}@{depth}": recall(depth) for depth in (2, 5, 20)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the two small sets only")
    parser.add_argument("--hops", action="store_true", help="with the two-step search too")
    options = parser.parse_args()
    sets = {"hotpotqa_train100": 100, "musique_train100": 100} | ({} if options.quick else {"hotpotqa": 1000})
    result = {}
    for name, limit in sets.items():
        result[name] = asyncio.run(measure(name, limit, options.hops))
        print(name, result[name], file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
