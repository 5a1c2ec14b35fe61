"""Parts that fail as a seed says: sources, pages, models, clocks, disks, and the processes that read documents."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.strategies.test_all import HITS, say

from wellread import errors
from wellread.models.scripted import ScriptedModel
from wellread.parts import Parts
from wellread.protocols import Source
from wellread.reading.allowance import WEB_PAGE
from wellread.reading.workers import Workers
from wellread.types import Completion, Document, Hit, Hits, Page, Prompt, Query

STRATEGIES = ("iterative", "fanout", "react", "corrective", "digest", "quote", "research")
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
class FaultySource(Source):
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


@dataclass
class WorkerPages:
    """Pages that a child process reads, which may be killed meanwhile, or be given what it cannot read."""

    chance: Chance
    workers: Workers

    async def read(self, url: str) -> Page:
        body = self.chance.text("Oppenheimer was released on July 21, 2023.\n\n" * 3).encode("utf-8", "replace")
        if self.chance.hits_it():
            body = self.chance.random.choice([b"%PDF-1.4\n" + body, b"PK\x03\x04" + body, body[::-1], b"\0" * 50, b""])
        reading = asyncio.create_task(self.workers.aread(Document(body, url, "text/plain"), WEB_PAGE))
        if self.chance.random.random() < self.chance.rate / 3:
            await asyncio.sleep(self.chance.random.choice([0, 0.001]))
            for pid in self.workers.pids():
                os.kill(pid, signal.SIGKILL)
        return await reading


class FaultyKit(Parts):
    chance: Chance
    workers: Workers | None = None

    def pages(self) -> Any:
        return FaultyPages(self.chance) if self.workers is None else WorkerPages(self.chance, self.workers)


def faulty_clock(chance: Chance) -> Any:
    """Jumps, and goes backwards a little, where all goes wrong."""
    drift = [0.0]

    def clock() -> float:
        drift[0] += chance.random.choice([0, 0, 0, 0, -0.001, 0.5]) if chance.rate == 1.0 else 0
        return time.monotonic() + drift[0]

    return clock


class FaultyDisk(sqlite3.Connection):
    """A database that cannot be written now and then."""

    chance: Chance | None = None

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        writes = sql.startswith(("INSERT", "UPDATE", "BEGIN", "COMMIT"))
        if self.chance is not None and writes and self.chance.random.random() < self.chance.rate / 10:
            raise self.chance.random.choice(
                [
                    *(sqlite3.OperationalError("disk I/O error"), sqlite3.OperationalError("database or disk is full")),
                    *(sqlite3.DatabaseError("database disk image is malformed"), OSError(5, "Input/output error"), MemoryError()),
                ]
            )
        return super().execute(sql, values)


def faulty_disk(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False, factory=FaultyDisk)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection
