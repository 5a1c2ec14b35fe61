"""Fit what a name of a sentence is doubted for, when the evaluator reads it again (`wellread.text.cloze.WEIGHTS`).

    python benchmarks/citations_fit.py [--data DIR]

Logistic regression on the names of the tuned sentences: those of true sentences against those that a change put in. Printed
are the weights, and what comes out at several thresholds with weights that were fitted on the other passages (eight folds).
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import numpy as np
from citations_written import SENTENCES, Written, passages, written
from numpy.typing import NDArray

from wellread.entailment import least_beaten
from wellread.ranking.evaluator import Evaluator
from wellread.text.citations import check
from wellread.text.cloze import WEIGHTS, clozes, title_words

Floats = NDArray[np.float64]
FOLDS, PENALTY, STEPS = 8, 1.0, 60
UNTRUE = ("agent", "place", "object")


def fit(x: Floats, y: Floats) -> Floats:
    """Newton's method; all but the last weight, the bias, are held small."""
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (p - y) + PENALTY * np.append(weights[:-1], 0)
        curvature = (x * (p * (1 - p))[:, None]).T @ x + 0.1 * np.eye(len(weights))
        weights -= np.linalg.solve(curvature, gradient)
    return weights


async def signs(cases: list[Written], data: Path) -> tuple[list[list[tuple[list[float], bool]]], list[bool]]:
    """For each sentence its names' signs, with whether a change put them there; and whether the first check carried it."""
    known, reader = passages((one.passage for one in cases), data), Evaluator()
    rows: list[list[tuple[list[float], bool]]] = []
    carried: list[bool] = []
    true: list[frozenset[str]] = []
    for case in cases:
        passage = known[case.passage]
        (sentence,) = check(f"{case.text} [1]", {1: passage})
        carried.append(sentence.supported)
        asked = clozes(sentence)
        if not case.kind:
            true = [one.name for one in asked]
        row: list[tuple[list[float], bool]] = []
        for place, cloze in enumerate(asked):
            found = least_beaten([await reader.rivals(cloze.question, passage, cloze.name)])
            moved = len(true) == len(asked) and true[place] != cloze.name
            wrong = case.kind in UNTRUE and (cloze.name not in true or moved)
            row.append((list(cloze.signs(found, title_words([passage])).values()), wrong))
        rows.append(row)
    return rows, carried


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data")
    options = parser.parse_args()
    cases = [one for one in written(SENTENCES.read_text(encoding="utf-8").splitlines()) if one.part == "tuned"]
    rows, carried = asyncio.run(signs(cases, options.data))
    # names of changed sentences that the change left alone may be doubted or not: they teach nothing
    used = [(n, x, wrong) for n, row in enumerate(rows) for x, wrong in row if wrong or not cases[n].kind]
    x, y = np.array([x for _, x, _ in used]), np.array([wrong for *_, wrong in used], float)
    print(f"{len(y)} names, {int(y.sum())} of them wrong")
    print(dict(zip(WEIGHTS, np.round(fit(x, y), 3).tolist(), strict=True)))
    order = sorted({one.passage for one in cases})
    fold = np.array([order.index(one.passage) % FOLDS for one in cases])
    weights: list[Floats] = [fit(x[keep], y[keep]) for f in range(FOLDS) for keep in [fold[[n for n, *_ in used]] != f]]
    doubts = [max((float(weights[int(fold[n])] @ np.array(x)) for x, _ in row), default=-9.0) for n, row in enumerate(rows)]
    for least in (3.0, 2.5, 2.0, 1.75, 1.5, 1.25, 1.0, 0.5):
        kept = np.array(carried) & (np.array(doubts) < least)
        shares = {kind or "true": round(float(np.mean(kept[[one.kind == kind for one in cases]])), 3) for kind in ("", *UNTRUE)}
        right = sum(bool(one) == (not case.kind) for one, case in zip(kept, cases, strict=True)) / len(cases)
        print(least, "carried:", shares, "right:", round(right, 4))


if __name__ == "__main__":
    main()
