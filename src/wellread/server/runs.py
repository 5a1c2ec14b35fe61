"""Runs: each works in a task of its own, is read from any offset by whoever listens, and ends with a last event `ended`.

One that was begun is kept in the history from its beginning on and needs no listener. One that is attached ends with its
reader, and is kept when there is an answer. Every event gets a number and is kept in memory while the run goes on.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.errors import BudgetExhausted, WellreadError
from wellread.server import logs
from wellread.server.history import History, Record, State
from wellread.server.limits import Gate, Stopping, Ticket
from wellread.server.menu import ReadyRun
from wellread.server.metrics import Metrics
from wellread.server.sharing import Following, Numbered, Peers

Door = Literal["api", "openai", "mcp"]  # by which a run comes in that is not the page's
Turns = tuple[tuple[str, str], ...]


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

    def append(self, body: str, *, last: bool = False) -> int:
        number = self.following.next
        self.following.add((number, body), last=last)
        return number


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

    @property
    def going_on(self) -> bool:
        return bool(self.live)

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
                outcome = live.answer.outcome if live.answer and state != "failed" else state
                self._finished(live.ticket, asked.strategy, outcome, time.monotonic() - begun)
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
                    self._append(live, encode(event))
        except TimeoutError:
            raise BudgetExhausted("seconds") from None
        failed = live.answer if live.answer and live.answer.outcome == "failed" else None
        return ("failed", failed.reason) if failed else ("done", None)

    def _append(self, live: LiveRun, body: str) -> None:
        self.metrics.events += 1
        number = live.append(body)
        if live.kept:
            self.history.append(live.record.id, number, body)

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
        live.append(body, last=True)
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

    def _finished(self, ticket: Ticket, strategy: str, outcome: str, seconds: float) -> None:
        ticket.release()
        if outcome not in ("stopped", "interrupted"):
            self.gate.took(seconds)
        self.metrics.finished(strategy, outcome, seconds)
        logs.info("run ended", strategy=strategy, outcome=outcome, seconds=round(seconds, 3))


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
    """What was not foreseen may hold anything, a key or a path: clients are told its type alone."""
    if not isinstance(event, events.Answered) or event.answer.unforeseen is None:
        return event
    return replace(event, answer=replace(event.answer, reason=f"unexpected {event.answer.unforeseen}"))


def encode(event: events.Event) -> str:
    """One event as one line of JSON."""
    return json.dumps(events.to_json(event), ensure_ascii=False)
