"""Runs of a server whose disk, sources, pages, models and clients fail as a seed says: the history tells of each what happened.

WELLREAD_FAULT_RUNS=10000 for the long form, WELLREAD_FAULT_SEED=n for one group again.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import aclosing, suppress
from pathlib import Path

import pytest
from tests.faults.parts import STRATEGIES, Chance, FaultyDisk, FaultyKit, FaultyModel, FaultySource, faulty_disk
from tests.strategies.test_all import PARAMS, QUESTION

from wellread.engine import Engine
from wellread.errors import WellreadError
from wellread.server.history import History, Record
from wellread.server.limits import Gate
from wellread.server.menu import ReadyRun
from wellread.server.metrics import Metrics
from wellread.server.runs import Runs
from wellread.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TOGETHER = 4  # runs at once on one disk
RUNS = int(os.environ.get("WELLREAD_FAULT_RUNS", "500")) // 5
ONLY = os.environ.get("WELLREAD_FAULT_SEED")


def ready(chance: Chance, question: str) -> ReadyRun:
    settings = Settings(effort="low", max_seconds=chance.random.choice([300.0, 0.05]))
    kit = FaultyKit(settings, environ={}, model=FaultyModel(chance))
    kit.chance = chance
    engine = Engine(settings, kit=kit, source=FaultySource(chance), fallback=FaultySource(chance))
    strategy = chance.random.choice(STRATEGIES)
    return ReadyRun(question, strategy, "m", ("shelf",), PARAMS.get(strategy, {}), (), engine, chance.random.choice([300.0, 0.2]))


async def client(runs: Runs, chance: Chance, number: int) -> Record | None:
    """Asks, follows for a while, and may stop the run, leave, or come back."""
    asked = ready(chance, f"{QUESTION} item {number}")
    async with asked.engine:
        try:
            record = await runs.start(asked, f"client {number % 2}")
        except WellreadError:
            return None  # it was told that there is no run
        with suppress(TimeoutError):
            async with asyncio.timeout(chance.random.choice([0, 0.02, 60])), aclosing(runs.follow(record.id)) as log:
                async for _ in log:
                    pass
        if chance.hits_it():
            await runs.stop(record.id)
        live = runs.live.get(record.id)
        if live is not None and live.task is not None:
            await asyncio.wait([live.task])
        return record


def check(record: Record | None, log: list[tuple[int, str]], whole: bool, where: str) -> None:
    """What the history says of a run that was accepted."""
    assert record is not None, f"{where}: a run was lost"
    assert record.state in ("done", "failed", "stopped", "interrupted"), where
    kinds = [json.loads(body)["event"] for _, body in log]
    assert kinds.count("ended") <= 1, where
    assert kinds.count("answered") <= 1, where
    if whole:
        assert kinds[-1:] == ["ended"], where
    if record.state == "done":
        assert [number for number, _ in log] == list(range(len(log))), where
        assert kinds[-2:] == ["answered", "ended"], where
        assert record.answer is not None, where
        assert json.loads(log[-2][1])["answer"]["outcome"] == record.outcome == record.answer.outcome, where


async def group(seed: int, path: Path) -> None:
    chance = Chance(seed)
    history = await History.open(path)
    assert isinstance(history.database.writer, FaultyDisk)
    history.database.writer.chance = chance if chance.random.random() < 0.7 else None
    runs = Runs(history, Gate(2, 8, 8), Metrics())
    kept = [one for one in await asyncio.gather(*(client(runs, chance, number) for number in range(TOGETHER))) if one]
    assert not runs.live
    assert runs.gate.running == 0
    assert not runs.gate.queue
    failed = history.failed_writes
    await history.aclose()
    again = await History.open(path)  # what could not be written at all is interrupted now
    for record in kept:
        log = await again.events(record.id, limit=100_000)
        check(await again.get(record.id), log, not failed, f"seed {seed}, {record.strategy}")
    await again.aclose()


@pytest.mark.parametrize("part", range(4))
async def test_the_history_tells_what_happened(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.server.database.connect", faulty_disk)
    seeds = [int(ONLY)] if ONLY else range(part, RUNS // TOGETHER, 4)
    tasks = len(asyncio.all_tasks())
    for seed in seeds:
        begun = time.monotonic()
        await asyncio.wait_for(group(seed, tmp_path / f"{seed}.sqlite"), 330)
        assert time.monotonic() - begun < 60, f"seed {seed} took long"
        assert len(asyncio.all_tasks()) == tasks, f"seed {seed} left a task"
