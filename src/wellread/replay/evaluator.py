"""The evaluator through a tape: what its model says is recorded; how it searches and ranks with that is run again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wellread.codec import Json, decode
from wellread.effort import Plan
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Verdict
from wellread.replay.tape import Tape
from wellread.types import Passage, Weighing


class EvaluatorOnTape(Evaluator):
    """Searches along paths call back into the run, so the tape has to be under them and not around them."""

    def __init__(self, tape: Tape, label: str, facts: Json, inner: Any = None) -> None:
        super().__init__()
        self._plan: Plan = decode(Plan, facts["plan"])
        self.languages = frozenset(facts["languages"])
        self._tape, self._label, self._inner = tape, label, inner

    @property
    def plan(self) -> Plan:
        return self._plan

    async def judge(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        shown = [[{"id": passage.id, "title": passage.title, "text": passage.text} for passage in chain] for chain in chains]
        asked: Json = {"question": question, "chains": shown}
        return await self._tape.call(self._label, "judge", asked, lambda: self._inner.judge(question, chains), list[Verdict])

    async def weigh(self, claim: str, passages: Sequence[Passage]) -> Weighing:
        shown = [{"id": passage.id, "title": passage.title, "text": passage.text} for passage in passages]
        asked: Json = {"claim": claim, "passages": shown}
        return await self._tape.call(self._label, "weigh", asked, lambda: self._inner.weigh(claim, passages), Weighing)
