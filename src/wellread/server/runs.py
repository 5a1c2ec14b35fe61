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
from wellread.server.history import History
from wellread.server.limits import Gate, Stopping, Ticket
from wellread.server.menu import ReadyRun
from wellread.server.metrics import Metrics
from wellread.server.record import Record, State

Numbered = tuple[int, str]  # an event's number and its JSON
Door = Literal["api", "openai", "mcp"]  # by which a run comes in that is not the page's


@dataclass(eq=False, slots=True)
class LiveRun:
    """A run that is going on. Readers wait on `more`, which is replaced whenever there is news."""

    record: Record
    ticket: Ticket
    log: list[str] = field(default_factory=list[str])
    more: asyncio.Event = field(default_factory=asyncio.Event)
    ending: State | None = None  # set before the task is cancelled, says why
    answer: dict[str, object] | None = None
    over: bool = False
    task: asyncio.Task[None] | None = None

    def append(self, body: str, *, last: bool = False) -> int:
        self.log.append(body)
        self.over = last
        self.more.set()
        self.more = asyncio.Event()
        return len(self.log) - 1


class Runs:
    """All that is running now."""

    def __init__(self, history: History, gate: Gate, metrics: Metrics, *, keep_api: bool = True) -> None:
        self.history = history
        self.keep_api = keep_api
        self.gate = gate
        self.metrics = metrics
        self.live: dict[str, LiveRun] = {}
        self.attached: set[asyncio.Task[object]] = set()
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
        ticket = self._admit(client)
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
        """Stop a run that is going on, and wait until it has; False when it is not."""
        live = self.live.get(run)
        if live is None or live.task is None:
            return False
        live.ending = live.ending or "stopped"
        live.task.cancel()
        await asyncio.wait([live.task])
        return True

    async def follow(self, run: str, offset: int = 0) -> AsyncGenerator[list[Numbered], None]:
        """A run's events from an offset, as they come; ends with the run."""
        live = self.live.get(run)
        while live is not None:
            batch = list(enumerate(live.log[offset:], offset))
            offset += len(batch)
            over, more = live.over, live.more
            if batch:
                yield batch
            if over and offset >= len(live.log):
                return
            if offset >= len(live.log):
                await more.wait()
        while batch := await self.history.events(run, offset):
            yield batch
            offset = batch[-1][0] + 1

    async def attach(self, asked: ReadyRun, ticket: Ticket, via: Door | None = None) -> AsyncGenerator[events.Event, None]:
        """The events of a run that ends with its reader. Takes a ticket from `admit` and gives it back.

        One with an answer that came in by a named door is kept in the history, unless the operator wants none of these.
        """
        log: list[str] | None = [] if via is not None and self.keep_api else None
        record = _new(asked, None, asked.history, via)
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self.attached.add(task)
        begun = time.monotonic()
        outcome = "stopped"
        try:
            await ticket.turn()
            stream = asked.engine.stream(asked.question, strategy=asked.strategy, params=asked.params, history=asked.history)
            async with asyncio.timeout(asked.seconds), aclosing(stream):
                async for event in stream:
                    event = discreet(event)
                    if isinstance(event, events.Answered):
                        outcome = event.answer.outcome
                        self.metrics.used(event.answer.usage)
                        await self._keep_attached(record, log, event)
                    elif log is not None:
                        log.append(encode(event))
                    yield event
        except TimeoutError:
            raise BudgetExhausted("seconds") from None
        finally:
            self.attached.discard(task)
            self._finished(ticket, asked.strategy, outcome, time.monotonic() - begun)

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

    def admit(self, client: str) -> Ticket:
        """A place for an attached run, or `Busy`."""
        return self._admit(client)

    async def drain(self, seconds: float) -> None:
        """Take no more runs; let those that go on finish, then interrupt them."""
        self.stopping = True
        tasks = self._tasks()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for live in list(self.live.values()):
            live.ending = live.ending or "interrupted"
        left = self._tasks()
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=5)

    def _tasks(self) -> set[asyncio.Task[object]]:
        detached = {cast("asyncio.Task[object]", live.task) for live in self.live.values() if live.task}
        return {task for task in detached | self.attached if not task.done()}

    def _admit(self, client: str) -> Ticket:
        if self.stopping:
            raise Stopping("the server is stopping", 5)
        return self.gate.admit(client)

    async def _work(self, live: LiveRun, asked: ReadyRun) -> None:
        logs.run_id.set(live.record.id)
        begun = time.monotonic()
        state: State = "failed"
        reason: str | None = None
        try:
            state, reason = await self._run(live, asked)
        except asyncio.CancelledError:
            state = live.ending or "interrupted"
        except TimeoutError:
            reason = "the run took too long"
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
        await live.ticket.turn()
        stream = asked.engine.stream(asked.question, strategy=asked.strategy, params=asked.params, history=asked.history)
        async with asyncio.timeout(asked.seconds), aclosing(stream):
            async for event in stream:
                event = discreet(event)
                if isinstance(event, events.Answered):
                    live.answer = events.answer_json(event.answer)
                    self.metrics.used(event.answer.usage)
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
        body = _ended(state, reason)
        if not await self._keep(live, state, live.answer, body):
            state, body = "failed", _ended("failed", "the history cannot be written")
            await self._keep(live, state, None, body)
        live.append(body, last=True)
        return state

    async def _keep(self, live: LiveRun, state: State, answer: dict[str, object] | None, body: str) -> bool:
        """Write how it ended, also while being cancelled: nothing may stay half-written."""
        last = (len(live.log), body)
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


def _new(asked: ReadyRun, parent: Record | None, turns: tuple[tuple[str, str], ...], via: Door | None) -> Record:
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
