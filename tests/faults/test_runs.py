"""Runs whose sources, pages, models, clock and reading processes fail as a seed says: each ends in time, typed, with one answer,
and leaves nothing.

WELLREAD_FAULT_RUNS=10000 for the long form, WELLREAD_FAULT_SEED=n for one run again.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import time
from collections.abc import AsyncIterator
from typing import get_args

import pytest
from tests.faults.parts import STRATEGIES, Chance, FaultyKit, FaultyModel, FaultySource, faulty_clock
from tests.strategies.test_all import PARAMS, QUESTION

from wellread import events
from wellread.engine import Engine
from wellread.reading.workers import Workers
from wellread.run import Environment
from wellread.settings import Settings
from wellread.types import Outcome

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
RUNS = int(os.environ.get("WELLREAD_FAULT_RUNS", "500"))
ONLY = os.environ.get("WELLREAD_FAULT_SEED")
GROUPS = 10
WITH_WORKERS = 10  # every so many runs read their pages in child processes
LATE = 15.0  # seconds after its limit that a run may end: a machine may do other things too


@pytest.fixture(scope="module")
async def workers() -> AsyncIterator[Workers]:
    pool = Workers(2)
    yield pool
    await asyncio.to_thread(pool.close)


async def run(seed: int, workers: Workers) -> None:
    chance = Chance(seed)
    limits = {
        "max_searches": chance.random.choice([None, 0, 1, 3]),
        "max_tokens": chance.random.choice([None, 0, 500, 5000]),
        "max_seconds": chance.random.choice([300.0, 300.0, 2.0, 0.05]),
    }
    settings = Settings(effort="low", **limits)
    model, source = FaultyModel(chance), FaultySource(chance)
    kit = FaultyKit(settings, environ={}, model=model)
    kit.chance = chance
    kit.workers = workers if seed % WITH_WORKERS == 0 else None
    strategy = chance.random.choice(STRATEGIES)
    seen: list[events.Event] = []
    outside = Environment(clock=faulty_clock(chance))
    engine = Engine(settings, kit=kit, source=source, fallback=FaultySource(chance), outside=outside)
    begun = time.monotonic()
    async with engine:
        async for event in engine.stream(QUESTION, strategy=strategy, params=PARAMS.get(strategy, {})):
            seen.append(event)
    where = f"seed {seed}, {strategy}"
    assert time.monotonic() - begun < limits["max_seconds"] + LATE, where
    answers = [event for event in seen if isinstance(event, events.Answered)]
    assert len(answers) == 1, where
    assert seen[-1] is answers[0], where
    answer = answers[0].answer
    assert answer.outcome in get_args(Outcome), where
    assert answer.outcome in ("answered", "partial") or answer.text or answer.reason, where
    if limits["max_searches"] is not None:
        assert answer.usage.searches <= limits["max_searches"], where
    if limits["max_tokens"] == 0:
        assert answer.usage.model_calls == 0, where
    for event in seen:
        json.dumps(events.to_json(event), ensure_ascii=False).encode()  # whatever came in, it can be written down
    for sentence in answer.sentences:
        assert answer.text[sentence.start : sentence.end] == sentence.text, where


def open_files() -> list[str]:
    """Sockets, pipes and files; what the system opens for its own use (event polls, libraries) comes and goes."""
    found = []
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return [name for name in found if not name.startswith("anon_inode")]


@pytest.mark.parametrize("group", range(GROUPS))
async def test_every_run_ends_well(group: int, workers: Workers) -> None:
    seeds = [int(ONLY)] if ONLY else list(range(group, RUNS, GROUPS))
    await run(seeds[0], workers)  # what is opened once and for all is open now: model files, pools of threads
    tasks, threads, files = len(asyncio.all_tasks()), threading.active_count(), len(open_files())
    for seed in seeds:
        await asyncio.wait_for(run(seed, workers), 330)
        assert len(asyncio.all_tasks()) == tasks, f"seed {seed} left a task"
    gc.collect()
    # Threads: the pools' and no more. Files: a child process and its socket, where one was started anew.
    assert threading.active_count() <= threads + 40
    assert len(open_files()) <= files + 8, open_files()
