"""Effort levels (`--effort`): how much is read, how closely. Whoever works more or less by it reads its share here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from wellread.core.values import frozen

Effort = Literal["low", "normal", "high"]


@frozen
class Plan:
    """How much a search along paths may judge, stage by stage."""

    singles: int  # passages of the first list judged alone
    firsts: int = 0  # of these, how many are followed
    seconds: int = 0  # candidates judged after each of them
    again: int = 0  # candidates more, where none of these is likely to follow
    reads: int = 0  # chains of the best passages read at the end
    opening: int = 0  # passages judged before looking whether the answer is sure already; 0: everything is judged

    @property
    def pairs(self) -> int:
        """The most rows the model may have to read."""
        return self.singles + self.firsts * (self.seconds + self.again) + self.reads


@frozen
class Windows:
    """How many tokens of each part the evaluator reads."""

    question: int = 64
    title: int = 24
    alone: int = 400  # a passage by itself: whole, as a rule, since a question in other words than the text's leads no window
    known: int = 160  # each passage before the last
    judged: int = 208  # the last of several passages
    total: int = 512


@frozen
class Allowance:
    """Quota of close reading for one run. A pair is a question and a passage that the evaluator reads together."""

    pairs: int  # in the whole run
    passages: int  # of one list that are re-ranked
    strips: int  # of graded passages
    sentences: int  # compared by meaning, where no evaluator reads; each costs about 20 ms
    plan: Plan
    windows: Windows = Windows()
    behind: float | None = None  # sentences this far behind the best in words are not compared: meaning hardly ever makes up


# Shorter windows on passages that are read together save a third of the time and cost little.
_NORMAL = Allowance(
    pairs=60,
    passages=24,
    strips=48,
    sentences=10,
    plan=Plan(singles=12, firsts=2, seconds=5, again=4, reads=1),
    windows=Windows(known=112, judged=160),
    behind=0.3,
)
# Searches along longer paths, 100 pairs and more, answered no more questions (docs/log/evaluator.md): high reads more of what a
# recipe re-ranks and grades, and has a language model check its answer.
ALLOWED: Mapping[Effort, Allowance] = {
    "low": Allowance(pairs=0, passages=0, strips=0, sentences=4, plan=Plan(singles=0), behind=0.3),
    "normal": _NORMAL,
    "high": replace(_NORMAL, pairs=250, passages=60, strips=96, sentences=20),
}
