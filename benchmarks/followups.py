"""How follow-up questions are understood by rules, on real conversations.

    python benchmarks/followups.py --data DIR [--data DIR …] [--others DIR …] [--part tuned|kept] [--show N] [--quick]

DATA holds `corpus.jsonl.gz` and `questions.jsonl.gz` whose questions may have a `history` (questions and answers in turn).
Measured: how many follow-ups are changed or asked back; whether the gold passage is found by words (BM25, first five)
with the question as it was asked, as it was understood, and with the last question joined to it; and how many questions
that stand alone (those without a history, also of `--others`) stay untouched behind somebody else's conversation.
The parts are halves by a hash of the id: rules are written on `tuned`, figures are told of `kept`.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import zlib
from pathlib import Path
from typing import Any

from wellread.questions.followups import understand
from wellread.sources.memory import Memory
from wellread.types import Passage

Row = dict[str, Any]
History = list[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, action="append", default=[])
    parser.add_argument("--others", type=Path, action="append", default=[])
    parser.add_argument("--part", choices=("tuned", "kept"), default="kept")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    result = {folder.name: asyncio.run(_followups(folder, given.part, given.show, given.quick)) for folder in given.data}
    result["alone"] = _alone([*given.data, *given.others], given.part, given.show)
    print(json.dumps(result))


async def _followups(folder: Path, part: str, show: int, quick: bool) -> dict[str, float]:
    rows = [row for row in _rows(folder / "questions.jsonl.gz") if row.get("history") and _part(row) == part]
    rows = rows[:100] if quick else rows
    index = Memory([Passage(row["id"], row["text"], row.get("title", "")) for row in _rows(folder / "corpus.jsonl.gz")], "", None)
    count: dict[str, int] = dict.fromkeys(("changed", "asked_back", "found_as_asked", "found_understood", "found_joined"), 0)
    among: dict[str, int] = dict.fromkeys(("changed_found_as_asked", "changed_found_understood", "changed_found_joined"), 0)
    for row in rows:
        turns = _turns(row)
        meant = understand(row["question"], turns)
        asked = {
            "as_asked": row["question"],
            "understood": meant.question,
            "joined": f"{turns[-1][0]} {row['question']}",
        }
        changed = meant.question != row["question"]
        count["changed"] += changed
        count["asked_back"] += bool(meant.asks)
        for name, text in asked.items():
            found = bool({hit.id for hit in await index.search(text, 5)} & set(row["gold"]))
            count[f"found_{name}"] += found
            if changed:
                among[f"changed_found_{name}"] += found
        if show and (changed or meant.asks):
            show -= 1
            print(f"{turns[-1][0][:90]} | {turns[-1][1][:60]!r}\n    {row['question']}\n  → {meant.asks or meant.question}")
    shares = {name: round(value / len(rows), 3) for name, value in count.items()}
    return {"followups": len(rows), **shares, **{k: round(v / max(1, count["changed"]), 3) for k, v in among.items()}}


def _alone(folders: list[Path], part: str, show: int) -> dict[str, float]:
    """Questions that stand alone, each behind a conversation about something else."""
    every = [row for folder in folders for row in _rows(folder / "questions.jsonl.gz")]
    histories = [_turns(row) for row in every if row.get("history")]
    alone = [row for row in every if not row.get("history") and not row.get("followup") and _part(row) == part]
    chance = random.Random(0)
    chance.shuffle(alone)
    alone, touched, asked_back = alone[:2_000], 0, 0
    for row in alone:
        meant = understand(row["question"], chance.choice(histories))
        touched += meant.question != row["question"]
        asked_back += bool(meant.asks)
        if show and (meant.asks or meant.question != row["question"]):
            show -= 1
            print(f"ALONE {row['question']}\n  → {meant.asks or meant.question}")
    return {"questions": len(alone), "touched": round(touched / len(alone), 4), "asked_back": round(asked_back / len(alone), 4)}


def _turns(row: Row) -> History:
    said: list[str] = row["history"]
    return list(zip(said[::2], said[1::2], strict=False))


def _part(row: Row) -> str:
    return "kept" if zlib.crc32(str(row["id"]).encode()) % 2 else "tuned"


def _rows(file: Path) -> list[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
