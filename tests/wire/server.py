"""A small HTTP server whose replies are written down byte by byte: slow, cut, malformed, as told."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body or b"{}")


@dataclass(frozen=True)
class Response:
    """`parts` are sent one by one; a number among them is a pause in seconds.

    `ending`: `clean` closes as HTTP says, `cut` drops the connection in the middle of the body.
    """

    parts: Sequence[bytes | float] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Literal["clean", "cut"] = "clean"


Answer = Callable[[Request], Response]


class WireServer:
    """Answers from a list (the last one again and again) or with a function of the request."""

    def __init__(self, answer: Answer | Sequence[Response]) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self.requests: list[Request] = []
        self.open = 0  # connections there are now
        self.left = 0  # replies that the client did not wait for
        self.url = ""

    async def __aenter__(self) -> WireServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self.idle()

    async def idle(self, seconds: float = 5.0) -> None:
        """Wait until no connection is open."""
        await _until(lambda: not self.open, seconds)

    async def asked(self, times: int = 1, seconds: float = 5.0) -> None:
        """Wait until so many requests have come."""
        await _until(lambda: len(self.requests) >= times, seconds)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            request = await _read(reader)
            if request is not None:
                self.requests.append(request)
                await self._reply(self._choose(request), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    def _choose(self, request: Request) -> Response:
        if callable(self._answer):
            return self._answer(request)
        return self._answer[min(len(self.requests), len(self._answer)) - 1]

    async def _reply(self, response: Response, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {response.status} {REASONS.get(response.status, 'Status')}\r\n"
        headers = {"Content-Type": "application/json", **response.headers}
        headers |= {"Transfer-Encoding": "chunked", "Connection": "close"}
        writer.write((head + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode())
        gone = asyncio.create_task(reader.read(1), name="wire")
        try:
            for part in response.parts:
                if isinstance(part, float | int):
                    await asyncio.wait({gone}, timeout=part)
                else:
                    writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                    await writer.drain()
                    await asyncio.sleep(0)
                if gone.done():
                    self.left += 1
                    return
            if response.ending == "cut":
                writer.transport.abort()
            else:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        finally:
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)


def left_over(before: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """Tasks that were not there before, the servers' own aside: none should be left by a cancelled call."""
    now = asyncio.all_tasks() - before
    return {task for task in now if task.get_name() != "wire" and "WireServer._serve" not in repr(task)}


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body)


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A plain JSON reply."""
    return Response([json.dumps(value).encode()], status, headers or {})


@contextmanager
def serving(answer: Answer | Sequence[Response]) -> Iterator[WireServer]:
    """A server in a thread of its own, until the block ends."""
    server = WireServer(answer)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def main() -> None:
        async with server:
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), daemon=True)
    thread.start()
    assert ready.wait(5)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(5)
        loop.close()
