"""Connections that cost little until they have asked for something: few, not silent for long, with short heads. And none that
asks and does not read what it is told: its run would keep its place for ever."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from contextlib import suppress
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from wellread.server import origins

MAX_HEAD = 16 * 1024  # bytes of a request's first line and headers
_MOST = 4096
_WANTED = 4 * _MOST  # descriptors
_MACOS = 10_240  # the most that some releases of it give, whatever they say
_HEAD_SECONDS = 20.0  # from the first moment, or the first byte of a next request, to the end of its headers
_READ_SECONDS = 60.0  # in which a client has to read the 48 kB that make room for more


def descriptors() -> int:
    """How many descriptors this process may have, after asking for as many as are wanted: shells give 1,024."""
    soft, hard = (_WANTED if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    for wanted in (min(hard, _WANTED), min(hard, _MACOS)):
        if wanted > soft:
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
                return wanted
    return min(soft, _WANTED)


def most() -> int:
    """How many connections there may be. Half of the descriptors: files, services and connections on their way out need some."""
    return max(16, min(_MOST, descriptors() // 2))


def at_once() -> int:
    """How many are accepted in one turn of the event loop. Those too many are closed some turns later: with asyncio's 2,048 a
    flood takes the last descriptor, and then nobody is let in for a second."""
    return max(8, descriptors() // 32)


class Connection(H11Protocol):
    """uvicorn's, which would wait for ever for the first request and takes as many as there come. A class for each server."""

    bound: ClassVar[int]
    clients: ClassVar[Counter[str]]  # how many connections each has
    proxied: ClassVar[bool]
    head_seconds = _HEAD_SECONDS
    read_seconds = _READ_SECONDS
    whose: str = ""
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # pyright: ignore
        super().connection_made(transport)
        self.whose = origins.client(self.client[0]) if self.client else ""
        self.clients[self.whose] += 1
        # nobody keeps others out: one client has at most half of them; a proxy speaks for many
        too_many = not self.proxied and self.clients[self.whose] > self.bound // 2
        if too_many or len(self.connections) > self.bound:
            transport.abort()
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        if self._between_requests() and self._waiting is None:
            self._wait_for_head()
        super().data_received(data)
        if not self._between_requests():
            self._stop_waiting()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._was_read()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._was_read()
        super().connection_lost(exc)
        self.clients.subtract([self.whose])
        if not self.clients[self.whose]:
            del self.clients[self.whose]

    def _was_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def _wait_for_head(self) -> None:
        self._waiting = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def counted(*, proxied: bool = False) -> type[Connection]:
    """The connections of one server."""
    return type("Connection", (Connection,), {"bound": most(), "clients": Counter[str](), "proxied": proxied})
