"""The evaluator on tape: its model's verdicts are in the file, the search along paths is run again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.replay.test_all_strategies import LOCAL, Library, Threaded, Unsteady, as_json
from tests.strategies.test_all import QUESTION

from wellread.engine import Engine
from wellread.events import Answered
from wellread.parts import Parts
from wellread.ranking.answers import AnswerWeights
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Marked, Verdict, Weights
from wellread.replay.runs import recorded, replayed
from wellread.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Fake(Evaluator):
    """Finds the date in every passage, and says so at its own pace."""

    asked = 0

    async def judge(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        Fake.asked += 1
        await asyncio.sleep(0.001)
        places = [(chain, chain[-1].text.find("July 21")) for chain in chains]
        return [
            Verdict(
                4.0 - len(chain),
                (0.0, 5.0, -5.0, -5.0),
                -0.1,
                len(chain) - 1,
                at,
                at + 13,
                "July 21, 2023",
                told=-5.0,
                evidence=(Marked(0, len(chain[-1].text), 1.5),),
            )
            for chain, at in places
        ]


class Stocked(Parts):
    def embedder(self, spec: str | None = None) -> Any:
        return Threaded()

    def answer_reader(self) -> Any:
        return self._kept("fake", "", Fake)


async def test_quote_with_the_evaluator_replays_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluator, "weights", Weights(**{f.name: 1.0 for f in fields(Weights)}))
    monkeypatch.setattr(Evaluator, "scoring", AnswerWeights(**{f.name: 1.0 for f in fields(AnswerWeights)}))
    path = tmp_path / "run.jsonl"
    settings = Settings(model="none")
    async with Engine(settings, source=Library(LOCAL, weather=Unsteady(1)), kit=Stocked(settings)) as engine:
        then = [event async for event in recorded(engine, path, QUESTION, strategy="quote")]
    asked = Fake.asked
    assert asked > 0
    assert isinstance(then[-1], Answered)
    assert then[-1].answer.short == "July 21, 2023", then[-1].answer.reason
    assert path.read_text(encoding="utf-8").count('"method": "judge"') == asked
    assert as_json([event async for event in replayed(path)]) == as_json(then)
    assert Fake.asked == asked, "the model is not asked again"
