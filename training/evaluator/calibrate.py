"""Step 5, without the model: from the records, what turns the model's logits into probabilities.

    python -m training.evaluator.calibrate --prepared training/prepared --records RUN --model weights/evaluator.onnx

RUN holds the records of training, or of `evaluate --shipped` (then with `--efforts normal`). Fits on the `tune` parts alone and
writes `calibration.json` beside the model: a temperature and a bias for relevance, the weights of an answer's
score (a small grid; `--keep FILE` takes them from an earlier calibration), what is added to the logit that an answer is told in
sentences, and a logistic fit of how often such an answer is right, on encyclopaedias and documents, answerable or not.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.evaluator.data import Passage
from training.evaluator.documents import SETS
from training.evaluator.metrics import f1
from training.evaluator.prepare import read_collection
from training.evaluator.records import Answering, Record, load_records, search_again

from wellread.core.effort import ALLOWED
from wellread.ranking.answers import AnswerWeights, Best
from wellread.ranking.paths import Found, Weights

FITTED_ON = ("hotpotqa", "2wiki", "squad", "nq_open_oracle", "documents")
DEPTH = 24  # passages of the first list that relevance is fitted on
RIGHT = 0.5  # the F1 from which an answer counts as right
GRID = {"path": (0.6, 1.0, 1.5), "kind": (0.6, 1.0), "span": (0.2, 0.3, 0.5), "place": (0.25, 0.5, 1.0)}
DOUBTS = {"astray": (0.0, 0.5, 1.0, 2.0), "missing": (0.0, 1.0, 2.0, 4.0)}  # tried with the best of the others

TOLD = {"told": (0.0, 1.5, 3.0, 4.5)}  # last

Floats = NDArray[np.float64]


def field_of(record: Record) -> str:
    """The set of a question; all sets of documents are one."""
    return "documents" if record.question.data in SETS else record.question.data


def merit(best: Best[int] | None, record: Record, passages: Sequence[Passage]) -> float:
    """How right an answer is: F1 of words, or whether what is told carries the answer. Without what it needs, none is."""
    question = record.question
    if best is None or record.variant != "open" or question.form == "none":
        return 0.0
    if best.kind != "text" or not question.form:
        return f1(best.text, question.answers or ((question.form,) if question.form in ("yes", "no") else ()))
    number, start, end = best.chain[-1], best.verdict.start, best.verdict.end
    if question.answers:
        told = passages[number].text[start:end].casefold()
        return float(number in question.gold and any(answer.casefold() in told for answer in question.answers))
    marks = [(a, b) for marked, a, b in question.marks if marked == number]
    return float(number in question.gold and (not question.marks or any(a < end and start < b for a, b in marks)))


def logistic_fit(features: Floats, right: Floats, weights: Floats | None = None, ridge: float = 1e-3) -> Floats:
    """Coefficients and, last, the bias; Newton's method on standardised features."""
    mean, deviation = features.mean(0), features.std(0) + 1e-9
    design = np.c_[(features - mean) / deviation, np.ones(len(features))]
    share = np.ones(len(features)) if weights is None else weights
    fit = np.zeros(design.shape[1])
    penalty = ridge * share.sum() * np.diag([1.0] * features.shape[1] + [0.0])
    for _ in range(50):
        said = 1 / (1 + np.exp(-design @ fit))
        slope = design.T @ (share * (said - right)) + penalty @ fit
        curve = (design * (share * said * (1 - said))[:, None]).T @ design + penalty
        fit -= np.linalg.solve(curve + 1e-9 * np.eye(len(fit)), slope)
    return np.append(fit[:-1] / deviation, fit[-1] - (fit[:-1] * mean / deviation).sum())


def fit_relevance(records: Sequence[Record]) -> tuple[float, float]:
    """Temperature and bias; every set counts the same."""
    logits: list[float] = []
    right: list[bool] = []
    shares: list[float] = []
    for name in FITTED_ON:
        judged = [
            (record.verdicts[number,].relevance, number in record.question.gold)
            for record in records
            if field_of(record) == name and record.variant == "open"
            for number in record.ranked[:DEPTH]
            if (number,) in record.verdicts
        ]
        logits += [logit for logit, _ in judged]
        right += [hit for _, hit in judged]
        shares += [1 / max(1, len(judged))] * len(judged)
    slope, bias = logistic_fit(np.array(logits)[:, None], np.array(right, float), np.array(shares) * len(logits), 0.0)
    return 1 / float(slope), float(bias)


def fit_answers(
    records: Sequence[Record],
    answering: Answering,
    weights: Weights,
    efforts: Sequence[str] = ("normal", "high"),
    keep: AnswerWeights | None = None,
) -> AnswerWeights:
    """The grids' best weights over the sets and efforts, then the confidence at `normal`."""
    searched: dict[tuple[str, str], list[tuple[Record, Found[int]]]] = {}
    for record in records:
        for effort in efforts if record.question.hops > 1 else efforts[:1]:
            found, _ = search_again(record, ALLOWED[effort].plan, weights)
            searched.setdefault((field_of(record), effort), []).append((record, found))
    normal = {name: pairs for (name, effort), pairs in searched.items() if effort == "normal"}
    answerable = [[pair for pair in pairs if pair[0].variant == "open"] for pairs in searched.values()]

    def overall(scoring: AnswerWeights) -> float:
        return sum(np.mean([quality(*pair, scoring)[1] for pair in pairs]) for pairs in answerable if pairs)

    def quality(record: Record, found: Found[int], scoring: AnswerWeights) -> tuple[Best[int] | None, float]:
        """The best answer and its F1; with what it needs taken out of the corpus no answer is right."""
        best = answering.best(record, found, weights, scoring)
        return best, merit(best, record, answering.passages)

    scoring = keep or AnswerWeights()
    for grid in (TOLD,) if keep else (GRID, DOUBTS, TOLD):
        options = (replace(scoring, **dict(zip(grid, values, strict=True))) for values in itertools.product(*grid.values()))
        scoring = max(options, key=overall)
    return replace(scoring, **_confidence({name: [quality(*pair, scoring) for pair in pairs] for name, pairs in normal.items()}))


def _confidence(judged: Mapping[str, Sequence[tuple[Best[int] | None, float]]]) -> dict[str, float]:
    """How often such an answer is right; documents count as much as all encyclopaedias, each of which counts the same."""
    worth = {name: (len(judged) - 1 if name == "documents" else 1) / len(own) for name, own in judged.items()}
    known = [(best, right, worth[name]) for name, own in judged.items() for best, right in own if best is not None]
    shares = np.array([share for *_, share in known])
    signs, held = np.array([_signs(best) for best, *_ in known]), np.array([right >= RIGHT for _, right, _ in known], float)
    fit = logistic_fit(signs, held, shares / shares.mean())
    names = [f"sure_{name}" for name in ("score", "margin", "path", "kind", "span", "astray", "missing", "told", "bias")]
    return {name: round(float(value), 4) for name, value in zip(names, fit, strict=True)}


def _signs(best: Best[int]) -> list[float]:
    doubt = best.doubt
    return [best.score, best.margin, best.path, best.likelihood, best.span, doubt.astray, doubt.missing, best.kind == "text"]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="the weights of an answer from this calibration")
    parser.add_argument("--efforts", nargs="+", choices=("normal", "high"), default=["normal", "high"])
    parser.add_argument("--floor", type=float, default=-99.0, help="rows that are below it after half of the layers end there")
    parser.add_argument(
        "--kinder", type=float, default=0.0, help="added to the bias of relevance: sets name one passage where several help"
    )
    options = parser.parse_args(arguments)
    files = sorted(options.records.glob("records-*.jsonl.gz"))
    records = [record for path in files for record in load_records(path, options.floor) if record.question.part == "tune"]
    temperature, bias = fit_relevance(records)
    weights = replace(Weights(), temperature=round(temperature, 3), bias=round(bias + options.kinder, 3))
    keep = AnswerWeights(**json.loads(options.keep.read_text(encoding="utf-8"))["answers"]) if options.keep else None
    answering = Answering(read_collection(options.prepared / "collection.jsonl.xz").passages)
    content = {
        "sha256": hashlib.sha256(options.model.read_bytes()).hexdigest(),
        "floor": options.floor,
        "weights": asdict(weights),
        "answers": asdict(fit_answers(records, answering, weights, options.efforts, keep)),
    }
    (options.model.parent / "calibration.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
