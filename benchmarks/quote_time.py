"""Processor time of a `quote` answer over 10,000 passages at normal effort, against another version.

    git archive 64a89ba | tar -x -C OLD
    python benchmarks/quote_time.py --against OLD

12 questions each of HotpotQA, 2Wiki and SQuAD from ../shared/data that nothing was trained or tuned on, and 10,000 passages
around them. Both versions answer side by side, so that both have the machine as busy; each builds an index of its own. It is
searched by words (`meaning=false`), so its vectors are drawn by chance: embedding them would take longer than all the rest.

Printed for each set and for all: the medians of user and system time, their ratio and the median of each question's ratio; the
pairs read in the mean; how many are answered, and with the answer in the text.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import runpy
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
DATA = HERE.parents[2] / "shared" / "data"
PASSAGES = {"hotpotqa": 4_500, "2wiki": 4_500, "squad": 1_000}
EACH = 12


def prepared(folder: Path) -> None:
    """Write the passages and the questions."""
    from training.evaluator.data import load_collection

    collection, chosen, asked = load_collection(DATA, tuple(PASSAGES)), dict[int, None](), list[dict[str, Any]]()
    for name, count in PASSAGES.items():
        drawn = random.Random(name)
        questions = sorted(collection.of(name, "report"), key=lambda one: one.id)
        for question in drawn.sample(questions, EACH):
            asked.append({"set": name, "question": question.text, "answers": question.answers})
            chosen |= dict.fromkeys((*question.gold, *question.context))
        numbers = list(collection.ranges[name])
        have = sum(number in chosen for number in numbers)
        others = [number for number in numbers if number not in chosen]
        chosen |= dict.fromkeys(drawn.sample(others, min(len(others), max(0, count - have))))
    with (folder / "passages.jsonl").open("w", encoding="utf-8") as out:
        for number in chosen:
            passage = collection.passages[number]
            out.write(json.dumps({"id": str(number), "title": passage.title, "text": passage.text}) + "\n")
    (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")


def build(folder: Path, index: str) -> None:
    """An index by whatever version is imported, with vectors by chance."""
    import numpy as np

    from wellread.embedding.onnx import OnnxEmbedder

    chance = np.random.default_rng(0)

    async def embed(_: OnnxEmbedder, texts: Sequence[str], **_options: object) -> Any:
        vectors = chance.standard_normal((len(texts), 384)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    OnnxEmbedder.embed = embed  # pyright: ignore[reportAttributeAccessIssue]
    sys.argv = ["wellread", "index", "build", str(folder / "passages.jsonl"), "--output", str(folder / index)]
    runpy.run_module("wellread", run_name="__main__")


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def answer(folder: Path, index: str) -> None:
    from wellread import settings
    from wellread.engine import Engine

    asked = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    source = f"index:{folder / index}?meaning=false"
    async with Engine(settings.load({"effort": "normal", "sources": [source]})) as engine:
        for question in ("Who wrote Hamlet?", "Which river flows through Paris?"):
            await engine.ask(question, strategy="quote")
        for one in asked:
            before = spent()
            said = await engine.ask(one["question"], strategy="quote")
            told = {"seconds": spent() - before, "pairs": said.usage.pairs, "answered": said.outcome == "answered"}
            held = any(answer.casefold() in f"{said.short or ''} {said.text}".casefold() for answer in one["answers"])
            print(json.dumps(one | told | {"right": told["answered"] and held}), flush=True)


def figures(new: Sequence[dict[str, Any]], old: Sequence[dict[str, Any]]) -> dict[str, float]:
    seconds = [[one["seconds"] for one in rows] for rows in (new, old)]
    medians = [statistics.median(one) for one in seconds]
    found: dict[str, float] = {
        "ratio": medians[0] / medians[1],
        "ratio_of_each": statistics.median(a / b for a, b in zip(*seconds, strict=True)),
    }
    for name, rows, median in (("new", new, medians[0]), ("old", old, medians[1])):
        found |= {f"{name}_seconds": median, f"{name}_pairs": statistics.mean(one["pairs"] for one in rows)}
        found |= {f"{name}_{key}": sum(one[key] for one in rows) for key in ("answered", "right")}
    return {name: round(value, 3) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="the unpacked tree of another version")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)  # build or answer, folder, index
    options = parser.parse_args()
    if options.child:
        what, folder, index = options.child
        build(Path(folder), index) if what == "build" else asyncio.run(answer(Path(folder), index))
        return
    if options.against is None:
        parser.error("--against is missing")
    with tempfile.TemporaryDirectory() as made:
        prepared(Path(made))
        trees = {"new": HERE.parents[1], "old": options.against.resolve()}
        for name, tree in trees.items():
            subprocess.run(_child("build", made, name), env=_of(tree), check=True, stdout=subprocess.DEVNULL)
        runs = {
            name: subprocess.Popen(_child("answer", made, name), env=_of(tree), stdout=subprocess.PIPE, text=True)
            for name, tree in trees.items()
        }
        new, old = ([json.loads(line) for line in run.communicate()[0].splitlines()] for run in runs.values())
    for name in (*PASSAGES, "all"):
        chosen = [[row for row in rows if name in ("all", row["set"])] for rows in (new, old)]
        print(json.dumps({"set": name} | figures(*chosen)))


def _child(what: str, folder: str, index: str) -> list[str]:
    return [sys.executable, str(HERE), "--child", what, folder, index]


def _of(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(HERE.parents[1])])}


if __name__ == "__main__":
    main()
