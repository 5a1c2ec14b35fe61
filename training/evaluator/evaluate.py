"""Step 3: search the closed sets and record everything. `train` does this at its end, wide, to calibrate with. By itself:

    python -m training.evaluator.evaluate --weights RUN --output RUN                         as `train` does
    python -m training.evaluator.evaluate --shipped src/wellread/ranking/weights --effort normal --output DIR

The second is step 6: the int8 file as the engine runs it, with its calibration, windows and plan. The figures
are made from the records, by `figures`, without the model.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from training.evaluator.closed import ClosedSet, search_all
from training.evaluator.data import Part, Question, closed_corpus, documents_corpus
from training.evaluator.documents import SETS, chance
from training.evaluator.judging import Judging, by_shipped, by_weights
from training.evaluator.minilm import read_minilm
from training.evaluator.model import State, widened
from training.evaluator.records import Record, save_records
from training.evaluator.sources import MINILM, Prepared, load_prepared, say
from training.evaluator.tokens import TokenTable
from training.evaluator.weights import load_weights

from wellread.core.effort import ALLOWED, Plan, Windows
from wellread.core.processors import available_processors
from wellread.ranking.evaluator import MODEL
from wellread.ranking.paths import Weights

# As wide as the widest plan of the engine, so that narrower ones can be replayed.
WIDE = Plan(singles=50, firsts=5, seconds=28, reads=6)
NARROW = Plan(singles=24, firsts=3, seconds=11, reads=4)
ALONE = Plan(singles=60)
TINY = Plan(singles=4, firsts=2, seconds=2, reads=2)  # to see that it runs
PLANS: Mapping[str, Plan] = {
    "hotpotqa": WIDE,
    "2wiki": WIDE,
    "musique_train100": WIDE,
    "squad": NARROW,
    "scifact": ALONE,
    "nq_open_oracle": NARROW,
    "documents": ALLOWED["normal"].plan,
}


@dataclass(frozen=True, slots=True)
class Searching:
    """How the sets are searched: who judges, how much, and what a ranking is made of."""

    judging: Judging
    plans: Mapping[str, Plan]
    weights: Weights
    limit: int | None = None  # questions of each set


def held_out(prepared: Prepared, name: str, limit: int | None) -> list[Question]:
    """The questions nobody trained on; with a limit, a third of them to tune with."""
    tune, report = (prepared.collection.of(name, part) for part in ("tune", "report"))
    return tune + report if limit is None else tune[: limit // 3] + report[: limit - limit // 3]


def record_set(searching: Searching, prepared: Prepared, name: str) -> list[Record]:
    """One set as it is, and some of its questions with what they need taken out of the corpus.

    For SQuAD that is every other question's article, for the two-step sets the gold passages of the `tune` part.
    """
    plan = searching.plans[name]
    questions = held_out(prepared, name, searching.limit)
    table = TokenTable(prepared.tokenizer, [question.text for question in questions])
    ids = [table.ids(row) for row in range(len(questions))]
    corpus = closed_corpus(prepared.collection, name)
    closed = ClosedSet(prepared, corpus)
    gold = [[(number,) for number in question.gold[:1]] for question in questions]
    judging, weights = searching.judging, searching.weights
    records = search_all(judging, closed, questions, ids, plan, weights, variant="open", also=gold)
    if name in ("squad", "hotpotqa", "2wiki"):
        every_other = name == "squad"
        chosen = [row for row, q in enumerate(questions) if (row % 2 if every_other else q.part == "tune")]
        titles = [{prepared.collection.passages[n].title for n in questions[row].gold} for row in chosen]
        absent = [{n for n in corpus if prepared.collection.passages[n].title in own} for own in titles]
        asked, asked_ids = [questions[row] for row in chosen], [ids[row] for row in chosen]
        plan = min(plan, NARROW, key=lambda p: p.pairs)
        records += search_all(judging, closed, asked, asked_ids, plan, weights, variant="without", without=absent)
    return records


def record_documents(searching: Searching, prepared: Prepared, part: Part, most: int) -> list[Record]:
    """Questions on documents, asked of all held-out documents of a part; every other one again without what answers it."""
    questions: list[Question] = []
    for name in SETS:
        own = sorted((q for q in prepared.collection.of(name, part) if q.gold), key=lambda q: chance("asked", q.id))
        questions += own[: most * {"manuals": 2, "written": 8}.get(name, 1)]
    if not questions:
        return []
    table = TokenTable(prepared.tokenizer, [question.text for question in questions])
    ids = [table.ids(row) for row in range(len(questions))]
    closed = ClosedSet(prepared, documents_corpus(prepared.collection, part))
    judging, weights, plan = searching.judging, searching.weights, searching.plans["documents"]
    records = search_all(judging, closed, questions, ids, plan, weights, variant="open")
    chosen = [row for row, question in enumerate(questions) if row % 2 and question.form != "none"]
    absent = [set(questions[row].gold) for row in chosen]
    asked, asked_ids = [questions[row] for row in chosen], [ids[row] for row in chosen]
    return records + search_all(judging, closed, asked, asked_ids, plan, weights, variant="without", without=absent)


def evaluate(searching: Searching, prepared: Prepared, output: Path, started: float, sets: Sequence[str] = ()) -> None:
    """Record all sets, or those named, in a file for each."""
    output.mkdir(parents=True, exist_ok=True)
    for name in sets or searching.plans:
        path = output / f"records-{name}.jsonl.gz"
        path.unlink(missing_ok=True)
        if name == "documents":
            most = 60 if searching.limit is None else searching.limit // 4
            records = [r for part in ("tune", "report") for r in record_documents(searching, prepared, part, most)]
        else:
            records = record_set(searching, prepared, name)
        save_records(records, path)
        say(started, f"{name}: {len(records)} searches, {sum(len(record.verdicts) for record in records)} chains")


def in_training(state: State, prepared: Prepared, limit: int | None = None, *, quick: bool = False) -> Searching:
    """The model in torch, its windows whole; `quick` only sees that it runs."""
    plans = dict.fromkeys(PLANS, TINY) if quick else PLANS
    return Searching(by_weights(state, prepared.table, prepared.device, Windows()), plans, Weights(), limit)


def as_shipped(folder: Path, effort: str, prepared: Prepared, minilm: Path, limit: int | None) -> Searching:
    """The int8 file with the calibration beside it, as the engine uses it at an effort."""
    content = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
    limits = ALLOWED["high" if effort == "high" else "normal"].windows
    threads, tokenizer = available_processors(), minilm / "tokenizer.json"
    judging = by_shipped(folder / MODEL, tokenizer, prepared.collection, limits, threads, content["floor"])
    plan = ALLOWED[effort].plan
    two_steps = dict.fromkeys(("hotpotqa", "2wiki", "musique_train100"), plan)
    alone = {"scifact": Plan(singles=24 if effort == "normal" else 60)}
    plans = two_steps | alone | (dict.fromkeys(("squad", "nq_open_oracle", "documents"), plan) if effort == "normal" else {})
    return Searching(judging, plans, Weights(**content["weights"]), limit)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, default=Path("training/prepared"))
    parser.add_argument("--minilm", type=Path, default=MINILM)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--weights", type=Path, help="the folder of a training run")
    which.add_argument("--shipped", type=Path, help="the folder of the int8 file and its calibration")
    parser.add_argument("--effort", choices=("normal", "high"), default="normal", help="of the engine, with --shipped")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="questions of each set")
    parser.add_argument("--sets", nargs="+", default=(), help="some sets alone")
    parser.add_argument("--normal", action="store_true", help="with --weights: the plan and the windows of effort normal")
    parser.add_argument("--alone", type=int, help="with --normal: tokens of a passage that is read by itself")
    options = parser.parse_args(arguments)
    gc.disable()  # as in training
    started = time.monotonic()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    prepared = load_prepared(options.prepared, options.minilm, device, started)
    if options.shipped:
        searching = as_shipped(options.shipped, options.effort, prepared, options.minilm, options.limit)
    else:
        kind = torch.bfloat16 if device.type == "cuda" else torch.float32
        earlier = read_minilm(options.weights) if options.weights.is_file() else load_weights(options.weights)
        state = widened({name: torch.from_numpy(value) for name, value in earlier.items()})
        working = {name: value.to(device, kind) for name, value in state.items()}
        searching = in_training(working, prepared, options.limit)
        if options.normal:
            plans = {name: ALLOWED["normal"].plan for name in PLANS} | {"scifact": Plan(singles=24)}
            limits = ALLOWED["normal"].windows
            limits = replace(limits, alone=options.alone or limits.alone)
            searching = Searching(by_weights(working, prepared.table, device, limits), plans, Weights(), options.limit)
    evaluate(searching, prepared, options.output, started, options.sets)


if __name__ == "__main__":
    main()
