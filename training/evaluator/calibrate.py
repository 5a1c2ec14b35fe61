"""Step 5, without the model: from the records, what turns the model's logits into probabilities.

    python -m training.evaluator.calibrate --records RUN --model src/wellread/ranking/weights/evaluator.onnx

RUN holds the records of training, or of `evaluate --shipped` (then with `--efforts normal`). Fits on the `tune` parts alone and
writes `calibration.json` beside the model: a temperature and a bias for relevance, the weights of an answer's
score (a small grid), and a logistic fit of how often such an answer is right.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.evaluator.metrics import f1
from training.evaluator.records import Record, load_records, search_again

from wellread.ranking.answers import AnswerWeights, Best, best_answers
from wellread.ranking.paths import PLANS, Found, Weights

FITTED_ON = ("hotpotqa", "2wiki", "squad", "nq_open_oracle")
DEPTH = 24  # passages of the first list that relevance is fitted on
RIGHT = 0.5  # the F1 from which an answer counts as right
GRID = {"path": (0.6, 1.0, 1.5), "kind": (0.6, 1.0), "span": (0.2, 0.3, 0.5), "place": (0.25, 0.5, 1.0)}
SURE = ("score", "margin", "path", "likelihood", "span")

Floats = NDArray[np.float64]


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
            if record.question.data == name and record.variant == "open"
            for number in record.ranked[:DEPTH]
            if (number,) in record.verdicts
        ]
        logits += [logit for logit, _ in judged]
        right += [hit for _, hit in judged]
        shares += [1 / len(judged)] * len(judged)
    slope, bias = logistic_fit(np.array(logits)[:, None], np.array(right, float), np.array(shares) * len(logits), 0.0)
    return 1 / float(slope), float(bias)


def fit_answers(records: Sequence[Record], weights: Weights, efforts: Sequence[str] = ("normal", "high")) -> AnswerWeights:
    """The grid's best weights over the sets and efforts, then the confidence at `normal`."""
    searched: dict[tuple[str, str], list[tuple[Record, Found[int]]]] = {}
    for record in records:
        for effort in efforts if record.question.hops > 1 else efforts[:1]:
            found, _ = search_again(record, PLANS[effort], weights)
            searched.setdefault((record.question.data, effort), []).append((record, found))
    answerable = [[pair for pair in pairs if pair[0].variant == "open"] for pairs in searched.values()]

    def merit(scoring: AnswerWeights) -> float:
        return sum(np.mean([_quality(*pair, weights, scoring)[1] for pair in pairs]) for pairs in answerable if pairs)

    options = (AnswerWeights(**dict(zip(GRID, values, strict=True))) for values in itertools.product(*GRID.values()))
    scoring = max(options, key=merit)
    judged = [
        _quality(*pair, weights, scoring) for (_, effort), pairs in searched.items() if effort == "normal" for pair in pairs
    ]
    known = [(best, quality) for best, quality in judged if best is not None]
    features = np.array([[getattr(best, name) for name in SURE] for best, _ in known])
    fit = logistic_fit(features, np.array([quality >= RIGHT for _, quality in known], float))
    names = ("sure_score", "sure_margin", "sure_path", "sure_kind", "sure_span", "sure_bias")
    return replace(scoring, **{name: round(float(value), 4) for name, value in zip(names, fit, strict=True)})


def _quality(record: Record, found: Found[int], weights: Weights, scoring: AnswerWeights) -> tuple[Best[int] | None, float]:
    """The best answer and its F1; with what it needs taken out of the corpus no answer is right."""
    answers = best_answers([key for key, _ in found.ranking], found.verdicts, weights, scoring)
    if not answers:
        return None, 0.0
    return answers[0], f1(answers[0].text, record.question.answers) if record.variant == "open" else 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--efforts", nargs="+", choices=("normal", "high"), default=["normal", "high"])
    options = parser.parse_args(arguments)
    files = sorted(options.records.glob("records-*.jsonl.gz"))
    records = [record for path in files for record in load_records(path) if record.question.part == "tune"]
    temperature, bias = fit_relevance(records)
    weights = replace(Weights(), temperature=round(temperature, 3), bias=round(bias, 3))
    content = {
        "sha256": hashlib.sha256(options.model.read_bytes()).hexdigest(),
        "weights": asdict(weights),
        "answers": asdict(fit_answers(records, weights, options.efforts)),
    }
    (options.model.parent / "calibration.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
