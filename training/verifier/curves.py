"""How well scores part true sentences from untrue ones: what passes when so many of the true ones are flagged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from training.verifier.claims import Case

FLAGGED = (0.02, 0.05, 0.07, 0.1, 0.2)


def area(true: NDArray[np.floating], untrue: NDArray[np.floating]) -> float:
    """How often a true sentence has the higher score."""
    order = np.argsort(np.concatenate([true, untrue]), kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(len(order))
    return float((ranks[: len(true)].sum() - len(true) * (len(true) - 1) / 2) / max(1, len(true) * len(untrue)))


def curve(cases: Sequence[Case], scores: NDArray[np.floating]) -> dict[str, object]:
    claims = [claim for case in cases for claim in case.claims]
    return shares([claim.kind for claim in claims], np.array([claim.carried for claim in claims]), scores)


def shares(kinds: Sequence[str], carried: NDArray[np.bool_], scores: NDArray[np.floating]) -> dict[str, object]:
    true = scores[carried]
    of = np.array(kinds)
    passing: dict[str, object] = {"area": round(area(true, scores[~carried]), 4)}
    for flagged in FLAGGED:
        passing[f"passing at {flagged:.0%}"] = round(float((scores[~carried] >= np.quantile(true, flagged)).mean()), 3)
    limit = np.quantile(true, 0.07)
    passing["by kind at 7%"] = {
        kind: round(float((scores[~carried & (of == kind)] >= limit).mean()), 3) for kind in sorted({*of[~carried]})
    }
    return passing
