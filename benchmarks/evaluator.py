"""Speed of the evaluator, in one run against the same file used naively.

    python benchmarks/evaluator.py [--quick]

`pairs_per_second` and `naive_ratio`: one thread; naive is a default onnxruntime session, one pair a call, every passage whole
(cut at the model's 512 tokens). A quarter of the work of a `normal` answer: passages alone and after another, over three kinds
of passages: the library's (`library_ratio`), HotpotQA's (`short_ratio`), and articles cut into passages of 250 tokens as
`wellread index build` cuts them (`cut_ratio`, which is also `naive_ratio`). `threads_ratio`: all processors against one thread.

`quote_normal_seconds`, `quote_low_seconds`: a `quote` answer over 10,000 passages of HotpotQA, median of questions in one process
after the first. Without ../shared/data only the library is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from wellread.core.effort import ALLOWED, Effort
from wellread.engine import Engine
from wellread.index.build import BuildOptions, build
from wellread.index.search import LocalIndex
from wellread.ranking.evaluator import MODEL, SHIPPED, TOKENIZER
from wellread.ranking.judge import Chain, Judge, words_in
from wellread.settings import Settings
from wellread.sources.index import library_path
from wellread.text.split import Splitting, split
from wellread.types import Passage

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CORPUS = 10_000


def rows(name: str, file: str, limit: int) -> list[dict[str, Any]]:
    path = DATA / name / f"{file}.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line, _ in zip(lines, range(limit), strict=False)]


def hotpot(limit: int) -> list[Passage]:
    return [Passage(row["id"], row["text"], row["title"]) for row in rows("hotpotqa", "corpus", limit)]


def cut_articles(limit: int) -> list[Passage]:
    """SQuAD's paragraphs joined to articles and cut as the index cuts them."""
    articles: dict[str, list[str]] = {}
    for row in rows("squad", "corpus", 600):
        articles.setdefault(row["title"], []).append(row["text"])
    cut = [(title, text) for title, texts in articles.items() for text in split(texts, Splitting())]
    return [Passage(f"{title}-{n}", text, title) for n, (title, text) in enumerate(cut[:limit])]


def library(limit: int) -> list[Passage]:
    index = LocalIndex.open(library_path())
    return [index.hit(row).passage() for row in range(limit)]


def work(passages: Sequence[Passage], question: str) -> tuple[str, list[Chain]]:
    """A quarter of a `normal` answer: passages alone, and passages after the first."""
    step = max(1, len(passages) // 12)
    chosen = passages[::step][:12]
    return question, [*((one,) for one in chosen[:6]), *((chosen[0], other) for other in chosen[6:])]


class Naive:
    """The model as its documentation would have it used: a pair a call, nothing left out before token 512."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(SHIPPED / MODEL), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(512)

    def judge(self, question: str, chains: Sequence[Chain]) -> None:
        for chain in chains:
            text = " ".join(f"{passage.title}. {passage.text}" for passage in chain)
            pair = self._tokenizer.encode(question, text)
            fed = {"input_ids": pair.ids, "token_type_ids": pair.type_ids, "attention_mask": pair.attention_mask}
            row = {name: np.array([value], np.int64) for name, value in fed.items()}
            words = words_in(SHIPPED).vectors(row["input_ids"])
            self._session.run(None, {**row, "words": words, "floor": np.array(-np.inf, np.float32)})


def seconds(judge: Judge | Naive, jobs: Sequence[tuple[str, list[Chain]]]) -> float:
    begun = time.perf_counter()
    for question, chains in jobs:
        judge.judge(question, chains)
    return time.perf_counter() - begun


def against_naive(passages: Sequence[Passage], rounds: int) -> tuple[float, float]:
    """Pairs a second on one thread, and how many times naive that is; the two take turns."""
    questions = ("Which river flows through the capital of Austria?", "Who wrote the novel that the film is based on?")
    jobs = [work(passages, question) for question in questions]
    ours, naive = Judge(SHIPPED / MODEL, TOKENIZER, 1, ALLOWED["normal"].windows), Naive()  # both read every row to its end
    seconds(ours, jobs[:1]), seconds(naive, jobs[:1])
    times = [(seconds(ours, jobs), seconds(naive, jobs)) for _ in range(rounds)]
    best, other = min(a for a, _ in times), min(b for _, b in times)
    return sum(len(chains) for _, chains in jobs) / best, other / best


def threads_ratio(passages: Sequence[Passage], rounds: int) -> float:
    jobs = [work(passages, "Which river flows through the capital of Austria?")] * 2
    one, all_of_them = (Judge(SHIPPED / MODEL, TOKENIZER, threads, ALLOWED["normal"].windows) for threads in (1, 0))
    seconds(one, jobs[:1]), seconds(all_of_them, jobs[:1])
    times = [(seconds(one, jobs), seconds(all_of_them, jobs)) for _ in range(rounds)]
    return min(a for a, _ in times) / min(b for _, b in times)


async def quote_seconds(folder: Path, questions: Sequence[str], effort: Effort) -> float:
    """The median time of an answer in a process that has answered before."""
    times: list[float] = []
    async with Engine(Settings(sources=(f"index:{folder}",), effort=effort, strategy="quote", model="none")) as engine:
        for question in questions:
            begun = time.perf_counter()
            await engine.ask(question)
            times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def quotes(questions: int) -> dict[str, float]:
    from benchmarks.index import RealFeed, real

    passages = hotpot(CORPUS)

    class Feed(RealFeed):
        async def batches(self, skip: int, scale: Any) -> Any:
            async for batch in super().batches(skip, scale):
                start = skip
                yield type(batch)(passages[start : start + len(batch.passages)], batch.rows, batch.codes)
                skip += len(batch.passages)

    asked = [str(row["question"]) for row in rows("hotpotqa", "questions", questions + 1)]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(build(Path(folder), Feed(real()[:CORPUS]), BuildOptions()))
        return {
            f"quote_{effort}_seconds": round(asyncio.run(quote_seconds(Path(folder), asked, effort)), 3)
            for effort in ("low", "normal")
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no answers, which want an hour of vectors")
    options = parser.parse_args()
    rounds = 2 if options.quick else 4
    result: dict[str, float] = {"int8_mb": round((SHIPPED / MODEL).stat().st_size / 1e6, 1)}
    sets = {"library": library(120), "short": hotpot(600), "cut": cut_articles(120)}
    for name, passages in sets.items():
        if passages:
            rate, ratio = against_naive(passages, rounds)
            result |= {"pairs_per_second": round(rate, 1), "naive_ratio": round(ratio, 2), f"{name}_ratio": round(ratio, 2)}
    result["threads_ratio"] = round(threads_ratio(sets["library"], rounds), 2)
    print(json.dumps(result), file=sys.stderr)
    if sets["short"] and not options.quick:
        result |= quotes(20)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
