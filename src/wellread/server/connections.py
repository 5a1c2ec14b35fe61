"""Connections that cost little until they have asked for something: few, not silent for long, with short heads. And none that
asks and does not read what it is told: its run would keep its place for ever."""

from __future__ import annotations

import asyncio
import resource

from uvicorn.protocols.http.h11_impl import H11Protocol

from wellread.server import origins

MAX_HEAD = 16 * 1024  # bytes of a request's first line and headers
_MOST = 4096
_SPARE = 128  # descriptors for files, sockets to services and the history
_HEAD_SECONDS = 20.0  # from the first moment, or the first byte of a next request, to the end of its headers
_READ_SECONDS = 60.0  # in which a client has to read the 48 kB that make room for more


def most() -> int:
    """How many connections there may be: fewer than this process may have descriptors."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if allowed == resource.RLIM_INFINITY else max(16, min(_MOST, allowed - _SPARE))


class Connection(H11Protocol):
    """uvicorn's, which would wait for ever for the first request and takes as many as there come."""

    head_seconds = _HEAD_SECONDS
    read_seconds = _READ_SECONDS
    whose: str = ""
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # pyright: ignore
        super().connection_made(transport)
        self.whose = origins.client(self.client[0]) if self.client else ""
        if len(self.connections) > most() or self._is_one_of_too_many():
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

    def _is_one_of_too_many(self) -> bool:
        """Nobody keeps others out: one client has at most half of the connections that there may be. A proxy speaks for many."""
        half = most() // 2
        if self.config.proxy_headers or len(self.connections) <= half:
            return False
        return sum(isinstance(one, Connection) and one.whose == self.whose for one in self.connections) > half

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
