"""How many runs at once: in all, per client, and how many may wait. Past that: `Busy`, with when to come back."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
_LISTENED = 100  # streams; ten thousand of them would keep the loop for a second at each event
_MOMENT = 30.0  # seconds in which somebody who was sent away comes back, or has come

_thread = ThreadPoolExecutor(1, thread_name_prefix="wellread-pages")


class Busy(Exception):
    """Too many runs; `retry_after` in whole seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Stopping(Busy):
    """The server takes no more runs."""


@dataclass(eq=False, slots=True)
class Ticket:
    """A place in the line. `turn` waits for it to come up; `release` must follow, whatever happens."""

    gate: Gate
    client: str
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
    """First come, first served. Lives on one event loop."""

    max_running: int
    max_queued: int
    max_per_client: int
    running: int = 0
    refused: int = 0
    refused_at: float = -math.inf  # when somebody was sent away last
    clients: Counter[str] = field(default_factory=Counter[str])
    queue: deque[Ticket] = field(default_factory=deque[Ticket])
    usual_seconds: float = 2.0  # how long a run takes, roughly; for Retry-After

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for a place, or was sent away a moment ago."""
        return time.monotonic() < self.refused_at + _MOMENT or any(ticket.waiting for ticket in self.queue)

    def admit(self, client: str) -> Ticket:
        """A ticket at once, or `Busy`."""
        if self.clients[client] >= self.max_per_client:
            raise self._refusal("too many runs of yours at once", 1)
        if self.running >= self.max_running and len(self.queue) >= self.max_queued:
            raise self._refusal("the server is busy", len(self.queue) + 1)
        ticket = Ticket(self, client, asyncio.get_running_loop().create_future())
        self.clients[client] += 1
        if self.running < self.max_running:
            self._run(ticket)
        else:
            self.queue.append(ticket)
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
        self.clients[ticket.client] -= 1
        if not self.clients[ticket.client]:
            del self.clients[ticket.client]  # no memory of clients that are gone
        if not ticket.running:
            self.queue.remove(ticket)
            ticket.ready.cancel()
            return
        self.running -= 1
        waiting = [one for one in self.queue if not one.ready.done()]  # a cancelled one leaves by its own release
        if waiting:
            self.queue.remove(waiting[0])
            self._run(waiting[0])

    def took(self, seconds: float) -> None:
        """Learn how long runs take."""
        self.usual_seconds += 0.1 * (seconds - self.usual_seconds)

    def _run(self, ticket: Ticket) -> None:
        self.running += 1
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


async def beside(make: Callable[[], T]) -> T:
    """What it makes, in one thread beside the event loop, for pages that take long. One, because Python runs one at a time:
    several would only take turns with the loop, which waits for its own behind all of them."""
    return await asyncio.get_running_loop().run_in_executor(_thread, make)
