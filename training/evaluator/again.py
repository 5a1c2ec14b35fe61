"""Step 3c, on any machine: recorded searches judged once more by another file, so that no GPU is needed to calibrate it.

    python -m training.evaluator.again --prepared training/prepared --records RUN --model evaluator.onnx --output RUN2 --most 60

What was found for a question stays as it was recorded; only the verdicts are new. `--most` is the questions of a part.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

from training.evaluator.data import Passage
from training.evaluator.prepare import read_collection
from training.evaluator.records import Record, load_records, save_records
from training.evaluator.sources import MINILM, say

from wellread.core.effort import ALLOWED
from wellread.core.processors import available_processors
from wellread.ranking.judge import Judge
from wellread.ranking.paths import Score, Weights, search_paths
from wellread.types import Passage as Told


def judged_again(judge: Judge, passages: Sequence[Passage], record: Record) -> Record:
    """The search at `normal` with the judge's verdicts."""

    def told(number: int) -> Told:
        return Told(str(number), passages[number].text, passages[number].title)

    new = replace(record, verdicts={})
    search = search_paths(record.ranked, ALLOWED["normal"].plan, Weights())
    try:
        request = next(search)
        while True:
            if isinstance(request, Score):
                found = judge.judge(record.question.text, [tuple(map(told, chain)) for chain in request.chains])
                new.verdicts |= zip(request.chains, found, strict=True)
                request = search.send(found)
            else:
                request = search.send([record.collected.get(chain, []) for chain in request.chains])
    except StopIteration:
        return new


def drawn(records: Sequence[Record], most: int) -> list[Record]:
    """As many of each part, with and without what answers them."""
    chosen: list[Record] = []
    for _, own in groupby(sorted(records, key=_part), key=_part):
        members = list(own)
        chosen += random.Random(1).sample(members, min(most, len(members)))
    return chosen


def _part(record: Record) -> tuple[str, str]:
    return record.question.part, record.variant


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", default=["tune", "report"])
    parser.add_argument("--sets", nargs="+", default=["documents", "hotpotqa", "2wiki", "squad", "nq_open_oracle"])
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--floor", type=float, default=-99.0, help="rows below it end after half of the layers")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    passages = read_collection(options.prepared / "collection.jsonl.xz").passages
    windows, threads = ALLOWED["normal"].windows, available_processors()
    judge = Judge(options.model, MINILM / "tokenizer.json", threads, windows, floor=options.floor)
    for name in options.sets:
        path = f"records-{name}.jsonl.gz"
        records = [record for record in load_records(options.records / path) if record.question.part in options.parts]
        with ThreadPoolExecutor(available_processors()) as pool:
            again = list(pool.map(partial(judged_again, judge, passages), drawn(records, options.most)))
        (options.output / path).unlink(missing_ok=True)
        save_records(again, options.output / path)
        say(started, f"{name}: {len(again)} searches")


if __name__ == "__main__":
    main()
