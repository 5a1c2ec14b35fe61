"""Servers on loopback: one that serves what a test tells it to, one that nobody may ever reach."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest
from tests.sources.conftest import build, serve

__all__ = ["Site", "Trap", "build", "serve", "site", "trap"]

Handler = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


class Trap:
    """Listens on both loopback addresses and counts who comes."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.caught = 0

    async def touched(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.caught += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 24\r\n\r\n<p>the secret of the trap")
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()


class Site:
    """A server whose paths are functions; `seen` has the paths asked for, `open` the connections now open."""

    def __init__(self) -> None:
        self.port = 0
        self.pages: dict[str, Handler] = {}
        self.seen: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.open = 0
        self.most = 0
        self.tasks: set[asyncio.Task[None]] = set()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def page(
        self,
        path: str,
        body: bytes | str = b"",
        content_type: str = "text/html; charset=utf-8",
        status: int = 200,
        headers: dict[str, str] | None = None,
        delay: float = 0.0,
    ) -> None:
        """Serve this body at this path."""
        data = body.encode() if isinstance(body, str) else body

        async def handler(_: str, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(delay)
            lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}"]
            lines += [f"Content-Type: {content_type}"] if content_type else []
            lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
            writer.write("\r\n".join([*lines, "", ""]).encode() + data)

        self.pages[path] = handler

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self.tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            path = head[0].split(" ")[1]
            self.seen.append(path)
            self.headers.append({k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)})
            handler = self.pages.get(path)
            if handler is None:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                await handler(path, writer)
            await writer.drain()

    async def close(self) -> None:
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.fixture
async def trap() -> AsyncIterator[Trap]:
    first = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = int(first.sockets[0].getsockname()[1])
    first.close()
    await first.wait_closed()
    trap = Trap(port)
    servers = [await asyncio.start_server(trap.touched, "127.0.0.1", port)]
    if socket.has_ipv6:
        with suppress(OSError):
            servers.append(await asyncio.start_server(trap.touched, "::1", port))
    yield trap
    for server in servers:
        server.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = int(server.sockets[0].getsockname()[1])
    yield site
    server.close()
    await site.close()
