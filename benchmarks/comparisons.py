"""How often `quote` decides "Which was released first, A or B?" rightly: by two values and a program, and by reading alone.

    python benchmarks/comparisons.py --data DIR [--part tuned|kept] [--limit N] [--effort normal|low] [--show] [--quick]

DATA holds `corpus.jsonl.gz` and `questions.jsonl.gz`. Those of its questions that `questions/comparisons.py` can take apart are
asked, each over its own `context` passages. Right: the headline is the answer. The parts are halves by a hash of the id.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wellread import events
from wellread.engine import Engine
from wellread.evals.results import f1
from wellread.protocols import Source
from wellread.questions.comparisons import comparison
from wellread.settings import Settings
from wellread.sources.memory import Memory
from wellread.strategies import quote
from wellread.types import Answer, Hit, Passage, Query

Row = dict[str, Any]


class Context(Source):
    """The passages that came with a question."""

    name, hint = "context", ""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._memory = Memory(passages, "context", None)

    async def search(self, query: Query) -> Sequence[Hit]:
        return await self._memory.search(query.text, query.limit)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("tuned", "kept"), default="kept")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    questions = [
        row for row in _rows(given.data / "questions.jsonl.gz") if comparison(row["question"]) and _part(row) == given.part
    ]
    questions = questions[: 10 if given.quick else given.limit]
    wanted = {one for row in questions for one in row["context"]}
    texts = {row["id"]: row for row in _rows(given.data / "corpus.jsonl.gz") if row["id"] in wanted}
    count = asyncio.run(_asked(questions, texts, given.effort, given.show))
    shares = {name: round(number / len(questions), 3) for name, number in sorted(count.items())}
    print(json.dumps({"data": given.data.name, "part": given.part, "questions": len(questions), **shares}))


async def _asked(questions: list[Row], texts: dict[str, Row], effort: str, show: bool) -> Counter[str]:
    count: Counter[str] = Counter()
    for row in questions:
        passages = [Passage(one, texts[one]["text"], texts[one].get("title", "")) for one in row["context"] if one in texts]
        engine = Engine(Settings(model="none", effort=effort), source=Context(passages))  # pyright: ignore[reportArgumentType]
        decided = await _answer(engine, row["question"])
        by = "compared" if decided.notes else "read"
        count[f"{by}_{_verdict(decided, row)}"] += 1
        quote.comparisons.comparison = _none  # as if no question could be taken apart
        count[f"reading_alone_{_verdict(await _answer(engine, row['question']), row)}"] += 1
        quote.comparisons.comparison = comparison
        if show:
            print(by, _verdict(decided, row), row["question"], "|", decided.short, decided.notes, row["answers"], flush=True)
    return count


def _none(question: str) -> None:
    del question


async def _answer(engine: Engine, question: str) -> Answer:
    async for event in engine.stream(question, strategy="quote"):
        if isinstance(event, events.Answered):
            return event.answer
    raise AssertionError("a stream ends with Answered")


def _verdict(answer: Answer, row: Row) -> str:
    if answer.outcome != "answered":
        return "refused"
    return "right" if f1(answer.short or "", row["answers"]) > 0.6 else "wrong"


def _part(row: Row) -> str:
    return "kept" if zlib.crc32(str(row["id"]).encode()) % 2 else "tuned"


def _rows(file: Path) -> list[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
