"""Which answer the verdicts speak for, and how sure that is.

Every chain that was judged proposes an answer. What speaks for it: how likely the chain is the right one, that
it answers at all, and that the answer is these words; the same answer from several chains is worth more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wellread.ranking.paths import Verdict, Weights, log_probability
from wellread.types import Passage, Reading
from wellread.words import fold

_KINDS: tuple[Literal["none", "span", "yes", "no"], ...] = ("none", "span", "yes", "no")


@dataclass(frozen=True, slots=True)
class Best:
    """An answer, the chain that proposes it best, and what speaks for it."""

    text: str
    kind: Literal["span", "yes", "no"]
    chain: tuple[Passage, ...]
    verdict: Verdict
    score: float
    confidence: float

    def reading(self, passage: int) -> Reading:
        """The same as a `Reading` of the passage with this number."""
        return Reading(self.kind, self.text, passage, self.verdict.start, self.verdict.end, self.confidence)


def best_answers(verdicts: Mapping[tuple[Passage, ...], Verdict], weights: Weights) -> list[Best]:
    """Different answers, best first."""
    found: dict[str, Best] = {}
    for chain, verdict in verdicts.items():
        for kind, likelihood in _proposals(verdict):
            text = verdict.text if kind == "span" else kind
            if not text.strip():
                continue
            score = _path(chain, verdicts, weights) + likelihood
            key = " ".join(fold(word) for word in text.split())
            if key not in found or score > found[key].score:
                found[key] = Best(text, kind, chain, verdict, score, min(1.0, math.exp(score)))
    return sorted(found.values(), key=lambda best: -best.score)


def _proposals(verdict: Verdict) -> list[tuple[Literal["span", "yes", "no"], float]]:
    most = max(verdict.kinds)
    total = most + math.log(sum(math.exp(logit - most) for logit in verdict.kinds))
    span, yes, no = (verdict.kinds[place] - total for place in (1, 2, 3))
    return [("span", 0.6 * span + 0.5 * verdict.span), ("yes", 0.6 * yes), ("no", 0.6 * no)]


def _path(chain: tuple[Passage, ...], verdicts: Mapping[tuple[Passage, ...], Verdict], weights: Weights) -> float:
    """The mean step's log-probability; a step that nobody judged counts as the last."""
    steps = [verdicts.get(chain[: length + 1], verdicts[chain]) for length in range(len(chain))]
    return 0.6 * sum(log_probability(step.relevance, weights) for step in steps) / len(steps)
