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
from typing import Any, Literal, TypeVar, cast, get_args

from wellread.encodable import Encodable
from wellread.errors import DamagedFile
from wellread.private import private_file
from wellread.server.history_tables import migrate

State = Literal["running", "done", "failed", "stopped", "interrupted"]
T = TypeVar("T")
Job = tuple[str, tuple[object, ...]]

_COLUMNS = "id, thread, parent, question, strategy, model, sources, state, created, finished, outcome, answer, turns, via"
_STATES = get_args(State)
_DAMAGED = object()  # a column that is no JSON
_ENDED = '{"event": "ended", "state": "interrupted", "reason": "the server stopped"}'


@dataclass(frozen=True, slots=True)
class Record(Encodable):
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
    via: str | None = None  # the door it came in by, where that was not the page: api, openai, mcp

    @property
    def told(self) -> str:
        """What was said, for a later question to refer to; see `Answer.told`."""
        said = self.answer or {}
        return "\n\n".join(str(part) for part in (said.get("short"), said.get("answer")) if part) or str(said.get("asks") or "")

    @property
    def short(self) -> str | None:
        """The answer in a few words."""
        return str(found) if (found := (self.answer or {}).get("short")) else None

    @property
    def text(self) -> str:
        return str((self.answer or {}).get("answer") or "")


@dataclass(eq=False, slots=True)
class _Write:
    """What is written together or not at all. `done` gets the number of rows, or why there are none."""

    jobs: Sequence[Job]
    run: str | None = None
    done: asyncio.Future[int] | None = None

    def told(self, outcome: int | Exception) -> None:
        if self.done is None or self.done.done():
            return
        if isinstance(outcome, int):
            self.done.set_result(outcome)
        else:
            self.done.set_exception(DamagedFile(f"the history cannot be written: {outcome}"))


class _Locked(Exception):
    """No transaction can begin: nothing can be written now, and waiting once is enough."""


class History:
    """Open with `await History.open(path)`; `aclose` writes what is waiting."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = ThreadPoolExecutor(1, "wellread-history-write")
        self._reading = ThreadPoolExecutor(1, "wellread-history-read")
        self._waiting: list[_Write] = []
        self._incomplete: set[str] = set()  # runs of which an event could not be written
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
            *(json.dumps(record.turns, ensure_ascii=False) if record.turns else None, record.via, record.question.casefold()),
        )
        await self._commit([(f"INSERT INTO runs ({_COLUMNS}, words) VALUES ({', '.join('?' * 15)})", row)])

    def append(self, run: str, number: int, body: str) -> None:
        """Keep one event, soon."""
        self._enqueue(_Write([_event(run, number, body)], run))

    async def finish(self, run: str, state: State, answer: dict[str, object] | None, last: tuple[int, str] | None = None) -> None:
        """Keep how a run ended, with its last event; its events are on disk before this returns.

        Raises `DamagedFile` where this, or an event before it, could not be written: it can be called again then.
        """
        outcome = cast("str | None", (answer or {}).get("outcome"))
        words = str((answer or {}).get("answer") or "").casefold()
        body = json.dumps(answer, ensure_ascii=False) if answer is not None else None
        sql = "UPDATE runs SET state = ?, finished = ?, outcome = ?, answer = ?, words = words || ? WHERE id = ?"
        end = (sql, (state, time.time(), outcome, body, "\n" + words, run))
        await self._commit([_event(run, *last), end] if last else [end], run)

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
        where, terms = _matching(search)
        sql = f"SELECT {_COLUMNS} FROM runs WHERE created < ? AND {where} ORDER BY created DESC LIMIT ?"
        return [_record(row) for row in await self._rows(sql, (before if before is not None else float("inf"), *terms, limit))]

    async def threads(self, *, search: str = "", limit: int = 100) -> list[list[Record]]:
        """Conversations in which a question or answer has these words, the latest first, each from its beginning on."""
        where, terms = _matching(search)
        latest = f"SELECT thread FROM runs WHERE {where} GROUP BY thread ORDER BY MAX(created) DESC LIMIT ?"
        rows = await self._rows(f"SELECT {_COLUMNS} FROM runs WHERE thread IN ({latest}) ORDER BY created", (*terms, limit))
        found: dict[str, list[Record]] = {}
        for record in map(_record, rows):
            found.setdefault(record.thread, []).append(record)
        return sorted(found.values(), key=lambda thread: -thread[-1].created)

    async def names(self) -> dict[str, str]:
        """Conversations that were given a name."""
        return {str(thread): str(name) for thread, name in await self._rows("SELECT thread, name FROM names", ())}

    async def rename(self, thread: str, name: str) -> None:
        """Give a conversation a name; an empty one takes it away."""
        forget = ("DELETE FROM names WHERE thread = ?", (thread,))
        keep = ("INSERT INTO names SELECT ?, ? WHERE EXISTS (SELECT 1 FROM runs WHERE thread = ?)", (thread, name, thread))
        await self._commit([forget, keep] if name else [forget])

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

    async def _commit(self, jobs: Sequence[Job], run: str | None = None) -> int:
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._enqueue(_Write(jobs, run, done))
        return await done

    def _enqueue(self, write: _Write) -> None:
        self._waiting.append(write)
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        """Write until nothing is waiting. Whatever happens, whoever waits is told and the next group is written."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            group, self._waiting = self._waiting, []
            outcomes: Sequence[int | Exception] = [DamagedFile("the server stopped")] * len(group)
            try:
                outcomes = await loop.run_in_executor(self._writing, self._apply, group)
            except Exception as problem:
                outcomes = [self._lost(write, problem) for write in group]
            finally:
                for write, outcome in zip(group, outcomes, strict=True):
                    write.told(outcome)

    def _apply(self, group: Sequence[_Write]) -> list[int | Exception]:
        """All in one transaction; where that fails each in its own, so that one cannot fail the others."""
        if not any(write.run in self._incomplete for write in group):
            try:
                return [*self._transact(group)]
            except _Locked:
                raise
            except Exception:
                pass  # each says below what is wrong with it
        return [self._apply_one(write) for write in group]

    def _apply_one(self, write: _Write) -> int | Exception:
        if write.done is not None and write.run in self._incomplete:
            self._incomplete.discard(write.run)
            return DamagedFile("events of this run are missing")
        try:
            return self._transact([write])[0]
        except _Locked:
            raise
        except Exception as problem:
            return self._lost(write, problem)

    def _transact(self, group: Sequence[_Write]) -> list[int]:
        assert self._writer is not None
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as problem:
            raise _Locked(problem) from None
        try:
            counts = [sum(self._writer.execute(sql, values).rowcount for sql, values in write.jobs) for write in group]  # pyright: ignore[reportArgumentType]
            self._writer.execute("COMMIT")
        finally:
            if self._writer.in_transaction:  # SQLite ends one itself when the disk is full
                self._writer.execute("ROLLBACK")
        return counts

    def _lost(self, write: _Write, problem: Exception) -> Exception:
        self.failed_writes += 1
        if write.run is not None and write.done is None:
            self._incomplete.add(write.run)
        return problem

    async def _rows(self, sql: str, values: Sequence[object]) -> list[tuple[object, ...]]:
        def read() -> list[tuple[object, ...]]:
            assert self._reader is not None
            return self._reader.execute(sql, values).fetchall()  # pyright: ignore[reportArgumentType]

        return await self._read(read)

    async def _read(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reading, job)


def _matching(search: str) -> tuple[str, list[object]]:
    """All words have to be in question or answer: a condition and its values."""
    words = [word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for word in search.casefold().split()[:10]]
    return " AND ".join(["1", *("words LIKE ? ESCAPE '\\'" for _ in words)]), [f"%{word}%" for word in words]


def _event(run: str, number: int, body: str) -> Job:
    # a run that was deleted while it was running takes no more events
    sql = "INSERT INTO events SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?)"
    return sql, (run, number, body, run)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _writer(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    private_file(path)  # questions are nobody else's business; its journal gets the same permissions
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
    """A row as it can be read: where a column is damaged the run has failed, and the others are still shown."""
    values = list(row)
    values[6] = _sources(_json(values[6]))
    values[12] = _turns(_json(values[12]))
    answer = _json(values[11])
    whole = answer is None or _is_answer(answer)
    values[11] = answer if whole else None
    values[9] = values[9] if isinstance(values[9], int | float) else None
    values[8] = values[8] if isinstance(values[8], int | float) else 0.0
    if not whole or values[7] not in _STATES:
        values[7] = "failed"
    for place in (0, 1, 2, 3, 4, 5, 10, 13):
        values[place] = values[place] if values[place] is None else str(values[place])
    return Record(*values)  # pyright: ignore[reportArgumentType]


def _json(column: object) -> Any:
    if column is None:
        return None
    try:
        return json.loads(column if isinstance(column, str) else "[")
    except (ValueError, RecursionError):
        return _DAMAGED


def _sources(found: Any) -> tuple[str, ...]:
    return tuple(map(str, cast("list[object]", found))) if isinstance(found, list) else ()


def _turns(found: Any) -> tuple[tuple[str, str], ...]:
    turns = cast("list[object]", found) if isinstance(found, list) else []
    pairs = [cast("list[object]", turn) for turn in turns if isinstance(turn, list)]
    return tuple((str(turn[0]), str(turn[1])) for turn in pairs if len(turn) == 2)


def _is_answer(found: Any) -> bool:
    """Whether it has what every reader of an answer takes for granted."""
    if not isinstance(found, dict) or "outcome" not in found:
        return False
    rows = [cast("dict[str, Any]", found).get(name, []) for name in ("sentences", "citations")]
    return all(isinstance(row, list) and all(isinstance(one, dict) for one in cast("list[Any]", row)) for row in rows)
