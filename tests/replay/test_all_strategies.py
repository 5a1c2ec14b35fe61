"""200 recorded runs over all strategies, with delays, failures and limits at random, replay bit for bit."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.strategies.bench import Bags, Pages, Shelf, entry
from tests.strategies.test_all import FACT, HITS, PARAMS, QUESTION, say

from wellread.engine import Engine
from wellread.errors import ModelBusy, SourceError
from wellread.events import Answered, Event, to_json
from wellread.models.scripted import ScriptedModel
from wellread.parts import Parts
from wellread.protocols import Grader, Reranker
from wellread.replay.runs import recorded, replayed
from wellread.run import Environment
from wellread.settings import Settings
from wellread.types import Completion, Grade, Hit, Passage, Prompt, Query

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
STRATEGIES = ("iterative", "fanout", "react", "corrective", "digest", "quote", "research")
LOCAL = [entry(f"Film {n}", f"{FACT} Passage {n} on the film Oppenheimer.", document=f"film {n // 2}") for n in range(6)]


class Unsteady:
    """Delays and failures from a seed: the order in which parallel work ends is different in each run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    async def pause(self) -> None:
        await asyncio.sleep(self._random.choice((0, 0, 0.0005, 0.001, 0.003)))

    def fails(self, share: float = 0.08) -> bool:
        return self._random.random() < share


@dataclass
class UnsteadyShelf(Shelf):
    weather: Unsteady = None  # type: ignore[assignment]

    async def search(self, query: Query) -> Sequence[Hit]:
        await self.weather.pause()
        if self.weather.fails():
            raise SourceError(self.name, "the service is down")
        return await super().search(query)


class Library(UnsteadyShelf):
    """With the optional abilities of a local index."""

    has_documents = True

    async def passages(self, document: str) -> Sequence[Hit]:
        await self.weather.pause()
        return [hit for hit in self.hits if hit.document == document]

    async def find_title(self, title: str) -> Sequence[Hit]:
        return [hit for hit in self.hits if hit.title == title]

    def tuned(self, **options: int) -> Library:
        return self


class UnsteadyModel(ScriptedModel):
    weather: Unsteady

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        if self.weather.fails(0.03):
            raise ModelBusy("scripted", "too many requests", 3.0)
        async for item in super().stream(prompt):
            await self.weather.pause()
            yield item


class Threaded(Bags):
    """Embeds in a thread, as the real one does."""

    async def embed(self, texts: Sequence[str], *, kind: str) -> Any:
        rows = await super().embed(texts, kind=kind)
        return await asyncio.to_thread(lambda: np.array(rows))


class Judge(Reranker, Grader):
    def __init__(self, weather: Unsteady) -> None:
        self._weather = weather

    async def rerank(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        await self._weather.pause()
        return np.asarray([1 / (1 + len(p.text)) for p in passages], dtype=np.float32)  # pyright: ignore[reportReturnType]

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]:
        await self._weather.pause()
        return [Grade("page 1" not in p.text, 0.7 if "page 1" not in p.text else 0.05) for p in passages]


class Stocked(Parts):
    """A kit with these parts."""

    def __init__(self, settings: Settings, model: Any, weather: Unsteady) -> None:
        super().__init__(settings, model=model)
        self._judge = Judge(weather)

    def embedder(self, spec: str | None = None) -> Any:
        return Threaded()

    def reranker(self, spec: str | None = None) -> Any:
        return self._judge

    def grader(self, spec: str | None = None) -> Any:
        return self._judge

    def pages(self) -> Any:
        return Pages({hit.url or "": [hit.text or "", "Another paragraph."] for hit in HITS[:-1]})


def engine(seed: int, strategy: str) -> Engine:
    weather = Unsteady(seed)
    model = UnsteadyModel(say, piece=9)
    model.weather = weather
    local = seed % 3 == 1
    hits = LOCAL if local else [entry(h.title, None if seed % 2 else h.text, url=h.url, snippet=h.snippet) for h in HITS]
    shelf = (Library if local else UnsteadyShelf)(hits, weather=weather)
    limits: dict[str, Any] = {}
    if seed % 5 == 4:
        limits = {"max_seconds": 0.02 + 0.004 * (seed % 7)}
    elif seed % 5 == 3:
        limits = {"max_tokens": 900, "max_searches": 2}
    settings = Settings(strategy=strategy, **limits)
    return Engine(settings, source=shelf, fallback=shelf, kit=Stocked(settings, model, weather))


def as_json(events: Sequence[Event]) -> list[object]:
    return [to_json(event) for event in events]


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_recorded_runs_replay_bit_for_bit(strategy: str, tmp_path: Path) -> None:
    outcomes: set[str] = set()
    for seed in range(34):
        path = tmp_path / f"{seed}.jsonl"
        params = {} if seed % 2 and strategy != "react" else {**PARAMS, "quote": {"min_confidence": 0.0}}.get(strategy, {})
        async with engine(seed, strategy) as live:
            then = [event async for event in recorded(live, path, QUESTION, params=params)]
        now = [event async for event in replayed(path)]
        assert as_json(now) == as_json(then), f"seed {seed}"
        assert now[-1] == then[-1], "the whole answer, passages included"
        assert isinstance(now[-1], Answered)
        outcomes.add(now[-1].answer.outcome)
    assert len(outcomes) > 1, "limits and failures must have had their effect"


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_how_long_threads_take_makes_no_difference(strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a thread may end long after the answer that another part of the run waits for."""
    at_once = asyncio.to_thread

    async def at_its_leisure(job: Any, /, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(random.choice((0, 0.001, 0.004, 0.01)))  # another one each time, in the replay too
        return await at_once(job, *args, **kwargs)

    monkeypatch.setattr(asyncio, "to_thread", at_its_leisure)
    for seed in range(12):
        path = tmp_path / f"{seed}.jsonl"
        async with engine(seed, strategy) as live:
            then = [event async for event in recorded(live, path, QUESTION, params=PARAMS.get(strategy, {}))]
        now = [event async for event in replayed(path)]
        assert as_json(now) == as_json(then), f"seed {seed}"


async def test_a_recording_is_replayed_on_the_day_of_its_run(tmp_path: Path) -> None:
    model = ScriptedModel(say)
    async with Engine(
        Settings(effort="low"), model=model, source=Shelf(HITS), outside=Environment(today=lambda: "2019-03-04")
    ) as engine:
        first = [to_json(one) async for one in recorded(engine, tmp_path / "run", QUESTION, strategy="guided")]
    assert "2019-03-04" in model.prompts[0].messages[0].text
    assert [to_json(one) async for one in replayed(tmp_path / "run")] == first
