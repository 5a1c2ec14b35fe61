"""Step 5: how much the verifier and each sign of the rules count, fitted on sentences that it was not trained on; runs no model.

    python -m training.verifier.combine --rows ASIDE.json=0.35 TUNED.json=0.25 ANSWERS.json=0.4 --model MODEL [--report HELD.json]

Logistic regression. Each file counts as much as is said, true and untrue sentences half of it each; true ones with a "not", which
were asked for, as often as answers have them. What would speak for a sentence because a sign is seen at it is left out. The
threshold flags `--flagged` of the true ones of the first file; between `--unsure`, two shares of them, lies what a language model
is asked about. Writes `verifier.json` beside the model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.evaluator.calibrate import logistic_fit
from training.verifier.curves import shares
from training.verifier.measure import Row

from wellread.citations.belief import features
from wellread.ranking.verifier import FITTED, MODEL
from wellread.text.words import read
from wellread.types import Weighing

RIDGE = 3e-3
SEEN = 8  # sentences that a sign must be seen at to be weighed
SAY_NOT = 0.05  # of true sentences in answers
# Seen at true sentences nearly as often; still, what no sentence connects must not pass unless the reader is sure.
AT_LEAST = {"unconnected": -3.0}
_SAID = ("carried", "astray", "share")  # the others are signs, which speak against a sentence or not at all


def table(rows: Sequence[Row]) -> list[dict[str, float]]:
    return [features(row["signs"] or (), row["share"], Weighing(row["carried"], row["astray"])) for row in rows]


def natural(rows: Sequence[Row]) -> NDArray[np.float64]:
    """How much each sentence counts, all together one."""
    true = np.array([row["true"] for row in rows])
    negative = np.array([bool(read(row["text"]).negated) for row in rows])
    weights = np.zeros(len(rows))
    for group, share in ((~true, 0.5), (true & negative, 0.5 * SAY_NOT), (true & ~negative, 0.5 * (1 - SAY_NOT))):
        weights[group] = share / max(1, group.sum())
    return weights


def fit(sets: Sequence[tuple[Sequence[Row], float]]) -> dict[str, float]:
    rows = [row for found, _ in sets for row in found]
    weights = np.concatenate([natural(found) * counts for found, counts in sets]) * len(rows)
    known = np.array([row["signs"] is not None for row in rows])  # else the form decided
    found = [one for one, is_known in zip(table(rows), known, strict=True) if is_known]
    true = np.array([row["true"] for row in rows], float)[known]
    names = [name for name in found[0] if name != "bias" and sum(one[name] != 0 for one in found) >= SEEN]
    while True:
        values = np.array([[one[name] for name in names] for one in found])
        *fitted, bias = logistic_fit(values, true, weights[known], RIDGE)
        wrong = [name for name, weight in zip(names, fitted, strict=True) if name not in _SAID and weight > 0]
        if not wrong:
            weighed = {name: round(float(weight), 4) for name, weight in zip(names, fitted, strict=True)}
            return (
                weighed
                | {name: min(most, weighed.get(name, 0.0)) for name, most in AT_LEAST.items()}
                | {"bias": round(float(bias), 4)}
            )
        names = [name for name in names if name not in wrong]


def scores(rows: Sequence[Row], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """What is believed of each; where the form decided, as high or low as it can be."""
    found = [sum(weight * one[name] for name, weight in weights.items()) for one in table(rows)]
    decided = [None if row["signs"] is not None else row["supported"] for row in rows]
    return np.array([score if sure is None else 50.0 if sure else -50.0 for score, sure in zip(found, decided, strict=True)])


def told(name: str, rows: Sequence[Row], weights: Mapping[str, float], least: float) -> None:
    true = np.array([row["true"] for row in rows])
    kinds = [row["kind"] for row in rows]
    believed, ruled = scores(rows, weights), np.array([row["supported"] for row in rows])
    for way, carried in (("rules", ruled), ("together", believed >= least)):
        passing = {kind: round(float(carried[np.array(kinds) == kind].mean()), 3) for kind in sorted({*kinds} - {""})}
        print(f"{name}, {way}: true flagged {1 - carried[true].mean():.4f}, untrue passing {carried[~true].mean():.4f}", passing)
    for way, score in (("model alone", np.array([row["carried"] for row in rows])), ("together", believed)):
        print(f"{name}, {way}:", json.dumps(shares(kinds, true, score)))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", required=True, help="FILE=SHARE: what each counts in the fit")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--flagged", type=float, default=0.05)
    parser.add_argument("--unsure", type=float, nargs=2, default=(0.005, 0.45), metavar=("FROM", "TO"))
    parser.add_argument("--report", type=Path, nargs="*", default=[])
    options = parser.parse_args(arguments)
    given = [(Path(name), float(share)) for name, _, share in (one.rpartition("=") for one in options.rows)]
    weights = fit([(_rows(path), share) for path, share in given])
    first = _rows(given[0][0])
    true = np.array([row["true"] for row in first])
    wanted = (options.flagged, *options.unsure)
    least, *unsure = (round(float(one), 4) for one in np.quantile(scores(first, weights)[true], wanted))
    digest = hashlib.sha256((options.model / MODEL).read_bytes()).hexdigest()
    content = {"sha256": digest, "weights": weights, "carried": least, "unsure": unsure}
    (options.model / FITTED).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=2))
    for path in (*(path for path, _ in given), *options.report):
        told(path.stem, _rows(path), weights, least)


def _rows(path: Path) -> list[Row]:
    return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
