"""Step 3: search the closed sets with trained weights and record everything.

`train` does this at its end; by itself:

    python -m training.evaluator.evaluate --prepared training/prepared --weights RUN --output RUN

The figures are made from the records, by `figures`, without the model.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from training.evaluator.closed import ClosedSet, search_all
from training.evaluator.data import Question, closed_corpus
from training.evaluator.model import State
from training.evaluator.records import Record, save_records
from training.evaluator.sources import MINILM, Prepared, load_prepared, say
from training.evaluator.tokens import TokenTable
from training.evaluator.weights import load_weights

from wellread.ranking.paths import Plan

# As wide as the widest plan of the engine, so that narrower ones can be replayed.
WIDE = Plan(singles=50, firsts=5, seconds=28, thirds=3, third_width=14, reads=6)
NARROW = Plan(singles=24, firsts=3, seconds=11, reads=4)
ALONE = Plan(singles=60)
PLANS = {"hotpotqa": WIDE, "2wiki": WIDE, "musique_train100": WIDE, "squad": NARROW, "scifact": ALONE, "nq_open_oracle": NARROW}
FILES = {"hotpotqa": "hotpotqa", "2wiki": "2wiki"}
TINY = Plan(singles=4, firsts=2, seconds=2, thirds=1, third_width=1, reads=2)  # to see that it runs
PLANS = {
    "hotpotqa": WIDE,
    "2wiki": WIDE,
    "musique_train100": WIDE,
    "squad": NARROW,
    "scifact": ALONE,
    "nq_open_oracle": NARROW,
}


def held_out(prepared: Prepared, name: str, limit: int | None) -> list[Question]:
    """The questions nobody trained on; with a limit, a third of them to tune with."""
    tune, report = (prepared.collection.of(name, part) for part in ("tune", "report"))
    return tune + report if limit is None else tune[: limit // 3] + report[: limit - limit // 3]


def record_set(state: State, prepared: Prepared, name: str, plan: Plan, limit: int | None) -> list[Record]:
    """One set as it is, and some of its questions with what they need taken out of the corpus.

    For SQuAD that is every other question's article, for the two-step sets the gold passages of the `tune` part.
    """
    questions = held_out(prepared, name, limit)
    table = TokenTable(prepared.tokenizer, [question.text for question in questions])
    ids = [table.ids(row) for row in range(len(questions))]
    corpus = closed_corpus(prepared.collection, name)
    closed = ClosedSet(prepared, corpus)
    gold = [[(number,) for number in question.gold[:1]] for question in questions]
    records = search_all(state, closed, prepared, questions, ids, plan, variant="open", also=gold)
    if name in ("squad", "hotpotqa", "2wiki"):
        every_other = name == "squad"
        chosen = [row for row, q in enumerate(questions) if (row % 2 if every_other else q.part == "tune")]
        titles = [{prepared.collection.passages[n].title for n in questions[row].gold} for row in chosen]
        absent = [{n for n in corpus if prepared.collection.passages[n].title in own} for own in titles]
        asked, asked_ids = [questions[row] for row in chosen], [ids[row] for row in chosen]
        records += search_all(
            state, closed, prepared, asked, asked_ids, min(plan, NARROW, key=lambda p: p.pairs), variant="without", without=absent
        )
    return records


def evaluate(
    state: State, prepared: Prepared, output: Path, started: float, limit: int | None = None, *, quick: bool = False
) -> None:
    """Record all sets, in three files; `quick` only sees that it runs."""
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("records-*.jsonl.gz"):
        old.unlink()
    for name, plan in PLANS.items():
        records = record_set(state, prepared, name, TINY if quick else plan, limit)
        save_records(records, output / f"records-{FILES.get(name, 'rest')}.jsonl.gz")
        say(started, f"{name}: {len(records)} searches, {sum(len(record.verdicts) for record in records)} chains")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--minilm", type=Path, default=MINILM)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="questions of each set")
    options = parser.parse_args(arguments)
    gc.disable()  # as in training
    started = time.monotonic()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    prepared = load_prepared(options.prepared, options.minilm, device, started)
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    state = {name: torch.from_numpy(value).to(device, kind) for name, value in load_weights(options.weights).items()}
    evaluate(state, prepared, options.output, started, options.limit)


if __name__ == "__main__":
    main()
