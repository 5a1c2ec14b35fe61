"""Server-sent events: a response that stops its producer the moment the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from wellread.server.runs import Numbered

Leave = Callable[[], Awaitable[None]]
_PIECE = 32_768  # bytes; who reads slowly makes room for one in the time that `serving` gives
_PING = 15.0  # seconds; proxies close what is silent for longer


class EventStream(Response):
    """Sends what `chunks` yields. When the client leaves, the generator is closed before this returns, and `leave` is called
    whatever happens: a client may be gone before the generator has begun."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[str, None], leave: Leave | None = None, status_code: int = 200) -> None:
        self.chunks, self.leave = chunks, leave
        self.status_code = status_code  # FastAPI looks for it among the parameters
        self.background = None
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await leaving
            with suppress(asyncio.CancelledError, OSError):  # the client may leave in the middle of a send
                await sending
            if self.leave is not None:
                await self.leave()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        whole = asyncio.Lock()  # nothing comes between the pieces of a chunk
        pinging = asyncio.create_task(_ping(send, whole))
        try:
            async for chunk in self.chunks:
                data = chunk.encode()
                async with whole:
                    for at in range(0, len(data), _PIECE):
                        await send({"type": "http.response.body", "body": data[at : at + _PIECE], "more_body": True})
            pinging.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            pinging.cancel()
            await self.chunks.aclose()


class Whole(EventStream):
    """Waits for one finished response and sends it; a client that leaves meanwhile stops the work."""

    def __init__(self, answer: Callable[[], Awaitable[Response]], leave: Leave) -> None:
        self.answer, self.leave = answer, leave
        self.background = None

    async def _send(self, send: Send) -> None:
        async def receive() -> Message:
            raise AssertionError("a finished response reads nothing")

        await (await self.answer())({"type": "http"}, receive, send)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ping(send: Send, whole: asyncio.Lock) -> None:
    while True:
        await asyncio.sleep(_PING)
        async with whole:
            await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})


def chunk(number: int, body: str) -> str:
    """One event on the wire. JSON has no line breaks, so one data line is enough."""
    return f"id: {number}\ndata: {body}\n\n"


async def numbered(batches: AsyncGenerator[list[Numbered], None]) -> AsyncGenerator[str, None]:
    """A run's log as chunks; what is there at once goes out at once."""
    async with aclosing(batches):
        async for batch in batches:
            yield "".join(chunk(number, body) for number, body in batch)
