"""Runs whose sources, pages, models and clock fail as a seed says: each ends in time, typed, with one answer, and leaves nothing.

WELLREAD_FAULT_RUNS=10000 for the long form, WELLREAD_FAULT_SEED=n for one run again.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from tests.strategies.test_all import HITS, PARAMS, QUESTION, say

from wellread import errors, events
from wellread.engine import Engine
from wellread.models.scripted import ScriptedModel
from wellread.parts import Kit
from wellread.run import Outside
from wellread.settings import Settings
from wellread.types import Completion, Hit, Hits, Outcome, Page, Prompt, Query

pytestmark = pytest.mark.anyio
RUNS = int(os.environ.get("WELLREAD_FAULT_RUNS", "500"))
ONLY = os.environ.get("WELLREAD_FAULT_SEED")
STRATEGIES = ("iterative", "fanout", "react", "corrective", "digest", "quote")
GROUPS = 10
NASTY = [
    *("", "\0", "\ud800", "\udfff x", "\u2028", "\x1b[2J", "\ue100", "[1]" * 50, "| |" * 40, "a.b " * 200, "<" + " " * 500),
    *("![x](http://e.x)", "{" * 300, "</data-", "Action: read: http://127.0.0.1/\nPAUSE", "<search_query>", "9" * 5000),
    *("é" * 300, "\r\n" * 200, "NO ANSWER"),
]
PROBLEMS = [
    *(errors.SourceError("shelf", "down"), errors.SourceBusy("shelf", "later", 1.0), errors.ReadError("u", "gone")),
    *(errors.Blocked("u", "no"), errors.ModelError("m", "broke"), errors.ModelBusy("m", "busy"), errors.BrokenStream("m", "cut")),
    *(errors.ContextTooLong("m", "long"), errors.WrongKey("m", "key"), errors.EmbedderError("e"), errors.IndexFault("i")),
    *(errors.DamagedFile("d"), TimeoutError(), OSError(28, "full"), ValueError("\ud800"), KeyError("k"), RecursionError()),
    *(MemoryError(), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), ConnectionResetError()),
]


@dataclass
class Chance:
    """What goes wrong in one run."""

    seed: int

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.rate = self.random.choice([0.0, 0.05, 0.2, 0.5, 1.0])

    def hits_it(self) -> bool:
        return self.random.random() < self.rate

    async def fail(self) -> None:
        if self.hits_it():
            if self.random.random() < 0.3:
                await asyncio.sleep(self.random.choice([0, 0.001, 0.005]))
            if self.random.random() < 0.6:
                raise self.random.choice(PROBLEMS)

    def text(self, words: str) -> str:
        if not self.hits_it():
            return words
        at = self.random.randrange(len(words) + 1)
        return self.random.choice([words[:at] + self.random.choice(NASTY) + words[at:], words[:at], self.random.choice(NASTY)])


@dataclass
class FaultySource:
    chance: Chance
    name: str = "shelf"
    hint: str = "words"
    searches: int = 0

    async def search(self, query: Query) -> Sequence[Hit]:
        self.searches += 1
        await self.chance.fail()
        text = self.chance.text
        hits = [
            Hit(
                text(hit.id) or "x",
                text(hit.text),
                text(hit.title),
                text(hit.url or "") or None,
                source="shelf",
                snippet=text(hit.snippet),
            )
            for hit in HITS[: self.chance.random.randrange(5)]
        ]
        return Hits(tuple(hits), (text("a part failed"),)) if self.chance.hits_it() else hits


@dataclass
class FaultyPages:
    chance: Chance

    async def read(self, url: str) -> Page:
        await self.chance.fail()
        return Page(
            url, self.chance.text("Page"), tuple(self.chance.text("Oppenheimer was released on July 21, 2023.") for _ in range(3))
        )


class FaultyModel(ScriptedModel):
    def __init__(self, chance: Chance) -> None:
        super().__init__(say, piece=chance.random.choice([1, 7, 400]))
        self.chance = chance

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        await self.chance.fail()
        async for item in super().stream(prompt):
            if isinstance(item, str):
                item = self.chance.text(item)
                if self.chance.random.random() < self.chance.rate / 20:
                    raise self.chance.random.choice(PROBLEMS)
            yield item


class FaultyKit(Kit):
    chance: Chance

    def pages(self) -> Any:
        return FaultyPages(self.chance)


async def run(seed: int) -> None:
    chance = Chance(seed)
    limits = {
        "max_searches": chance.random.choice([None, 0, 1, 3]),
        "max_tokens": chance.random.choice([None, 0, 500, 5000]),
        "max_seconds": chance.random.choice([300.0, 300.0, 2.0, 0.05]),
    }
    settings = Settings(effort="low", **limits)
    model, source, drift = FaultyModel(chance), FaultySource(chance), [0.0]

    def clock() -> float:
        drift[0] += chance.random.choice([0, 0, 0, 0, -0.001, 0.5]) if chance.rate == 1.0 else 0
        return time.monotonic() + drift[0]

    kit = FaultyKit(settings, environ={}, model=model)
    kit.chance = chance
    strategy = chance.random.choice(STRATEGIES)
    seen: list[events.Event] = []
    engine = Engine(settings, kit=kit, source=source, fallback=FaultySource(chance), outside=Outside(clock=clock))
    async with engine:
        async for event in engine.stream(QUESTION, strategy=strategy, params=PARAMS.get(strategy, {})):
            seen.append(event)
    where = f"seed {seed}, {strategy}"
    answers = [event for event in seen if isinstance(event, events.Answered)]
    assert len(answers) == 1, where
    assert seen[-1] is answers[0], where
    answer = answers[0].answer
    assert answer.outcome in get_args(Outcome), where
    assert answer.outcome in ("answered", "partial") or answer.text or answer.reason, where
    if limits["max_searches"] is not None:
        assert answer.usage.searches <= limits["max_searches"], where
    for event in seen:
        json.dumps(events.to_json(event), ensure_ascii=False).encode()  # whatever came in, it can be written down
    for sentence in answer.sentences:
        assert answer.text[sentence.start : sentence.end] == sentence.text, where


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


@pytest.mark.parametrize("group", range(GROUPS))
async def test_every_run_ends_well(group: int) -> None:
    seeds = [int(ONLY)] if ONLY else range(group, RUNS, GROUPS)
    tasks, threads = len(asyncio.all_tasks()), threading.active_count()
    descriptors = open_descriptors()
    for seed in seeds:
        await asyncio.wait_for(run(seed), 30)
        assert len(asyncio.all_tasks()) == tasks, f"seed {seed} left a task"
    assert threading.active_count() <= threads + 40  # the pools of threads and no more
    assert open_descriptors() <= descriptors + 20
