"""Step 7, slow: the figures of the int8 file as the engine runs it, on a sample of the recorded questions.

    python -m training.evaluator.shipped --records RUN --prepared training/prepared --questions 100

The searches are run again with the first lists and candidates of the records, but every chain is judged by the shipped
model. Prints the figures of the shipped model and, for the same questions, those of the recorded one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from training.evaluator.data import Collection
from training.evaluator.figures import all_figures
from training.evaluator.prepare import read_collection
from training.evaluator.records import Record, load_records

from wellread.ranking.answers import AnswerWeights
from wellread.ranking.evaluator import LIMITS, SHIPPED, TOKENIZER
from wellread.ranking.judge import Judge
from wellread.ranking.paths import PLANS, Plan, Score, Verdict, Weights, search_paths
from wellread.types import Passage


def judged_again(record: Record, plan: Plan, weights: Weights, judge: Judge, collection: Collection) -> Record:
    """The record as the shipped model would have made it."""
    fresh = replace(record, verdicts={})

    def passage(number: int) -> Passage:
        found = collection.passages[number]
        return Passage(str(number), found.text, found.title)

    def verdicts(chains: Sequence[tuple[int, ...]]) -> list[Verdict]:
        given = judge.judge(record.question.text, [tuple(passage(number) for number in chain) for chain in chains])
        fresh.verdicts.update(zip(chains, given, strict=True))
        return given

    search = search_paths(record.ranked, plan, weights)
    try:
        request = next(search)
        while True:
            if isinstance(request, Score):
                request = search.send(verdicts(request.chains))
            else:
                request = search.send([record.collected.get(chain, []) for chain in request.chains])
    except StopIteration:
        pass
    if (record.question.gold[0],) not in fresh.verdicts:
        verdicts([(record.question.gold[0],)])
    return fresh


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--weights", type=Path, default=SHIPPED)
    parser.add_argument("--questions", type=int, default=100, help="of each set")
    parser.add_argument("--sets", nargs="*", default=["hotpotqa", "2wiki", "musique_train100", "squad"])
    parser.add_argument("--effort", choices=("normal", "high"), default="normal")
    options = parser.parse_args(arguments)
    content = json.loads((options.weights / "calibration.json").read_text(encoding="utf-8"))
    weights, scoring = Weights(**content["weights"]), AnswerWeights(**content["answers"])
    judge = Judge(options.weights / "evaluator.onnx", TOKENIZER, limits=LIMITS.get(options.effort))
    collection = read_collection(options.prepared / "collection.jsonl.xz")
    files = sorted(options.records.glob("records-*.jsonl.gz"))
    report = [record for path in files for record in load_records(path) if record.question.part == "report"]
    for name in options.sets:
        chosen = [r for r in report if r.question.data == name and r.variant == "open"][: options.questions]
        again = [judged_again(record, PLANS[options.effort], weights, judge, collection) for record in chosen]
        for label, records in (("recorded", chosen), ("shipped", again)):
            figures = all_figures(records, weights, scoring, efforts=(options.effort,))
            print(label, json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
