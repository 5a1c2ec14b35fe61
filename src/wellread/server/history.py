"""Runs and their events in SQLite (WAL): written by one thread in groups, read by another.

What was acknowledged is committed. Everything that is waiting when the writer gets to it goes into one
transaction, so that many streams at once cost few commits.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar, cast

from wellread.errors import DamagedFile
from wellread.server.schema import migrate

State = Literal["running", "done", "failed", "stopped", "interrupted"]
T = TypeVar("T")
Job = tuple[str, tuple[object, ...]]

_COLUMNS = "id, thread, parent, question, strategy, model, sources, state, created, finished, outcome, answer, turns"
_ENDED = '{"event": "ended", "state": "interrupted", "reason": "the server stopped"}'


@dataclass(frozen=True, slots=True)
class Record:
    """One run as the history keeps it. `answer` is the JSON of `ask --json`, None before the end."""

    id: str
    thread: str
    parent: str | None
    question: str
    strategy: str
    model: str | None
    sources: tuple[str, ...]
    state: State
    created: float
    finished: float | None = None
    outcome: str | None = None
    answer: dict[str, object] | None = None
    turns: tuple[tuple[str, str], ...] = ()  # that a client told with the question: said before, and not here

    @property
    def text(self) -> str:
        return str((self.answer or {}).get("answer") or "")


class History:
    """Open with `await History.open(path)`; `aclose` writes what is waiting."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = ThreadPoolExecutor(1, "wellread-history-write")
        self._reading = ThreadPoolExecutor(1, "wellread-history-read")
        self._waiting: list[tuple[Sequence[Job], asyncio.Future[int] | None]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self.failed_writes = 0

    @classmethod
    async def open(cls, path: Path) -> History:
        """Open or create; runs that a crash left running are marked interrupted."""
        history = cls(path)
        loop = asyncio.get_running_loop()
        try:
            history._writer = await loop.run_in_executor(history._writing, _writer, path)
            history._reader = await loop.run_in_executor(history._reading, _connect, path)
        except (sqlite3.DatabaseError, OSError) as problem:
            await history.aclose()
            raise DamagedFile(f"{path}: the history cannot be opened: {problem}") from None
        except BaseException:
            await history.aclose()
            raise
        return history

    async def aclose(self) -> None:
        while self._flusher is not None and not self._flusher.done():
            await asyncio.wait([self._flusher])
        loop = asyncio.get_running_loop()
        for connection, thread in ((self._writer, self._writing), (self._reader, self._reading)):
            if connection is not None:
                await loop.run_in_executor(thread, connection.close)
            thread.shutdown(wait=True)
        self._writer = self._reader = None

    async def add(self, record: Record) -> None:
        """Keep a new run; when this returns it survives a crash."""
        row = (
            *(record.id, record.thread, record.parent, record.question, record.strategy, record.model),
            *(json.dumps(record.sources), record.state, record.created, None, None, None),
            *(json.dumps(record.turns, ensure_ascii=False) if record.turns else None, record.question.casefold()),
        )
        await self._commit([(f"INSERT INTO runs ({_COLUMNS}, words) VALUES ({', '.join('?' * 14)})", row)])

    def append(self, run: str, number: int, body: str) -> None:
        """Keep one event, soon."""
        # a run that was deleted while it was running takes no more events
        job = (
            "INSERT INTO events SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?)",
            (run, number, body, run),
        )
        self._enqueue([job], None)

    async def finish(self, run: str, state: State, answer: dict[str, object] | None) -> None:
        """Keep how a run ended; its events are on disk before this returns."""
        outcome = cast("str | None", (answer or {}).get("outcome"))
        words = str((answer or {}).get("answer") or "").casefold()
        body = json.dumps(answer, ensure_ascii=False) if answer is not None else None
        sql = "UPDATE runs SET state = ?, finished = ?, outcome = ?, answer = ?, words = words || ? WHERE id = ?"
        await self._commit([(sql, (state, time.time(), outcome, body, "\n" + words, run))])

    async def delete(self, run: str) -> bool:
        """Forget a run and its events."""
        return await self._commit([("DELETE FROM runs WHERE id = ?", (run,))]) > 0

    async def expire(self, days: int) -> int:
        """Forget finished runs older than this; how many there were."""
        if days == 0:
            return 0
        before = time.time() - days * 86_400
        return await self._commit([("DELETE FROM runs WHERE created < ? AND state != 'running'", (before,))])

    async def get(self, run: str) -> Record | None:
        rows = await self._rows(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run,))
        return _record(rows[0]) if rows else None

    async def events(self, run: str, offset: int = 0, limit: int = 500) -> list[tuple[int, str]]:
        """Events from a number on, with their numbers."""
        sql = "SELECT number, body FROM events WHERE run = ? AND number >= ? ORDER BY number LIMIT ?"
        return cast("list[tuple[int, str]]", await self._rows(sql, (run, offset, limit)))

    async def list(self, *, search: str = "", limit: int = 50, before: float | None = None) -> list[Record]:
        """The latest runs first; `search` words must all be in question or answer."""
        where, values = ["created < ?"], [before if before is not None else float("inf")]
        terms: list[object] = [*values]
        for word in search.casefold().split()[:10]:
            where.append("words LIKE ? ESCAPE '\\'")
            terms.append("%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%")
        sql = f"SELECT {_COLUMNS} FROM runs WHERE {' AND '.join(where)} ORDER BY created DESC LIMIT ?"
        return [_record(row) for row in await self._rows(sql, (*terms, limit))]

    async def thread(self, thread: str) -> list[Record]:
        """A conversation, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM runs WHERE thread = ? ORDER BY created LIMIT 200"
        return [_record(row) for row in await self._rows(sql, (thread,))]

    async def export(self) -> AsyncIterator[Record]:
        """Everything, oldest first, a page at a time."""
        after: tuple[float, str] = (0.0, "")
        sql = f"SELECT {_COLUMNS} FROM runs WHERE (created, id) > (?, ?) ORDER BY created, id LIMIT 100"
        while rows := await self._rows(sql, after):
            for row in rows:
                yield _record(row)
            after = (cast("float", rows[-1][8]), cast("str", rows[-1][0]))

    async def _commit(self, jobs: Sequence[Job]) -> int:
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._enqueue(jobs, done)
        return await done

    def _enqueue(self, jobs: Sequence[Job], done: asyncio.Future[int] | None) -> None:
        self._waiting.append((jobs, done))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                counts = await loop.run_in_executor(self._writing, self._apply, [jobs for jobs, _ in group])
            except (sqlite3.Error, OSError) as problem:
                self.failed_writes += 1
                for _, done in group:
                    if done is not None and not done.done():
                        done.set_exception(DamagedFile(f"the history cannot be written: {problem}"))
            else:
                for (_, done), count in zip(group, counts, strict=True):
                    if done is not None and not done.done():
                        done.set_result(count)

    def _apply(self, group: Sequence[Sequence[Job]]) -> list[int]:
        assert self._writer is not None
        counts: list[int] = []
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            for jobs in group:
                counts.append(sum(self._writer.execute(sql, values).rowcount for sql, values in jobs))  # pyright: ignore[reportArgumentType]
        except BaseException:
            self._writer.execute("ROLLBACK")
            raise
        self._writer.execute("COMMIT")
        return counts

    async def _rows(self, sql: str, values: Sequence[object]) -> list[tuple[object, ...]]:
        def read() -> list[tuple[object, ...]]:
            assert self._reader is not None
            return self._reader.execute(sql, values).fetchall()  # pyright: ignore[reportArgumentType]

        return await self._read(read)

    async def _read(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reading, job)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _writer(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)  # questions are nobody else's business
    connection = _connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    migrate(connection)
    connection.execute("BEGIN IMMEDIATE")
    number = "(SELECT COALESCE(MAX(number), -1) + 1 FROM events WHERE run = runs.id)"
    connection.execute(f"INSERT INTO events SELECT id, {number}, ? FROM runs WHERE state = 'running'", (_ENDED,))
    connection.execute("UPDATE runs SET state = 'interrupted', finished = ? WHERE state = 'running'", (time.time(),))
    connection.execute("COMMIT")
    return connection


def _record(row: tuple[object, ...]) -> Record:
    values = list(row)
    values[6] = tuple(json.loads(str(values[6])))
    values[11] = json.loads(str(values[11])) if values[11] is not None else None
    values[12] = tuple((said, heard) for said, heard in json.loads(str(values[12]))) if values[12] is not None else ()
    return Record(*values)  # pyright: ignore[reportArgumentType]
