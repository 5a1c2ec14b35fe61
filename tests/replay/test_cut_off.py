"""Calls that were cut off are the same in a replay: their number, their words, their price, their place among the events."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.replay.test_all_strategies import as_json
from tests.strategies.bench import Shelf, entry
from tests.strategies.test_all import FACT, PARAMS, QUESTION, say

from wellread.engine import Engine
from wellread.errors import BrokenStream
from wellread.events import Answered, Event, ModelCalled
from wellread.models.scripted import ScriptedModel
from wellread.replay.runs import recorded, replayed
from wellread.settings import Settings
from wellread.trace.timeline import load
from wellread.types import Answer, Completion, Prompt

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
HITS = [entry(f"Oppenheimer {n}", f"{FACT} " + f"Page {n} on Oppenheimer. " * (n + 1), document=str(n)) for n in range(8)]


class Unsteady(ScriptedModel):
    """Speaks word by word at its own pace, breaks off now and then, and takes its time to let go."""

    chance: random.Random
    breaks: float = 0.0
    pace: float = 1.0

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        try:
            async for item in super().stream(prompt):
                await asyncio.sleep(self.chance.choice((0, 0, 0.001, 0.003)) * self.pace)
                if self.chance.random() < self.breaks:
                    raise BrokenStream(self.name, "the line is dead")
                yield item
        finally:
            await asyncio.sleep(self.chance.choice((0, 0.0005, 0.002)))

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return (input_tokens + 3 * output_tokens) / 7e5  # whose sum depends on the order of adding


async def record(path: Path, strategy: str, seed: int, breaks: float = 0.0, **limits: Any) -> list[Event]:
    model = Unsteady(say, piece=3, cost=0.001)
    model.chance, model.breaks = random.Random(seed), breaks
    model.pace = 10.0 if "max_seconds" in limits else 1.0  # the limit must strike while calls are under way
    several = {"corrective": {"grader": "llm", "top_k": 8}, "digest": {"shared_tokens": 1}}  # calls at the same time
    params = {**PARAMS, **several}.get(strategy, {})
    async with Engine(Settings(embedder="none", effort="low", **limits), model=model, source=Shelf(HITS)) as engine:
        return [event async for event in recorded(engine, path, QUESTION, strategy=strategy, params=params)]


def agreed(events: list[Event]) -> tuple[Answer, list[ModelCalled]]:
    """The answer and its calls that were cut off; all calls together are its usage."""
    last, called = events[-1], [event for event in events if isinstance(event, ModelCalled)]
    assert isinstance(last, Answered)
    usage = last.answer.usage
    assert usage.model_calls == len(called)
    assert usage.input_tokens == sum(event.input_tokens for event in called)
    assert usage.output_tokens == sum(event.output_tokens for event in called)
    assert usage.cost == pytest.approx(sum(event.cost or 0.0 for event in called))
    return last.answer, [event for event in called if event.cut_off]


@pytest.mark.parametrize("strategy", ["corrective", "digest"])
@pytest.mark.parametrize(
    ("limits", "breaks"),
    [
        (lambda seed: {}, 0.04),
        (lambda seed: {"max_seconds": 0.05 + 0.02 * seed}, 0.0),
        (lambda seed: {"max_tokens": 1200 + 150 * seed}, 0.0),
        (lambda seed: {"max_cost": 0.002 + 0.0005 * seed}, 0.01),
    ],
    ids=["broken streams", "time", "tokens", "cost"],
)
async def test_parallel_calls_that_were_cut_off_replay_bit_for_bit(
    strategy: str, limits: Callable[[int], dict[str, float]], breaks: float, tmp_path: Path
) -> None:
    several = speaking = 0
    for seed in range(12):
        path = tmp_path / f"{seed}.jsonl"
        then = await record(path, strategy, seed, breaks, **limits(seed))
        answer, cut_off = agreed(then)
        assert sum(step.detail.endswith(", cut off") for step in load(path).steps) == len(cut_off)
        several += len(cut_off) > 1
        speaking += any(event.output_tokens for event in cut_off)
        now = [event async for event in replayed(path)]
        assert as_json(now) == as_json(then), f"seed {seed}"
        assert isinstance(now[-1], Answered)
        assert now[-1].answer.usage == answer.usage
    if "max_tokens" not in limits(0):  # no call is allowed more than is left, so that none is cut off
        assert several, "calls must have been cut off together"
        assert speaking, "and some of them while they spoke"
