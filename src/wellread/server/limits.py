"""Rate limits: how many runs at once, in all and per client, and how many may queue. Past that: `Busy`, with when to retry."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import math
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from wellread.core.private_files import private_folder

T = TypeVar("T")
_LISTENED = 100  # streams; ten thousand of them would keep the loop for a second at each event
_MOMENT = 30.0  # seconds in which somebody who was sent away comes back, or has come

_thread = ThreadPoolExecutor(1, thread_name_prefix="wellread-pages")
turn: ContextVar[Callable[[], AbstractAsyncContextManager[None]]] = ContextVar("turn", default=nullcontext)  # of who asks


class Busy(Exception):
    """Too many runs; `retry_after` in whole seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Stopping(Busy):
    """The server takes no more runs."""


class Shared:
    """Numbers that several processes deal out together: each is a lock on a byte of one file, far behind its end, and free again
    when the process that has it ends, however it does."""

    def __init__(self, path: Path, purpose: str) -> None:
        self._file = os.open(private_folder(path.parent) / path.name, os.O_RDWR | os.O_CREAT, 0o600)  # closing it would free all
        self._purpose = purpose

    def take(self, client: str, number: int) -> bool:
        """Whether it was free, or is this process's own already."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._byte(client, number))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def free(self, client: str, number: int) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._byte(client, number))

    def _byte(self, client: str, number: int) -> int:
        whose = hashlib.sha256(f"{self._purpose}\n{client}".encode()).digest()
        return int.from_bytes(whose[:5]) << 20 | number


@dataclass(eq=False, slots=True)
class Ticket:
    """A place in the line. `turn` waits for it to come up; `release` must follow, whatever happens."""

    gate: Gate
    client: str
    number: int  # among the client's own
    ready: asyncio.Future[None]
    running: bool = False
    released: bool = False

    @property
    def waiting(self) -> bool:
        return not self.ready.done()

    async def turn(self) -> None:
        await self.ready

    def release(self) -> None:
        if not self.released:
            self.released = True
            self.gate.leave(self)


@dataclass(slots=True)
class Gate:
    """First come, first served. Lives on one event loop; what a client has may be counted together with other processes."""

    max_running: int
    max_queued: int
    max_per_client: int
    shared: Shared | None = None
    refused: int = 0
    refused_at: float = -math.inf  # when somebody was sent away last
    line: list[Ticket] = field(default_factory=list[Ticket])  # who runs and who waits, as they came
    usual_seconds: float = 2.0  # how long a run takes, roughly; for Retry-After

    @property
    def running(self) -> int:
        return sum(ticket.running for ticket in self.line)

    @property
    def queue(self) -> list[Ticket]:
        return [ticket for ticket in self.line if not ticket.running]

    @property
    def clients(self) -> Counter[str]:
        """How many tickets each has."""
        return Counter(ticket.client for ticket in self.line)

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for a place, or was sent away a moment ago."""
        return time.monotonic() < self.refused_at + _MOMENT or any(ticket.waiting for ticket in self.line)

    def admit(self, client: str) -> Ticket:
        """A ticket at once, or `Busy`."""
        if len(self.line) >= self.max_running + self.max_queued:
            raise self._refusal("the server is busy", len(self.queue) + 1)
        own = {ticket.number for ticket in self.line if ticket.client == client}
        left = (number for number in range(self.max_per_client) if number not in own)
        number = next((one for one in left if self.shared is None or self.shared.take(client, one)), None)
        if number is None:
            raise self._refusal("too many runs of yours at once", 1)
        ticket = Ticket(self, client, number, asyncio.get_running_loop().create_future())
        self.line.append(ticket)
        self._go_on()
        return ticket

    @asynccontextmanager
    async def place(self, client: str) -> AsyncGenerator[None, None]:
        """A place for as long as the block takes, or `Busy`."""
        ticket = self.admit(client)
        try:
            await ticket.turn()
            yield
        finally:
            ticket.release()

    def leave(self, ticket: Ticket) -> None:
        self.line.remove(ticket)
        if self.shared is not None:
            self.shared.free(ticket.client, ticket.number)
        ticket.ready.cancel()
        self._go_on()

    def took(self, seconds: float) -> None:
        """Learn how long runs take."""
        self.usual_seconds += 0.1 * (seconds - self.usual_seconds)

    def _go_on(self) -> None:
        """Places that are free are for those who have waited longest; one that was cancelled leaves by its own release."""
        waiting = [ticket for ticket in self.line if ticket.waiting]
        for ticket in waiting[: max(0, self.max_running - self.running)]:
            ticket.running = True
            ticket.ready.set_result(None)

    def _refusal(self, message: str, ahead: int) -> Busy:
        self.refused, self.refused_at = self.refused + 1, time.monotonic()
        return Busy(message, max(1, min(120, math.ceil(self.usual_seconds * ahead / self.max_running))))


@dataclass(slots=True)
class Lines:
    """One at a time for each client: what one of them wants never stands before another's more than once."""

    _locks: dict[str, asyncio.Lock] = field(default_factory=dict[str, asyncio.Lock])
    _waiting: Counter[str] = field(default_factory=Counter[str])

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncGenerator[None, None]:
        self._waiting[client] += 1
        try:
            async with self._locks.setdefault(client, asyncio.Lock()):
                yield
        finally:
            self._waiting -= Counter([client])
            if client not in self._waiting:  # no memory of clients that are gone
                del self._locks[client]


@dataclass(slots=True)
class Listeners:
    """How many runs each client listens to at once, or how often to one: every event is sent to all of them."""

    most: int = _LISTENED
    counts: Counter[str] = field(default_factory=Counter[str])

    def counted(self, client: str, chunks: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """The same stream, or `Busy`."""
        if self.counts[client] >= self.most:
            raise Busy("you listen to too many runs at once", 5)
        return self._counted(client, chunks)

    async def _counted(self, client: str, chunks: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        self.counts[client] += 1
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        finally:
            self.counts -= Counter([client])


async def in_turn(threads: Executor | None, make: Callable[[], T]) -> T:
    """Runs a job in threads that all clients share (None: asyncio's own): of each client one at a time, so that who
    wants much waits for himself."""
    async with turn.get()():
        return await asyncio.get_running_loop().run_in_executor(threads, make)


async def beside(make: Callable[[], T]) -> T:
    """Runs a job in one thread beside the event loop, for pages that take long. One, because Python runs one at a time:
    several would only take turns with the loop, which waits for its own behind all of them."""
    return await in_turn(_thread, make)
