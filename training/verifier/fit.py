"""Step 4: how much the verifier and the share of a sentence that its passages hold count; minutes on two cores.

    python -m training.verifier.fit --data ../shared/data --model MODEL [--read OTHER] [--least 0.1] [--output FILE]

Logistic regression on the labelled claims that are kept for it (`prepare.fold_of`), those that the vetoes and the form leave
to the verifier; every set counts the same, and in it carried claims as much as the others. Between two shares of the carried
ones lies what a language model is asked about. Writes `verifier.json`, and prints what thresholds near `--least` would give.
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
from training.evaluator.data import read_rows
from training.verifier.prepare import FIT, fold_of

from wellread.citations.check import weighed
from wellread.ranking.judge import WORDS
from wellread.ranking.verifier import FITTED, MODEL, Verifier
from wellread.types import Passage

SETS = ("lfqa", "wice", "factcheck")
RIDGE = 1e-2
UNSURE = (0.02, 0.45)  # shares of the carried ones
LEAST, MOST = -8.0, 8.0  # as the engine bounds a logit
FLOOR = -3.5  # of a logit: below it no share of the words makes a claim carried
MARGIN = 0.25  # by which a claim with two names exchanged must be said with more right: docs/log/citations.md
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
    claim = judged[-1].claim  # one sentence, or in pieces: the last has the citations
    if claim is None or not all(one.sentence.supported or one.claim for one in judged):
        return Row(true, 0.0, 0.0, all(one.sentence.supported for one in judged))
    said = verifier.weigh(claim.text, claim.passages)
    return Row(true, min(MOST, max(LEAST, said)), claim.share)


def fit(sets: Sequence[Sequence[Row]]) -> NDArray[np.float64]:
    """Weights of what is said, of the share, and the bias; by Newton's method, large weights of the first two cost something."""
    counts = [(row, 0.5 / sum(other.true == row.true for other in rows)) for rows in sets for row in rows if row.decided is None]
    design = np.array([[row.said, row.share, 1.0] for row, _ in counts])
    true, share = np.array([float(row.true) for row, _ in counts]), np.array([count for _, count in counts])
    penalty = RIDGE * share.sum() * np.diag([1.0, 1.0, 0.0])
    fitted = np.zeros(3)
    for _ in range(60):
        said = 1 / (1 + np.exp(-design @ fitted))
        slope = design.T @ (share * (said - true)) + penalty @ fitted
        fitted -= np.linalg.solve((design * (share * said * (1 - said))[:, None]).T @ design + penalty, slope)
    return fitted


def scores(rows: Sequence[Row], fitted: NDArray[np.float64]) -> NDArray[np.float64]:
    decided = [None if row.decided is None else DECIDED if row.decided else -DECIDED for row in rows]
    weighed_ones = (float(fitted @ (row.said, row.share, 1.0)) for row in rows)
    return np.array([score if sure is None else sure for score, sure in zip(weighed_ones, decided, strict=True)])


def balanced(rows: Sequence[Row], scores: NDArray[np.float64], least: float) -> float:
    """Balanced accuracy."""
    true = np.array([row.true for row in rows])
    return float(((scores[true] >= least).mean() + (scores[~true] < least).mean()) / 2)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--read", type=Path, help="who reads the claims, where the model was trained on them")
    parser.add_argument("--least", type=float, default=0.1, help="the score from which on a claim is carried")
    parser.add_argument("--output", type=Path, help=f"instead of {FITTED} beside the model")
    options = parser.parse_args(arguments)
    verifier = Verifier(options.read or options.model)
    claims = {name: read_rows(options.data / f"claims/{name}.jsonl.gz") for name in SETS}
    sets = [[read(row, verifier) for row in rows if fold_of(row) == FIT] for rows in claims.values()]
    fitted = fit(sets)
    for least in np.linspace(-0.5, 0.5, 11):
        print(f"{least:+.1f}", *(round(balanced(rows, scores(rows, fitted), least), 4) for rows in sets))
    true = np.concatenate([scores([row for row in rows if row.true and row.decided is None], fitted) for rows in sets])
    files = {"sha256": MODEL, "words": WORDS}
    content = json.dumps(
        {
            **{key: hashlib.sha256((options.model / name).read_bytes()).hexdigest() for key, name in files.items()},
            "belief": {
                **dict(zip(("said", "share", "bias"), (round(float(one), 4) for one in fitted), strict=True)),
                "least": options.least,
                "unsure": [round(float(one), 4) for one in np.quantile(true, UNSURE)],
                "floor": FLOOR,
                "margin": MARGIN,
            },
        },
        indent=2,
    )
    (options.output or options.model / FITTED).write_text(content + "\n", encoding="utf-8")
    print(content)


if __name__ == "__main__":
    main()
