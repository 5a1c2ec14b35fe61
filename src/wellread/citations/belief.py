"""How far a sentence is believed: what the rules saw and what a reader of whole sentences says, weighed together.

The weights are fitted by training/verifier/combine.py on written sentences that nothing else was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wellread.citations.contradiction_signs import WEIGHTS, doubt
from wellread.types import Judgement, Weighing

_LEAST, _MOST = -8.0, 8.0
_SEVERAL = 2.0
_BARE = frozenset(("bare not, closely worded", "bare not, contrasted"))


def features(signs: Sequence[str], share: float, said: Weighing) -> dict[str, float]:
    """What is weighed, by name: signs speak against a sentence, each as much as the fit found it to."""
    return {
        "carried": min(_MOST, max(_LEAST, said.carried)),
        "astray": min(_MOST, max(_LEAST, said.astray)),
        "share": share,
        **{name: float(name in signs) for name in WEIGHTS},
        "closely denied": float("asserted there, closely worded" in signs and not _BARE.isdisjoint(signs)),
        "several": float(doubt(signs) >= _SEVERAL),
        "bias": 1.0,
    }


@dataclass(frozen=True, slots=True)
class Belief:
    """Weights by name, from where on a sentence is carried, and from where to where that is not sure."""

    weights: Mapping[str, float]
    least: float
    unsure: tuple[float, float] = (0.0, 0.0)

    def judge(self, signs: Sequence[str], share: float, said: Weighing) -> Judgement:
        found = features(signs, share, said)
        score = sum(weight * found[name] for name, weight in self.weights.items())
        low, high = self.unsure
        return Judgement(score >= self.least, not low <= score < high)
