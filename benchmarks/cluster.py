"""An index on a Ray cluster of three nodes on this machine, against the same index in one process.

equal              share of queries whose passages and scores are those of the one index (4 shards × 2 replicas)
failed             queries that failed, or found something else, while a node was killed (concurrency 16)
recovery_ratio     p99 of the queries after the kill over p50 before it
overhead_ms        one shard through Ray over the same search here, median
call_ms            a call of the same actor that asks for nothing, median: what of the overhead is the way there
calls_per_query    to this one shard
throughput_ratio   queries a second of 2 shards over those of two processes that search a shard each, turn about
processor_ratio    processor time of these two processes over that of the cluster: Ray's own, the shards and the caller, without
                   what Ray uses while nobody asks (idle_cores). On two cores that nobody else uses the throughput ratio is
                   this one less idle_cores / 2; on shared ones only this one means something

Both sides embed, search two shards, weigh titles and read passages at the same number of queries at once (16). The two processes
do not merge what they find, and weigh titles twice; the cluster is three processes besides Ray's own, on the same two cores.

python benchmarks/cluster.py [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.ray_cluster import kill, processor_seconds, running
from wellread.cluster import on_ray
from wellread.cluster.merged import MergedIndex
from wellread.cluster.reshard import shard_index
from wellread.index.build import build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.index.search import LocalIndex
from wellread.types import Hit, Passage

_VOCABULARY = 4_000
_ALONE = """
import asyncio, sys, time
from benchmarks.cluster import Embedder, questions
from wellread.index.search import LocalIndex
index, texts, embedder = LocalIndex.open(sys.argv[1]), questions(int(sys.argv[2])), Embedder()
async def main():
    for text in texts[:20]:
        await index.search(text, embedder, 10)
    print("ready", flush=True)
    sys.stdin.readline()
    gate = asyncio.Semaphore(8)
    async def one(text):
        async with gate:
            await index.search(text, embedder, 10)
    begun, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, texts))
    print(time.perf_counter() - begun, time.process_time() - used, flush=True)
asyncio.run(main())
"""


class Embedder:
    """A text is the sum of its words' directions: no model, so that what is measured is the search."""

    name, dimensions = "directions-384", 384

    async def embed(self, texts: Sequence[str], *, kind: Literal["query", "passage"]) -> NDArray[np.float32]:
        return np.stack([_sum(text) for text in texts])


def _sum(text: str) -> NDArray[np.float32]:
    total = np.sum([_direction(word) for word in text.lower().split()] or [np.ones(384, np.float32)], axis=0)
    return np.asarray(total / np.linalg.norm(total), np.float32)


@cache
def _direction(word: str) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(384).astype(np.float32)


def _words(chance: random.Random, count: int) -> str:
    """Rare and common ones, as in a language."""
    return " ".join(f"w{min(_VOCABULARY, int(chance.paretovariate(0.6)))}" for _ in range(count))


def corpus(count: int) -> list[Passage]:
    chance = random.Random(17)
    return [
        Passage(f"p{n}", _words(chance, chance.choice((20, 60, 120))), f"Title {_words(chance, 2)}", document=f"d{n // 5}")
        for n in range(count)
    ]


def questions(count: int) -> list[str]:
    chance = random.Random(18)
    return [_words(chance, chance.randint(3, 10)) for _ in range(count)]


def same(got: Sequence[Hit], wanted: Sequence[Hit]) -> bool:
    """Equal to what float32 can tell: passages whose scores are that close may change places."""
    if not np.allclose([hit.score for hit in got], [hit.score for hit in wanted], rtol=1e-5):
        return False
    known, last = {hit.id: hit.score for hit in wanted}, wanted[-1].score
    return all(abs(known.get(hit.id, last) - hit.score) <= 1e-5 * abs(hit.score) for hit in got)


async def main_async(scratch: Path, quick: bool, cluster: Any) -> dict[str, float]:
    rows, asked = (4_000, 150) if quick else (20_000, 1_000)
    passages = corpus(rows)
    await build(scratch / "one", EmbeddingFeed(lambda: streamed(passages), Embedder(), "words"))
    one = LocalIndex.open(scratch / "one")
    for shards in (1, 2, 4):
        await shard_index(scratch / "one", scratch / f"shards-{shards}", shards)
    texts = questions(asked)
    wanted = {text: await one.search(text, Embedder(), 10) for text in texts}
    found: dict[str, float] = {}
    found |= await _overhead(scratch, one, texts[:300])
    found |= await _throughput(scratch, texts, cluster, 1 if quick else 3)
    on_ray.deploy(str(scratch / "shards-4"), "four", replicas=2)
    four = on_ray.open_index("four")
    right = [same((await four.search(text, Embedder(), 10)).hits, wanted[text]) for text in texts]
    found["equal"] = sum(right) / len(right)
    found |= await _killed(cluster, four, texts, wanted)
    on_ray.stop("four")
    return found


async def _overhead(scratch: Path, one: LocalIndex, texts: Sequence[str]) -> dict[str, float]:
    """Turn about, so that what else the machine does falls on both."""
    on_ray.deploy(str(scratch / "shards-1"), "single", replicas=1)
    many, embedder = on_ray.open_index("single"), Embedder()
    here: list[float] = []
    there: list[float] = []
    bare: list[float] = []
    (shard,) = many.peers
    for number, text in enumerate((*texts[:30], *texts)):
        begun = time.perf_counter()
        await one.search(text, embedder, 10)
        middle = time.perf_counter()
        await many.search(text, embedder, 10)
        ended = time.perf_counter()
        await shard.lines([])
        if number >= 30:
            here.append(middle - begun)
            there.append(ended - middle)
            bare.append(time.perf_counter() - ended)
    asked = len(texts) + 30
    on_ray.stop("single")
    return {
        "call_ms": round(1e3 * float(np.median(bare)), 2),
        "calls_per_query": round(shard.counts.calls / asked - 1, 2),
        "local_ms": round(1e3 * float(np.median(here)), 2),
        "overhead_ms": round(1e3 * float(np.median(there) - np.median(here)), 2),
    }


def _apart(scratch: Path, count: int) -> tuple[float, float]:
    """Seconds and processor seconds that two processes need for all queries, each on its shard."""
    root = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    homes = [scratch / "shards-2/shards" / name for name in ("0000", "0001")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    alone = [subprocess.Popen([sys.executable, "-c", _ALONE, str(home), str(count)], env=root, **pipes) for home in homes]
    for process in alone:
        process.stdout.readline()
    for process in alone:
        process.stdin.write("go\n")
        process.stdin.flush()
    took = [tuple(map(float, process.stdout.readline().split())) for process in alone]
    for process in alone:
        process.communicate()
    return max(wall for wall, _ in took), sum(processor for _, processor in took)


async def _throughput(scratch: Path, texts: Sequence[str], cluster: Any, rounds: int) -> dict[str, float]:
    on_ray.deploy(str(scratch / "shards-2"), "pair", replicas=1)
    many, embedder, gate = on_ray.open_index("pair"), Embedder(), asyncio.Semaphore(16)

    async def ask(text: str) -> None:
        async with gate:
            await many.search(text, embedder, 10)

    async def together() -> tuple[float, float]:
        begun, used = time.perf_counter(), processor_seconds(cluster) + time.process_time()
        await asyncio.gather(*map(ask, texts))
        return time.perf_counter() - begun, processor_seconds(cluster) + time.process_time() - used

    await asyncio.gather(*map(ask, texts[:30]))
    begun, used = time.perf_counter(), processor_seconds(cluster)
    await asyncio.sleep(4)
    idle = (processor_seconds(cluster) - used) / (time.perf_counter() - begun)
    took = [(await asyncio.to_thread(_apart, scratch, len(texts)), await together()) for _ in range(rounds)]
    on_ray.stop("pair")
    walls, processor = (np.array([[one[at], other[at]] for one, other in took]) for at in (0, 1))
    processor[:, 1] -= idle * walls[:, 1]
    return {
        "queries_per_second": round(len(texts) / float(np.median(walls[:, 1])), 1),
        "throughput_ratio": round(float(np.median(walls[:, 0] / walls[:, 1])), 3),
        "processor_ms": round(1e3 * float(np.median(processor[:, 1])) / len(texts), 2),
        "idle_cores": round(idle, 3),
        "processor_ratio": round(float(np.median(processor[:, 0] / processor[:, 1])), 3),
    }


async def _killed(cluster: Any, many: MergedIndex, texts: Sequence[str], wanted: dict[str, list[Hit]]) -> dict[str, float]:
    gate, embedder = asyncio.Semaphore(16), Embedder()
    before: list[float] = []
    after: list[float] = []
    wrong = 0
    killed_at: list[float] = []

    async def ask(number: int, text: str) -> None:
        nonlocal wrong
        async with gate:
            if number == len(texts) // 4:
                kill(sorted(cluster.worker_nodes, key=id)[0])
                killed_at.append(time.perf_counter())
            begun = time.perf_counter()
            try:
                outcome = await many.search(text, embedder, 10)
                wrong += not (outcome.searched == 1.0 and same(outcome.hits, wanted[text]))
            except Exception:
                wrong += 1
            (after if killed_at else before).append(time.perf_counter() - begun)

    await asyncio.gather(*(ask(number, text) for number, text in enumerate(texts)))
    return {"failed": wrong, "recovery_ratio": round(float(np.quantile(after, 0.99) / np.median(before)), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="4,000 passages and 150 queries")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder, running(3) as cluster:
        found = asyncio.run(main_async(Path(folder), quick, cluster))
    found["load"] = round(os.getloadavg()[0], 1)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
