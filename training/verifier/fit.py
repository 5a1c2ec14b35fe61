"""Step 4: how much the verifier and the share of a sentence that its passages hold count; minutes on two cores.

    python -m training.verifier.fit --data ../shared/data --model MODEL [--output FILE]

Logistic regression on the labelled claims that are kept for it (`prepare.part_of`), those that the vetoes and the form leave
to the verifier; every set counts the same, and in it carried claims as much as the others. The threshold is the best one on
them, and between two shares of the carried ones lies what a language model is asked about. Writes `verifier.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from training.evaluator.calibrate import logistic_fit
from training.evaluator.data import read_rows
from training.verifier.prepare import part_of

from wellread.citations import verdicts
from wellread.citations.check import weighed
from wellread.ranking.verifier import FITTED, MODEL, WORDS, Verifier
from wellread.types import Passage

SETS = ("lfqa", "wice", "factcheck")
RIDGE = 1e-2
UNSURE = (0.02, 0.45)  # shares of the carried ones
LEAST, MOST = -8.0, 8.0  # as the engine bounds a logit
DECIDED = 99.0  # the score of what the form or a veto decides


class Row(NamedTuple):
    """A claim: its label, and what there is to weigh or, where nothing is, the verdict."""

    true: bool
    said: float
    share: float
    decided: bool | None = None


def read(row: dict[str, Any], verifier: Verifier) -> Row:
    cited = {number: Passage(str(number), one["text"], title=one["title"]) for number, one in enumerate(row["passages"], 1)}
    judged = weighed(row["claim"] + "".join(f" [{number}]" for number in cited), cited)
    true = row["label"] == "carried"
    signs = judged[-1].signs  # one sentence, or in pieces: the last has the citations
    if signs is None or not all(one.sentence.supported or one.signs for one in judged):
        return Row(true, 0.0, 0.0, all(one.sentence.supported for one in judged))
    said = verifier.weigh(signs.body, verdicts.cited(signs))
    return Row(true, min(MOST, max(LEAST, said)), signs.share)


def fit(sets: Sequence[Sequence[Row]]) -> dict[str, Any]:
    """Weights by name, the threshold and the unsure band."""
    weighed_rows = [[row for row in rows if row.decided is None] for rows in sets]
    open_rows = [row for rows in weighed_rows for row in rows]
    counts = np.array([0.5 / sum(other.true == row.true for other in rows) for rows in weighed_rows for row in rows])
    values = np.array([[row.said, row.share] for row in open_rows])
    fitted = logistic_fit(values, np.array([row.true for row in open_rows], float), counts, RIDGE)
    scores = [_scores(rows, fitted) for rows in sets]
    tried = np.linspace(-1.5, 1.5, 61)
    least = max(tried, key=lambda one: sum(balanced(rows, of, one) for rows, of in zip(sets, scores, strict=True)))
    true = np.concatenate([_scores([row for row in rows if row.true], fitted) for rows in weighed_rows])
    names = dict(zip(("carried", "share", "bias"), (round(float(one), 4) for one in fitted), strict=True))
    unsure = [round(float(one), 4) for one in np.quantile(true, UNSURE)]
    return {"weights": names, "carried": round(float(least), 4), "unsure": unsure}


def _scores(rows: Sequence[Row], fitted: NDArray[np.float64]) -> NDArray[np.float64]:
    open_ones = [float(fitted @ (row.said, row.share, 1.0)) for row in rows]
    return np.array(
        [score if row.decided is None else DECIDED * (2 * row.decided - 1) for row, score in zip(rows, open_ones, strict=True)]
    )


def balanced(rows: Sequence[Row], scores: NDArray[np.float64], least: float) -> float:
    """Balanced accuracy."""
    true = np.array([row.true for row in rows])
    return float(((scores[true] >= least).mean() + (scores[~true] < least).mean()) / 2)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--output", type=Path, help=f"instead of {FITTED} beside the model")
    options = parser.parse_args(arguments)
    verifier = Verifier(options.model)
    claims = {name: read_rows(options.data / f"claims/{name}.jsonl.gz") for name in SETS}
    sets = [[read(row, verifier) for row in rows if part_of(row) == "fit"] for rows in claims.values()]
    files = {"sha256": MODEL, "words": WORDS}
    sums = {key: hashlib.sha256((options.model / name).read_bytes()).hexdigest() for key, name in files.items()}
    content = json.dumps(sums | fit(sets), indent=2)
    (options.output or options.model / FITTED).write_text(content + "\n", encoding="utf-8")
    print(content)


if __name__ == "__main__":
    main()
