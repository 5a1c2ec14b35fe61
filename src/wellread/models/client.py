"""The HTTP client of model servers: a reply ends, whatever its sender does.

A reply is read in small pieces, after each of which others have their turn, and counted as it comes: who sends keep-alives,
refusals or the lines of one event without end is not listened to until the run's time is over. Replies come unpacked, for a
kilobyte can stand for a megabyte otherwise, and from the place that was asked: a key goes nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, cast

import httpx2

from wellread.net.transport import MOST_COMPLAINT, Direct, Proxied, TooMuch

_MOST = 24 * 1024 * 1024  # bytes of a reply; a token takes some 300
_MOST_LINES = 200_000  # of a reply; a token takes two or three, a keep-alive as many
_LONGEST_EVENT = 1024 * 1024  # bytes
_MOST_EVENT_LINES = 2_000  # some servers indent their JSON
_MOST_VALUES, _MOST_OBJECTS = 10_000, 1_000  # of an event, as far as signs tell
_PIECE = 8 * 1024
_SILENCE = 600  # seconds


class Client(httpx2.AsyncClient):
    """A client for one event loop. `local`: a proxy from the environment is never used for this machine, whose models may read a
    prompt for many minutes and take calls one after the other; there the run's time is the limit."""

    def __init__(self, *, local: bool) -> None:
        way = Direct(_MOST) if local else Proxied(_MOST)
        super().__init__(transport=way, timeout=httpx2.Timeout(None if local else _SILENCE, connect=10), trust_env=not local)

    async def send(self, request: httpx2.Request, *, stream: bool = False, **_: Any) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = await super().send(request, stream=True, follow_redirects=False)
        packed = response.headers.get("content-encoding", "").strip().lower()
        try:
            if packed not in ("", "identity"):
                raise TooMuch(f"its reply is packed ({packed[:40]}), which nobody asked for")
            response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream), response.status_code < 300)
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response


class _Bounded(httpx2.AsyncByteStream):
    """A body in small pieces, up to what a reply may be; of a complaint as much as anybody reads."""

    def __init__(self, inner: httpx2.AsyncByteStream, reply: bool) -> None:
        self._inner = inner
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        heard, left = _Heard(), MOST_COMPLAINT
        async for part in self._inner:
            for start in range(0, len(part), _PIECE):
                piece = part[start : start + _PIECE]
                if self._reply:
                    heard.count(piece)
                elif (left := left - len(piece)) < 0:
                    return
                yield piece
                await asyncio.sleep(0)

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass(slots=True)
class _Heard:
    """Counters of a reply, and of the event that it is in, each with its limit."""

    size: int = 0
    lines: int = 0
    event: int = 0
    event_lines: int = 0
    values: int = 0
    objects: int = 0
    before: bytes = b""  # an event's end may lie on the border of two pieces

    def count(self, piece: bytes) -> None:
        self.size += len(piece)
        self.lines += _lines(piece)
        seen = self.before + piece
        end = max(seen.rfind(b"\n\n"), seen.rfind(b"\n\r\n"), seen.rfind(b"\r\r"))
        if end >= 0:
            self.event = self.event_lines = self.values = self.objects = 0
            piece = seen[end:]
        self.before = seen[-2:]
        self.event += len(piece)
        self.event_lines += _lines(piece)
        self.values += piece.count(b",") + piece.count(b"[")
        self.objects += piece.count(b"{")
        if self.size > _MOST or self.lines > _MOST_LINES:
            raise TooMuch("its reply does not end")
        if self.event > _LONGEST_EVENT or self.event_lines > _MOST_EVENT_LINES:
            raise TooMuch("an event of its reply does not end")
        if self.values > _MOST_VALUES or self.objects > _MOST_OBJECTS:
            raise TooMuch("an event of its reply holds too much")


def _lines(piece: bytes) -> int:
    return max(piece.count(b"\n"), piece.count(b"\r"))
