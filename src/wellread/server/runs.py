"""Runs: each works in a task of its own, is read from any offset by whoever listens, and ends with a last event `ended`.

One that was begun is kept in the history from its beginning on and needs no listener. One that is attached ends with its
reader, and is kept when there is an answer. Every event gets a number and is kept in memory while the run goes on.

Several servers may have one history: each shows that it is alive, does what the others ask of it, and sees what they do.
A server beats once a second. One that has been silent for long is taken for dead, and whoever notices ends its runs. The
database's clock is the only one that counts, and a database that has just come back gives everybody time to say so.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from bisect import bisect_left
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.core.codec import Json, loads
from wellread.errors import BudgetExhausted, WellreadError
from wellread.server import logs
from wellread.server.database import end_orphans, register
from wellread.server.history import History, Record, State
from wellread.server.limits import Gate, Stopping, Ticket
from wellread.server.menu import ReadyRun, Turns
from wellread.server.metrics import Metrics

Door = Literal["api", "openai", "mcp"]  # by which a run comes in that is not the page's
BEAT = 1.0  # seconds
SILENT = 10.0  # seconds after which a server is taken for dead; a machine that is overloaded is not
TICK = 0.1  # seconds between looks at what the others have written
STOPPING = 15.0  # seconds that another server gets to stop a run
_AT_ONCE = 5_000  # events
_FORGET_SILENT = """DELETE FROM servers WHERE seen < now() - make_interval(secs => ?)
    AND pg_postmaster_start_time() < now() - make_interval(secs => ?)"""
Numbered = tuple[int, str]  # an event's number and its JSON


@dataclass(eq=False, slots=True)
class Following:
    """Event log of a run that is going on. Readers wait on `more`, which is replaced whenever there is news."""

    known: list[Numbered] = field(default_factory=list[Numbered])
    more: asyncio.Event = field(default_factory=asyncio.Event)
    over: bool = False
    readers: int = 0  # here, of a run that another server works on

    @property
    def next(self) -> int:
        """The number of the event that is waited for."""
        return self.known[-1][0] + 1 if self.known else 0

    def add(self, *news: Numbered, last: bool = False) -> None:
        self.known += news
        self.over = self.over or last
        self.more.set()
        self.more = asyncio.Event()

    async def read(self, offset: int) -> AsyncGenerator[list[Numbered], None]:
        """All events from an offset on, to the end of the run."""
        while True:
            batch = self.known[bisect_left(self.known, offset, key=lambda event: event[0]) :]
            if batch:
                yield batch
                offset = batch[-1][0] + 1
            elif self.over:
                return
            else:
                await self.more.wait()


@dataclass(eq=False, slots=True)
class LiveRun:
    """A run that is going on here."""

    record: Record
    ticket: Ticket
    kept: bool  # in the history from its beginning on
    following: Following = field(default_factory=Following)
    ending: State | None = None  # set before the task is cancelled, says why
    answer: AnswerJson | None = None
    task: asyncio.Task[None] | None = None

    @property
    def log(self) -> list[str]:
        return [body for _, body in self.following.known]


class Runs:
    """All that is running now."""

    def __init__(
        self, history: History, gate: Gate, metrics: Metrics, *, keep_api: bool = True, peers: Peers | None = None
    ) -> None:
        self.peers = peers
        self.history = history
        self.keep_api = keep_api
        self.gate = gate
        self.metrics = metrics
        self.live: dict[str, LiveRun] = {}
        self.unkept: dict[str, Numbered] = {}  # runs that have ended, which the history does not know
        self.stopping = False

    async def start(
        self, asked: ReadyRun, client: str, parent: Record | None = None, turns: Turns = (), via: Door | None = None
    ) -> Record:
        """Begin a run that goes on without a listener; when this returns, the history holds it. Or `Busy`."""
        ticket, record = self._admit(client), _new(asked, parent, turns, via)
        try:
            await self.history.add(record)
        except BaseException:
            ticket.release()
            raise
        return self._begin(LiveRun(record, ticket, kept=True), asked).record

    async def attach(
        self, asked: ReadyRun, client: str, parent: Record | None = None, turns: Turns = (), via: Door | None = None
    ) -> LiveRun:
        """Begin a run that its reader has to stop. One with an answer that came in by a named door is kept in the history
        then, unless the operator wants none of these."""
        return self._begin(LiveRun(_new(asked, parent, turns, via), self._admit(client), kept=False), asked)

    def _begin(self, live: LiveRun, asked: ReadyRun) -> LiveRun:
        self.live[live.record.id] = live
        live.task = asyncio.create_task(self._work(live, asked), name=f"run {live.record.id}")
        return live

    async def stop(self, run: str) -> bool:
        """Stop a run that is going on, here or at another server, and wait until it has; False when it is not."""
        live = self.live.get(run)
        if live is None or live.task is None:
            return self.peers is not None and await self.peers.stop(run)
        live.ending = live.ending or "stopped"
        live.task.cancel()
        await asyncio.wait([live.task])
        return True

    async def follow(self, run: str, offset: int = 0) -> AsyncGenerator[list[Numbered], None]:
        """A run's events from an offset, as they come; ends with the run."""
        if (live := self.live.get(run)) is not None:
            async for batch in live.following.read(offset):
                yield batch
            return
        if self.peers is not None and await self.peers.works_on(run):
            async with self.peers.watching(run) as following:
                async for batch in following.read(offset):
                    yield batch
            return
        while batch := await self.history.events(run, offset):
            yield batch
            offset = batch[-1][0] + 1

    def _admit(self, client: str) -> Ticket:
        """A place for a run, or `Busy`."""
        if self.stopping:
            raise Stopping("the server is stopping", 5)
        return self.gate.admit(client)

    async def settle(self) -> None:
        """Write down the ends that could not be written when they came."""
        for run, last in list(self.unkept.items()):
            await self.history.finish(run, "failed", None, last)
            del self.unkept[run]

    def interrupt(self, *, attached: bool = False) -> None:
        """End all runs that the history holds, and those that are attached where these are meant, too."""
        for live in list(self.live.values()):
            if live.task is not None and (live.kept or attached):
                live.ending = live.ending or "interrupted"
                live.task.cancel()

    async def drain(self, seconds: float) -> None:
        """Take no more runs; let those that go on finish, then interrupt them."""
        self.stopping = True
        await self._ended(seconds)
        self.interrupt(attached=True)
        await self._ended(5)

    async def _ended(self, seconds: float) -> None:
        if tasks := [live.task for live in self.live.values() if live.task]:
            await asyncio.wait(tasks, timeout=seconds)

    async def _work(self, live: LiveRun, asked: ReadyRun) -> None:
        logs.run_id.set(live.record.id)
        begun = time.monotonic()
        state: State = "failed"
        reason: str | None = None
        try:
            state, reason = await self._run(live, asked)
        except asyncio.CancelledError:
            state = live.ending or "interrupted"
        except WellreadError as problem:
            reason = str(problem)
        except Exception as problem:
            reason = "something unexpected went wrong"
            logs.fault("run failed", problem)
        finally:
            try:
                state = await self._end(live, state, reason)
            finally:  # whatever the history does, the place is free for others
                outcome, seconds = live.answer.outcome if live.answer and state != "failed" else state, time.monotonic() - begun
                live.ticket.release()
                if outcome not in ("stopped", "interrupted"):
                    self.gate.took(seconds)
                self.metrics.finished(asked.strategy, outcome, seconds)
                logs.info("run ended", strategy=asked.strategy, outcome=outcome, seconds=round(seconds, 3))
                self.live.pop(live.record.id, None)

    async def _run(self, live: LiveRun, asked: ReadyRun) -> tuple[State, str | None]:
        """From its turn on; it ends in time, even one that ignores its budget."""
        await live.ticket.turn()
        stream = asked.engine.stream(asked.question, strategy=asked.strategy, params=asked.params, history=asked.history)
        try:
            async with asyncio.timeout(asked.seconds), aclosing(stream):
                async for told in stream:
                    event = discreet(told)
                    if isinstance(event, events.Answered):
                        self.metrics.used(event.answer.usage)
                        live.answer = AnswerJson.of(event.answer)
                    number, body = live.following.next, encode(event)
                    self.metrics.events += 1
                    live.following.add((number, body))
                    if live.kept:
                        self.history.append(live.record.id, number, body)
        except TimeoutError:
            raise BudgetExhausted("seconds") from None
        failed = live.answer if live.answer and live.answer.outcome == "failed" else None
        return ("failed", failed.reason) if failed else ("done", None)

    async def _end(self, live: LiveRun, state: State, reason: str | None) -> State:
        """The last event; readers see it when the history has it, so that what they ask next is up to date.

        A run that the history could not keep has failed, whatever its answer; who reads an attached one has that all the same.
        """
        body, number = _ended(state, reason), live.following.next
        if live.kept or (live.answer is not None and live.record.via is not None and self.keep_api):
            kept = await self._keep(live, state, live.answer, *live.following.known, (number, body))
            if live.kept and not kept:
                state, body = "failed", _ended("failed", "the history cannot be written")
                if not await self._keep(live, state, None, (number, body)):
                    self.unkept[live.record.id] = (number, body)
        live.following.add((number, body), last=True)
        return state

    async def _keep(self, live: LiveRun, state: State, answer: AnswerJson | None, *events: Numbered) -> bool:
        """Write how it ended, also while being cancelled: nothing may stay half-written."""
        writing = asyncio.ensure_future(self._write(live, state, answer, *events))
        while not writing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([writing])
        if writing.cancelled():  # the loop itself is being ended: nobody is left to tell
            return True
        if problem := writing.exception():
            logs.fault("history not written", problem)
        return problem is None

    async def _write(self, live: LiveRun, state: State, answer: AnswerJson | None, *events: Numbered) -> None:
        if not live.kept:
            await self.history.add(live.record)
        await self.history.finish(live.record.id, state, answer, *events)


def _new(asked: ReadyRun, parent: Record | None, turns: Turns, via: Door | None) -> Record:
    name = secrets.token_urlsafe(9)
    return Record(
        id=name,
        thread=parent.thread if parent else name,
        parent=parent.id if parent else None,
        question=asked.question,
        strategy=asked.strategy,
        model=asked.model,
        sources=asked.sources,
        state="running",
        created=time.time(),
        turns=turns,
        via=via,
    )


def _ended(state: State, reason: str | None) -> str:
    return json.dumps({"event": "ended", "state": state, "reason": reason}, ensure_ascii=False)


def discreet(event: events.Event) -> events.Event:
    """Redacts unforeseen errors, which may hold anything, a key or a path: clients are told their type alone."""
    if not isinstance(event, events.Answered) or event.answer.unforeseen is None:
        return event
    return replace(event, answer=replace(event.answer, reason=f"unexpected {event.answer.unforeseen}"))


def encode(event: events.Event) -> str:
    """One event as one line of JSON."""
    return json.dumps(events.to_json(event), ensure_ascii=False)


class Peers:
    """This server among the others."""

    def __init__(self, history: History, server: str) -> None:
        self._history = history
        self._server = server
        self._mirrors: dict[str, Following] = {}
        self._stopping: dict[str, asyncio.Task[bool]] = {}
        self._beaten = 0.0
        self._trouble = False

    async def works_on(self, run: str) -> bool:
        """Whether somebody is at work on this run."""
        return bool(await self._history.rows("SELECT 1 FROM runs WHERE id = ? AND state = 'running'", (run,)))

    @asynccontextmanager
    async def watching(self, run: str) -> AsyncGenerator[Following, None]:
        """The events of a run that another server works on."""
        mirror = self._mirrors.setdefault(run, Following())
        mirror.readers += 1
        try:
            yield mirror
        finally:
            mirror.readers -= 1
            if not mirror.readers:
                self._mirrors.pop(run, None)

    async def stop(self, run: str) -> bool:
        """Have another server stop its run, and wait until it has; False when nobody works on it."""
        sql = "UPDATE runs SET stop = TRUE WHERE id = ? AND state = 'running'"
        if not await self._history.commit([(sql, (run,))]):
            return False
        try:
            async with asyncio.timeout(STOPPING), self.watching(run) as following:
                async for _ in following.read(0):
                    pass
        except TimeoutError:
            logs.info("another server did not stop a run in time", run=run)
        return True

    async def join(self) -> None:
        """Be known as alive from now on. To be called when the slow start is over, in which nobody has heard of this server."""
        await self._history.commit([register(self._server)])
        self._beaten = time.monotonic()

    async def keep_up(self, work: Runs) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._look(work)
                self._trouble = False
            except WellreadError as problem:
                if not self._trouble:  # one line an outage, not ten a second
                    logs.fault("cannot hear the other servers", problem)
                self._trouble = True
            await asyncio.sleep(TICK)

    async def _look(self, work: Runs) -> None:
        due = time.monotonic() - self._beaten >= BEAT
        if due:
            await self._beat(work)
        sql = "SELECT id FROM runs WHERE server = ? AND state = 'running' AND stop"
        for (run,) in await self._history.rows(sql, (self._server,)) if work.live else ():
            if str(run) not in self._stopping:
                task = self._stopping[str(run)] = asyncio.create_task(work.stop(str(run)))
                task.add_done_callback(lambda _, run=str(run): self._stopping.pop(run, None))
        if self._mirrors:
            await self._read(check=due)

    async def _beat(self, work: Runs) -> None:
        regular = time.monotonic() - self._beaten < 3 * BEAT
        alive = await self._history.commit([("UPDATE servers SET seen = now() WHERE id = ?", (self._server,))])
        if not alive:
            await self.join()
            work.interrupt()
        elif regular:  # one that was away itself cannot tell who is
            await self._history.commit([(_FORGET_SILENT, (SILENT, SILENT)), end_orphans()])
            await work.settle()
        self._beaten = time.monotonic()

    async def _read(self, *, check: bool) -> None:
        """Polls new events of all runs that somebody here follows, in one statement."""
        followed = list(self._mirrors.items())
        going_on: set[str] | None = None
        if check:  # before the events are read: the last one of a run that has ended by now is among them
            sql = "SELECT id FROM runs WHERE id = ANY(?) AND state = 'running'"
            going_on = {str(run) for (run,) in await self._history.rows(sql, ([run for run, _ in followed],))}
        sql = """SELECT e.run, e.number, e.body FROM unnest(?::text[], ?::int[]) AS followed (run, next)
            JOIN events e ON e.run = followed.run COLLATE "C" AND e.number >= followed.next ORDER BY e.run, e.number LIMIT ?"""
        values = ([run for run, _ in followed], [mirror.next for _, mirror in followed], _AT_ONCE)
        news = await self._history.rows(sql, values)
        found: dict[str, list[tuple[int, str]]] = {}
        for run, number, body in news:
            found.setdefault(str(run), []).append((int(str(number)), str(body)))
        for run, mirror in followed:
            events = found.get(run, [])
            gone = going_on is not None and run not in going_on and len(news) < _AT_ONCE
            if events or gone:
                mirror.add(*events, last=gone or loads(Json, events[-1][1]).get("event") == "ended")
