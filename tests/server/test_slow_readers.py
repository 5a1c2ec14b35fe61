"""Who asks and does not read the answer keeps no place from others."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.server.stage import HITS, Live, engine, running, until

from wellread.server import serving, sse
from wellread.server.options import ServerOptions

pytestmark = pytest.mark.slow

LONG = "Saturn has 146 moons. [1] " * 2_000


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that little is more than the sockets on the way hold."""
    listen = serving.listen

    def listening(options: ServerOptions) -> socket.socket:
        made = listen(options)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return made

    monkeypatch.setattr(serving, "listen", listening)


def silent(live: Live, buffer: int = 4096) -> socket.socket:
    parts = urlsplit(live.url)
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)  # a packet of loopback's size would not fit
    wire.connect((parts.hostname, parts.port))
    body = json.dumps({"question": "How many moons has Saturn?"}).encode()
    head = "POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    wire.sendall(head.encode() + body)
    return wire


def test_a_client_that_reads_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving.Connection, "read_seconds", 1.0)
    with running(engine(answer=LONG), tmp_path, max_per_client=1) as live, silent(live) as wire:
        until(lambda: live.service.gate.running == 1, 20)
        until(lambda: live.service.gate.running == 0, 60)
        time.sleep(3)
        wire.settimeout(20)
        told = b""
        with suppress(ConnectionResetError):
            while piece := wire.recv(100_000):
                told += piece
        assert b'"event": "answered"' not in told


@pytest.mark.no_cover
def test_one_that_reads_slowly_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving.Connection, "read_seconds", 3.0)  # longer than a bufferful takes, shorter than all
    long = [replace(hit, text=f"{hit.text} {'It rains there. ' * 5_000}") for hit in HITS]
    with running(engine(hits=long), tmp_path) as live, silent(live, 32_768) as wire:
        wire.settimeout(30)
        told, begun = bytearray(), time.monotonic()
        while b'"event": "answered"' not in told[-400_000:] and time.monotonic() < begun + 50:
            told += wire.recv(4096)
            time.sleep(0.1)
        assert b'"event": "answered"' in told
        assert time.monotonic() - begun > 3, "it was not slow"


@pytest.mark.anyio
async def test_what_keeps_a_connection_open_never_comes_into_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "_PING", 0.001)
    sent = bytearray()

    async def send(message: Any) -> None:
        sent.extend(message.get("body", b""))
        await asyncio.sleep(0.01)  # until there is room again

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def chunks() -> AsyncGenerator[str, None]:
        yield f"data: {'x' * 100_000}\n\n"
        await asyncio.sleep(0.05)

    await sse.EventStream(chunks())({}, receive, send)
    assert b": still here" in sent
    assert b"x" * 100_000 in sent
