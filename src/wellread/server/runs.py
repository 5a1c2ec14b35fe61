"""Runs: detached ones that go on without a listener and can be read from any offset, and attached ones.

Every event gets a number and is kept in memory while the run goes on and in the history for good. The
log of a detached run ends with `{"event": "ended", "state": …}`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from wellread import events
from wellread.errors import BudgetExhausted, WellreadError
from wellread.server import logs
from wellread.server.following import Following, Numbered
from wellread.server.history import History
from wellread.server.limits import Gate, Stopping, Ticket
from wellread.server.menu import ReadyRun
from wellread.server.metrics import Metrics
from wellread.server.record import Record, State
from wellread.server.sharing import Peers

Door = Literal["api", "openai", "mcp"]  # by which a run comes in that is not the page's


@dataclass(eq=False, slots=True)
class LiveRun:
    """A run that is going on here."""

    record: Record
    ticket: Ticket
    following: Following = field(default_factory=Following)
    ending: State | None = None  # set before the task is cancelled, says why
    answer: dict[str, object] | None = None
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
        self.attached: set[asyncio.Task[object]] = set()
        self.unkept: dict[str, Numbered] = {}  # runs that have ended, which the history does not know
        self.stopping = False

    async def start(
        self,
        asked: ReadyRun,
        client: str,
        parent: Record | None = None,
        turns: tuple[tuple[str, str], ...] = (),
        via: Door | None = None,
    ) -> Record:
        """Begin a detached run; when this returns, the history holds it."""
        ticket = await self.admit(client)
        record = _new(asked, parent, turns, via)
        name = record.id
        try:
            await self.history.add(record)
        except BaseException:
            ticket.release()
            raise
        live = LiveRun(record, ticket)
        self.live[name] = live
        live.task = asyncio.create_task(self._work(live, asked), name=f"run {name}")
        return record

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

    async def attach(
        self, asked: ReadyRun, ticket: Ticket, via: Door | None = None, name: str | None = None
    ) -> AsyncGenerator[events.Event, None]:
        """The events of a run that ends with its reader. Takes a ticket from `admit` and gives it back.

        One with an answer that came in by a named door is kept in the history, unless the operator wants none of these;
        it is called `name` there.
        """
        log: list[str] | None = [] if via is not None and self.keep_api else None
        record = _new(asked, None, asked.history, via, name)
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self.attached.add(task)
        begun = time.monotonic()
        outcome = "stopped"
        try:
            async with aclosing(self._events(asked, ticket)) as stream:
                async for event in stream:
                    if isinstance(event, events.Answered):
                        outcome = event.answer.outcome
                        await self._keep_attached(record, log, event)
                    elif log is not None:
                        log.append(encode(event))
                    yield event
        finally:
            self.attached.discard(task)
            self._finished(ticket, asked.strategy, outcome, time.monotonic() - begun)

    async def _events(self, asked: ReadyRun, ticket: Ticket) -> AsyncGenerator[events.Event, None]:
        """What happens in a run from its turn on, as clients may see it; it ends in time, even one that ignores its budget."""
        await ticket.turn()
        stream = asked.engine.stream(asked.question, strategy=asked.strategy, params=asked.params, history=asked.history)
        try:
            async with asyncio.timeout(asked.seconds), aclosing(stream):
                async for event in stream:
                    if isinstance(event, events.Answered):
                        self.metrics.used(event.answer.usage)
                    yield discreet(event)
        except TimeoutError:
            raise BudgetExhausted("seconds") from None

    async def _keep_attached(self, record: Record, log: list[str] | None, last: events.Answered) -> None:
        """Whoever asked has the answer all the same when the history cannot be written."""
        if log is None:
            return
        state: State = "failed" if last.answer.outcome == "failed" else "done"
        try:
            await self.history.add(record)
            for number, body in enumerate([*log, encode(last)]):
                self.history.append(record.id, number, body)
            await self.history.finish(record.id, state, events.answer_json(last.answer), (len(log) + 1, _ended(state, None)))
        except WellreadError as problem:
            logs.fault("history not written", problem)

    async def admit(self, client: str) -> Ticket:
        """A place for a run, or `Busy`."""
        if self.stopping:
            raise Stopping("the server is stopping", 5)
        return await self.gate.enter(client)

    @property
    def going_on(self) -> bool:
        return bool(self.live)

    async def settle(self) -> None:
        """Write down the ends that could not be written when they came."""
        for run, last in list(self.unkept.items()):
            await self.history.finish(run, "failed", None, last)
            del self.unkept[run]

    def interrupt(self) -> None:
        """End all detached runs."""
        for live in list(self.live.values()):
            live.ending = live.ending or "interrupted"
            if live.task is not None:
                live.task.cancel()

    async def drain(self, seconds: float) -> None:
        """Take no more runs; let those that go on finish, then interrupt them."""
        self.stopping = True
        tasks = self._tasks()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        self.interrupt()
        for task in self.attached:
            task.cancel()
        left = self._tasks()
        if left:
            await asyncio.wait(left, timeout=5)

    def _tasks(self) -> set[asyncio.Task[object]]:
        detached = {cast("asyncio.Task[object]", live.task) for live in self.live.values() if live.task}
        return {task for task in detached | self.attached if not task.done()}

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
                outcome = state if state == "failed" else str((live.answer or {}).get("outcome") or state)
                self._finished(live.ticket, asked.strategy, outcome, time.monotonic() - begun)
                self.live.pop(live.record.id, None)

    async def _run(self, live: LiveRun, asked: ReadyRun) -> tuple[State, str | None]:
        async with aclosing(self._events(asked, live.ticket)) as stream:
            async for event in stream:
                if isinstance(event, events.Answered):
                    live.answer = events.answer_json(event.answer)
                self._append(live, encode(event))
        failed = (live.answer or {}).get("outcome") == "failed"
        return ("failed", str((live.answer or {}).get("reason"))) if failed else ("done", None)

    def _append(self, live: LiveRun, body: str) -> None:
        self.metrics.events += 1
        self.history.append(live.record.id, live.append(body), body)

    async def _end(self, live: LiveRun, state: State, reason: str | None) -> State:
        """The last event; readers see it when the history has it, so that what they ask next is up to date.

        A run that the history could not keep has failed, whatever its answer.
        """
        live.ticket.vacate()
        body = _ended(state, reason)
        if not await self._keep(live, state, live.answer, body):
            state, body = "failed", _ended("failed", "the history cannot be written")
            if not await self._keep(live, state, None, body):
                self.unkept[live.record.id] = (live.following.next, body)
        live.append(body, last=True)
        return state

    async def _keep(self, live: LiveRun, state: State, answer: dict[str, object] | None, body: str) -> bool:
        """Write how it ended, also while being cancelled: nothing may stay half-written."""
        last = (live.following.next, body)
        writing = asyncio.ensure_future(self.history.finish(live.record.id, state, answer, last))
        while not writing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([writing])
        if writing.cancelled():  # the loop itself is being ended: nobody is left to tell
            return True
        if problem := writing.exception():
            logs.fault("history not written", problem)
        return problem is None

    def _finished(self, ticket: Ticket, strategy: str, outcome: str, seconds: float) -> None:
        ticket.release()
        if outcome not in ("stopped", "interrupted"):
            self.gate.took(seconds)
        self.metrics.finished(strategy, outcome, seconds)
        logs.info("run ended", strategy=strategy, outcome=outcome, seconds=round(seconds, 3))


def _new(
    asked: ReadyRun, parent: Record | None, turns: tuple[tuple[str, str], ...], via: Door | None, name: str | None = None
) -> Record:
    name = name or secrets.token_urlsafe(9)
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
