"""Several servers on one history: each shows that it is alive, does what the others ask of it, and sees what they do.

A server beats once a second. One that has been silent for long is taken for dead, and whoever notices ends its runs. The
database's clock is the only one that counts, and a database that has just come back gives everybody time to say so.
"""

from __future__ import annotations

import asyncio
import json
import time
from bisect import bisect_left
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from wellread.errors import WellreadError
from wellread.server import logs
from wellread.server.database import Job
from wellread.server.history import History
from wellread.server.postgres import end_orphans, register

BEAT = 1.0  # seconds
SILENT = 10.0  # seconds after which a server is taken for dead; a machine that is overloaded is not
TICK = 0.1  # seconds between looks at what the others have written
STOPPING = 15.0  # seconds that another server gets to stop a run
_AT_ONCE = 5_000  # events
Numbered = tuple[int, str]  # an event's number and its JSON


@dataclass(eq=False, slots=True)
class Following:
    """What is known of a run that is going on. Readers wait on `more`, which is replaced whenever there is news."""

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


class Work(Protocol):
    """The runs of this server."""

    @property
    def going_on(self) -> bool: ...

    async def stop(self, run: str) -> bool: ...

    async def settle(self) -> None: ...

    def interrupt(self) -> None:
        """End all of them: the others have taken this server for dead and written them off."""
        ...


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

    async def keep_up(self, work: Work) -> None:
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

    async def _look(self, work: Work) -> None:
        due = time.monotonic() - self._beaten >= BEAT
        if due:
            await self._beat(work)
        if work.going_on:
            await self._obey(work)
        if self._mirrors:
            await self._read(check=due)

    async def _beat(self, work: Work) -> None:
        regular = time.monotonic() - self._beaten < 3 * BEAT
        alive = await self._history.commit([("UPDATE servers SET seen = now() WHERE id = ?", (self._server,))])
        if not alive:
            await self.join()
            work.interrupt()
        elif regular:  # one that was away itself cannot tell who is
            await self._history.commit([_forget_silent(), end_orphans()])
            await work.settle()
        self._beaten = time.monotonic()

    async def _obey(self, work: Work) -> None:
        sql = "SELECT id FROM runs WHERE server = ? AND state = 'running' AND stop"
        for (run,) in await self._history.rows(sql, (self._server,)):
            if str(run) not in self._stopping:
                task = self._stopping[str(run)] = asyncio.create_task(work.stop(str(run)))
                task.add_done_callback(lambda _, run=str(run): self._stopping.pop(run, None))

    async def _read(self, *, check: bool) -> None:
        """What is new in all runs that somebody here follows, in one statement."""
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
                mirror.add(*events, last=gone or json.loads(events[-1][1]).get("event") == "ended")


def _forget_silent() -> Job:
    sql = """DELETE FROM servers WHERE seen < now() - make_interval(secs => ?)
        AND pg_postmaster_start_time() < now() - make_interval(secs => ?)"""
    return sql, (SILENT, SILENT)
