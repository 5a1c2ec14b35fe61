"""Step 7, without the model: the figures of merit from the records, on the `report` parts alone.

python -m training.evaluator.figures --prepared training/prepared --records RUN --calibration weights/calibration.json
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from training.evaluator.calibrate import RIGHT, merit
from training.evaluator.documents import SETS
from training.evaluator.metrics import area_under_curve, calibration_error, exact, f1, ndcg, recall
from training.evaluator.prepare import read_collection
from training.evaluator.records import Answering, Record, load_records, search_again

from wellread.core.effort import ALLOWED, Plan
from wellread.ranking.answers import AnswerWeights
from wellread.ranking.evaluator import RERANK_FIRST_LIST
from wellread.ranking.paths import Weights, log_probability, place_worth

DEFAULT_CONFIDENCE = 0.5  # of `quote`


def search_figures(
    records: Sequence[Record], answering: Answering, plan: Plan, weights: Weights, scoring: AnswerWeights
) -> dict[str, float]:
    """Recall, exact match, F1 and what a search cost, for one set at one effort."""
    rows: list[dict[str, float]] = []
    for record in records:
        found, missed = search_again(record, plan, weights)
        order = [key for key, _ in found.ranking]
        best = answering.best(record, found, weights, scoring)
        text = best.text if best else ""
        row = {f"recall@{depth}": recall(order, record.question.gold, depth) for depth in (1, 2, 5, 20)}
        row |= {"em": exact(text, record.question.answers), "f1": f1(text, record.question.answers)}
        rows.append({name: 100 * value for name, value in row.items()} | {"pairs": len(found.verdicts), "missed": missed})
    return {name: round(float(np.mean([row[name] for row in rows])), 1) for name in rows[0]} | {"questions": len(rows)}


def rerank_figures(records: Sequence[Record], depth: int) -> dict[str, float]:
    """nDCG@10 of the first list, of the model alone and of both together."""
    first, alone, both = [], [], []
    for record in records:
        head = [number for number in record.ranked[:depth] if (number,) in record.verdicts]
        logits = {number: record.verdicts[number,].relevance for number in head}
        fused = {number: logits[number] + RERANK_FIRST_LIST * place_worth(rank) for rank, number in enumerate(head)}
        first.append(ndcg(record.ranked, record.question.gold))
        alone.append(ndcg(sorted(head, key=lambda n: -logits[n]), record.question.gold))
        both.append(ndcg(sorted(head, key=lambda n: -fused[n]), record.question.gold))
    return {name: round(100 * float(np.mean(values)), 1) for name, values in (("first", first), ("alone", alone), ("both", both))}


def relevance_error(records: Sequence[Record], weights: Weights, depth: int) -> float:
    """Calibration error of relevance over the heads of the first lists."""
    judged = [
        (math.exp(log_probability(record.verdicts[number,].relevance, weights)), number in record.question.gold)
        for record in records
        for number in record.ranked[:depth]
        if (number,) in record.verdicts
    ]
    return round(calibration_error([said for said, _ in judged], [held for _, held in judged]), 3)


def selective_figures(
    records: Sequence[Record], answering: Answering, weights: Weights, scoring: AnswerWeights
) -> dict[str, float]:
    """Half of the questions with what they need taken out: how many are answered, how many of these wrongly."""
    removed = {record.question.id for record in records if record.variant == "without"}
    sure: list[tuple[bool, bool, float]] = []  # answerable, right, confidence
    for record in records:
        if record.variant == "open" and record.question.id in removed:
            continue
        found, _ = search_again(record, ALLOWED["normal"].plan, weights)
        best = answering.best(record, found, weights, scoring)
        answerable = record.variant == "open"
        right = answerable and best is not None and f1(best.text, record.question.answers) >= RIGHT
        sure.append((answerable, right, best.confidence if best else 0.0))
    given = [entry for entry in sure if entry[2] >= DEFAULT_CONFIDENCE]
    answerable = [entry for entry in sure if entry[0]]
    return {
        "answered": round(100 * sum(entry[2] >= DEFAULT_CONFIDENCE for entry in answerable) / len(answerable), 1),
        "wrong": round(100 * sum(not right for _, right, _ in given) / max(len(given), 1), 1),
        "auc": round(area_under_curve([entry[2] for entry in sure], [entry[1] for entry in sure]), 3),
        "ece": round(calibration_error([entry[2] for entry in sure], [entry[1] for entry in sure]), 3),
        "questions": len(sure),
    }


def document_figures(
    records: Sequence[Record], answering: Answering, weights: Weights, scoring: AnswerWeights
) -> dict[str, dict[str, float]]:
    """By kind of question, for questions that the documents answer; `refused` is of those that they do not."""
    rows: dict[str, list[tuple[bool, float, bool, bool]]] = {}  # answerable, confidence, right, found in the first five
    for record in records:
        found, _ = search_again(record, ALLOWED["normal"].plan, weights)
        best = answering.best(record, found, weights, scoring)
        answerable = record.variant == "open" and record.question.form != "none"
        near = bool({key for key, _ in found.ranking[:5]} & set(record.question.gold))
        row = answerable, best.confidence if best else 0.0, merit(best, record, answering.passages) >= RIGHT, near
        own = record.question.data
        groups = ("packages", f"{own} {record.question.kind}", own) if own in ("manuals", "written") else ()
        for group in ("all", f"kind {record.question.kind}", *groups):
            rows.setdefault(group, []).append(row)
    return {group: _answered(own) for group, own in rows.items() if sum(answerable for answerable, *_ in own) >= 10}


def _answered(rows: Sequence[tuple[bool, float, bool, bool]]) -> dict[str, float]:
    can = [row for row in rows if row[0]]
    cannot = [row for row in rows if not row[0]]
    given = [row for row in can if row[1] >= DEFAULT_CONFIDENCE]
    shares = {
        "near": [near for *_, near in can],
        "best right": [right for _, _, right, _ in can],
        "right": [right and sure >= DEFAULT_CONFIDENCE for _, sure, right, _ in can],
        "wrong": [not right and sure >= DEFAULT_CONFIDENCE for _, sure, right, _ in can],
        "refused": [sure < DEFAULT_CONFIDENCE for _, sure, _, _ in cannot],
    }
    figures = {name: round(100 * float(np.mean(held)), 1) for name, held in shares.items() if held}
    sure, right = [row[1] for row in rows], [row[2] for row in rows]
    figures |= {"auc": round(area_under_curve(sure, right), 3), "ece": round(calibration_error(sure, right), 3)}
    return figures | {"answerable": len(can), "not": len(cannot), "given": len(given)}


def gold_reading(records: Sequence[Record]) -> dict[str, float]:
    """Reading the gold paragraph itself."""
    texts = [(record.verdicts[record.question.gold[0],].text, record.question.answers) for record in records]
    scores = {"em": [exact(text, answers) for text, answers in texts], "f1": [f1(text, answers) for text, answers in texts]}
    return {name: round(100 * float(np.mean(values)), 1) for name, values in scores.items()}


def all_figures(
    records: Sequence[Record],
    answering: Answering,
    weights: Weights,
    scoring: AnswerWeights,
    efforts: Sequence[str] = ("normal", "high"),
) -> dict[str, object]:
    """Everything, by set; one-step questions are searched at the first effort alone."""
    figures: dict[str, object] = {}
    if told := [record for record in records if record.question.data in SETS]:
        figures["documents"] = document_figures(told, answering, weights, scoring)
    for name in sorted({record.question.data for record in records} - set(SETS)):
        own = [record for record in records if record.question.data == name]
        asked = [record for record in own if record.variant == "open"]
        entry: dict[str, object] = {"relevance_ece": relevance_error(asked, weights, 24)}
        if name == "scifact":
            entry |= {f"ndcg@10 of {depth}": rerank_figures(asked, depth) for depth in (24, 60)}
        else:
            chosen = efforts if asked[0].question.hops > 1 else efforts[:1]
            entry |= {effort: search_figures(asked, answering, ALLOWED[effort].plan, weights, scoring) for effort in chosen}
        if name == "squad":
            entry["gold"] = gold_reading(asked)
            if len(own) > len(asked):
                entry["selective"] = selective_figures(own, answering, weights, scoring)
        figures[name] = entry
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, required=True)
    parser.add_argument("--part", choices=("tune", "report"), default="report")
    parser.add_argument("--efforts", nargs="+", choices=("normal", "high"), default=["normal", "high"])
    options = parser.parse_args(arguments)
    content = json.loads(options.calibration.read_text(encoding="utf-8"))
    files = sorted(options.records.glob("records-*.jsonl.gz"))
    records = [
        record for path in files for record in load_records(path, content["floor"]) if record.question.part == options.part
    ]
    weights, scoring = Weights(**content["weights"]), AnswerWeights(**content["answers"])
    answering = Answering(read_collection(options.prepared / "collection.jsonl.xz").passages)
    print(json.dumps(all_figures(records, answering, weights, scoring, options.efforts), indent=1))


if __name__ == "__main__":
    main()
