"""Runs and their events in a database: written by one thread in groups, read by another.

What was acknowledged is committed. Everything that is waiting when the writer gets to it goes into one
transaction, so that many streams at once cost few commits. What a follow-up question stands on, the conversation so far and the
passages it was built on, is read from there.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from wellread.answer_json import AnswerJson
from wellread.core.codec import Json, decode, dumps, loads
from wellread.core.unicode_safety import Encodable
from wellread.errors import DamagedFile
from wellread.events import Event, Numbered, from_json
from wellread.parameters import PublicSpec, public
from wellread.present.sections import preview
from wellread.server.database import Job, Postgres, Row, Sqlite, Unreachable, Values
from wellread.server.limits import beside, in_turn
from wellread.strategies.earlier import Earlier
from wellread.types import Passage

T = TypeVar("T")
State = Literal["running", "done", "failed", "stopped", "interrupted"]

COLUMNS = "id, thread, parent, question, strategy, model, sources, state, created, finished, outcome, answer, turns, via"
TURNS = 8  # of a conversation, the latest
_JSON = ("sources", "answer", "turns")


@dataclass(eq=False, slots=True)
class _Write:
    """A transaction that waits to be written. `done` gets the number of rows, or why there are none."""

    jobs: Sequence[Job]
    done: asyncio.Future[int] | None = None

    def told(self, outcome: int | Exception) -> None:
        if self.done is not None and not self.done.done():
            if isinstance(outcome, int):
                self.done.set_result(outcome)
            else:
                self.done.set_exception(DamagedFile(f"the history cannot be written: {outcome}"))


class History:
    """Open with `await History.open(where)`; `aclose` writes what is waiting."""

    def __init__(self, database: Sqlite | Postgres) -> None:
        self.database = database
        self._writing = ThreadPoolExecutor(1, "wellread-history-write")
        self._reading = ThreadPoolExecutor(1, "wellread-history-read")
        self._waiting: list[_Write] = []
        self._flusher: asyncio.Task[None] | None = None
        self.failed_writes = 0

    @classmethod
    async def open(cls, where: Path | str | None) -> History:
        """Open or create: a file, a database of PostgreSQL by its address, or None: in memory."""
        history = cls(Postgres(where) if isinstance(where, str) else Sqlite(where))
        try:
            await asyncio.get_running_loop().run_in_executor(history._writing, history.database.open)
        except BaseException:
            await history.aclose()
            raise
        return history

    async def aclose(self) -> None:
        while self._flusher is not None and not self._flusher.done():
            await asyncio.wait([self._flusher])
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for thread in (self._reading, self._writing):
            thread.shutdown(wait=True)
        self.database.close()

    async def add(self, record: Record) -> None:
        """Keep a new run; when this returns it survives a crash."""
        row = (
            *(record.id, record.thread, record.parent, record.question, record.strategy, record.model),
            *(json.dumps(record.sources), record.state, record.created, None, None, None),
            *(json.dumps(record.turns, ensure_ascii=False) if record.turns else None, record.via, record.question.casefold()),
            self.database.server,
        )
        await self.commit(
            [(f"INSERT INTO runs ({COLUMNS}, words, server) VALUES ({', '.join('?' * 16)}) ON CONFLICT DO NOTHING", row)]
        )

    def append(self, run: str, number: int, body: str) -> None:
        """Keep one event, soon."""
        self._enqueue(_Write([_event(run, number, body)]))

    async def finish(self, run: str, state: State, answer: AnswerJson | None, *events: tuple[int, str]) -> None:
        """Keep how a run ended, with its events where they were not kept before; `DamagedFile` where that cannot be written."""
        outcome, words, body = (answer.outcome, answer.answer.casefold(), dumps(answer)) if answer else (None, "", None)
        sql = "UPDATE runs SET state = ?, finished = ?, outcome = ?, answer = ?, words = words || ? WHERE id = ?"
        end = (f"{sql} AND state = 'running'", (state, time.time(), outcome, body, "\n" + words, run))
        await self.commit([*(_event(run, *event) for event in events), end])

    async def delete(self, run: str) -> bool:
        """Forget a run and its events."""
        return await self.commit([("DELETE FROM runs WHERE id = ?", (run,))]) > 0

    async def expire(self, days: int) -> int:
        """Forget finished runs older than this; how many there were."""
        if days == 0:
            return 0
        before = time.time() - days * 86_400
        return await self.commit([("DELETE FROM runs WHERE created < ? AND state != 'running'", (before,))])

    async def would_forget_all(self, days: int) -> bool:
        """Whether even the latest run is older than this."""
        return bool(days) and any(one.created < time.time() - days * 86_400 for one in await self.list(limit=1))

    async def get(self, run: str) -> Record | None:
        rows = await self.rows(f"SELECT {COLUMNS} FROM runs WHERE id = ?", (run,))
        return from_row(rows[0]) if rows else None

    async def events(self, run: str, offset: int = 0, limit: int = 500) -> list[tuple[int, str]]:
        """Events from a number on, with their numbers."""
        sql = "SELECT number, body FROM events WHERE run = ? AND number >= ? ORDER BY number LIMIT ?"
        return await self._read(event_row, sql, (run, offset, limit))

    async def list(self, *, search: str = "", limit: int = 50, before: float | None = None) -> list[Record]:
        """The latest runs first; `search` words must all be in question or answer."""
        where, terms = _matching(search)
        found = f"SELECT id FROM runs WHERE created < ? AND {where} ORDER BY created DESC LIMIT ?"  # read from the index alone
        sql = f"SELECT {COLUMNS} FROM runs WHERE id IN ({found}) ORDER BY created DESC"
        return await self._records(sql, (before if before is not None else float("inf"), *terms, limit))

    async def threads(self, *, search: str = "", limit: int = 100) -> list[list[Record]]:
        """Conversations in which a question or answer has these words, the latest first, each from its beginning on."""
        where, terms = _matching(search)
        by_words = "GROUP BY thread || ''"  # which keeps SQLite from another index than that of the words
        latest = f"SELECT MIN(thread) FROM runs WHERE {where} {by_words} ORDER BY MAX(created) DESC LIMIT ?"
        sql = f"SELECT {COLUMNS} FROM runs WHERE thread IN ({latest}) ORDER BY created"
        found: dict[str, list[Record]] = {}
        for record in await self._records(sql, (*terms, limit)):
            found.setdefault(record.thread, []).append(record)
        return sorted(found.values(), key=lambda thread: -thread[-1].created)

    async def names(self) -> dict[str, str]:
        """Conversations that were given a name."""
        return {str(thread): str(name) for thread, name in await self.rows("SELECT thread, name FROM names", ())}

    async def rename(self, thread: str, name: str) -> None:
        """Give a conversation a name; an empty one takes it away."""
        forget = ("DELETE FROM names WHERE thread = ?", (thread,))
        keep = ("INSERT INTO names SELECT ?, ? WHERE EXISTS (SELECT 1 FROM runs WHERE thread = ?)", (thread, name, thread))
        await self.commit([forget, keep] if name else [forget])

    def thread(self, thread: str) -> AsyncGenerator[Record]:
        """A conversation, oldest first, a page at a time."""
        return self._oldest_first("thread = ? AND", thread)

    def export(self) -> AsyncGenerator[Record]:
        """Everything, oldest first, a page at a time."""
        return self._oldest_first("")

    async def _oldest_first(self, within: str, *values: str) -> AsyncGenerator[Record]:
        after: tuple[float, str] = (float("-inf"), "")
        sql = f"SELECT {COLUMNS} FROM runs WHERE {within} (created, id) > (?, ?) ORDER BY created, id LIMIT 100"
        while records := await self._records(sql, (*values, *after)):
            for record in records:
                yield record
            after = (records[-1].created, records[-1].id)

    async def commit(self, jobs: Sequence[Job]) -> int:
        """Write these together; how many rows they changed."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._enqueue(_Write(jobs, done))
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
                outcomes = [self._lost(problem) for _ in group]
            finally:
                for write, outcome in zip(group, outcomes, strict=True):
                    write.told(outcome)

    def _apply(self, group: Sequence[_Write]) -> list[int | Exception]:
        """All in one transaction; where that fails each in its own, so that one cannot fail the others."""
        try:
            return [*self.database.write([write.jobs for write in group])]
        except Unreachable:
            raise
        except Exception as problem:
            return [self._lost(problem)] if len(group) == 1 else [one for write in group for one in self._apply([write])]

    def _lost(self, problem: Exception) -> Exception:
        self.failed_writes += 1
        return problem

    async def _records(self, sql: str, values: Values) -> list[Record]:
        return await self._read(from_row, sql, values)

    async def _read(self, taken: Callable[[Row], T], sql: str, values: Values) -> list[T]:
        """Taken apart in the thread that reads them: a hundred conversations would keep the loop for a tenth of a second."""

        def read() -> list[T]:
            return [taken(row) for row in self.database.read(sql, values)]

        return await in_turn(self._reading, read)

    async def rows(self, sql: str, values: Values = ()) -> list[Row]:
        return await in_turn(self._reading, lambda: self.database.read(sql, values))


def _matching(search: str) -> tuple[str, list[object]]:
    """All words have to be in question or answer: a condition and its values."""
    words = [word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for word in search.casefold().split()[:10]]
    return " AND ".join(["TRUE", *("words LIKE ? ESCAPE '\\'" for _ in words)]), [f"%{word}%" for word in words]


def _event(run: str, number: int, body: str) -> Job:
    # a run that was deleted while it was running takes no more events, nor does one that others have ended
    where = "WHERE EXISTS (SELECT 1 FROM runs WHERE id = ? AND state = 'running') ON CONFLICT DO NOTHING"
    return f"INSERT INTO events SELECT ?, ?, ? {where}", (run, number, body, run)


@dataclass(frozen=True, slots=True)
class Record(Encodable):
    """One run as the history keeps it. `answer` is what `ask --json` prints, None before the end."""

    id: str
    thread: str
    parent: str | None
    question: str
    strategy: str
    model: PublicSpec | None
    sources: tuple[PublicSpec, ...]
    state: State
    created: float
    finished: float | None = None
    outcome: str | None = None
    answer: AnswerJson | None = None
    turns: tuple[tuple[str, str], ...] = ()  # that a client told with the question: said before, and not here
    via: str | None = None  # the door it came in by, where that was not the page: api, openai, mcp

    @property
    def told(self) -> str:
        """The answer's words, for a later question to refer to."""
        return self.answer.told if self.answer else ""

    @property
    def short(self) -> str | None:
        """The answer in a few words."""
        return self.answer.short if self.answer else None

    @property
    def text(self) -> str:
        return self.answer.answer if self.answer else ""

    @property
    def preview(self) -> str:
        """The answer's first words."""
        return preview(self.text, 160)


def from_row(row: tuple[object, ...]) -> Record:
    """A row of the table. Nobody but its owner writes the file: one that is damaged is to be restored, not guessed at."""
    said = dict(zip(COLUMNS.split(", "), row, strict=True))
    try:
        read = {name: loads(object, str(said[name])) for name in _JSON if said[name] is not None}
        record = decode(Record, {**said, "turns": (), **read})
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged at run {said['id']}: restore it from a copy ({problem})") from None
    model = public(record.model) if record.model else None  # it was kept with its password once
    return replace(
        record, model=model, sources=tuple(map(public, record.sources)), answer=record.answer and completed(record.answer)
    )


def event_row(row: tuple[object, ...]) -> tuple[int, str]:
    """The number and the JSON of an event."""
    try:
        return decode(tuple[int, str], row)
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged: restore it from a copy ({problem})") from None


def completed(answer: AnswerJson) -> AnswerJson:
    """Without a password that was kept with its model once."""
    return replace(answer, model=answer.model and public(answer.model))


async def context(history: History, parent: Record | None) -> tuple[tuple[tuple[str, str], ...], list[Earlier]]:
    """Questions and answers up to the parent, oldest first, and their passages as a source."""
    if parent is None:
        return (), []
    before = await chain(history, parent)
    turns = [turn for record in before for turn in (*record.turns, (record.question, record.told)) if turn[1]]
    earlier = Earlier()
    for record in before:
        for passage in (await numbered(history, record.id)).values():
            earlier.kept[passage.id] = passage
    return tuple(turns[-TURNS:]), [earlier] if earlier.kept else []


async def numbered(history: History, run: str) -> dict[int, Passage]:
    """The passages of a run by their numbers. Its log may be long: it is read beside the event loop."""
    log = [body for _, body in await history.events(run, limit=5_000)]
    return await beside(lambda: passages_of(decoded(log)))


def decoded(log: Sequence[str]) -> list[Event]:
    """The events of a run as they are kept, without those of its end."""
    try:
        return [event for body in log if (event := event_of(loads(Json, body))) is not None]
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged: restore it from a copy ({problem})") from None


def event_of(body: Json) -> Event | None:
    """An event of the history; None for what says nothing to a page, or not what such an event says."""
    try:
        return from_json(body)
    except DamagedFile:
        return None


def passages_of(seen: Sequence[Event]) -> dict[int, Passage]:
    """The numbered passages of a run, from its events."""
    return {event.number: event.passage for event in seen if isinstance(event, Numbered)}


async def chain(history: History, last: Record) -> list[Record]:
    """From the first question to the last; a conversation may have branches."""
    found = [last]
    while (name := found[-1].parent) is not None and len(found) < TURNS:
        before = await history.get(name)
        if before is None or before.thread != last.thread:
            break
        found.append(before)
    return found[::-1]
