"""Connections to a replica: who comes in, what is asked at once, and what happens when either end goes."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from wellread.cluster.wire import Door, Wire

pytestmark = pytest.mark.anyio


class Slow:
    """Answers with what it was asked, after a while, and knows how many were at it."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.most = self._now = 0
        self._lock = threading.Lock()
        self.go, self.two_came = threading.Event(), threading.Event()
        self.go.set()

    def answer(self, request: bytes) -> bytes:
        with self._lock:
            self.asked.append(request)
            self._now += 1
            self.most = max(self.most, self._now)
            if len(self.asked) == 2:
                self.two_came.set()
        time.sleep(0.05)
        self.go.wait(30)
        with self._lock:
            self._now -= 1
        return request * 3


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def door(slow: Slow) -> Iterator[Door]:
    opened = Door("127.0.0.1", slow.answer, 2)
    yield opened
    opened.close()


async def test_answers_come_whole_and_only_some_requests_are_worked_on_at_once(door: Door, slow: Slow) -> None:
    wires = [await Wire.to(door.entrance) for _ in range(6)]
    requests = [bytes([number]) * (100_000 * number) for number in range(6)]
    assert await asyncio.gather(*map(Wire.ask, wires, requests)) == [request * 3 for request in requests]
    assert await wires[0].ask(b"again") == b"again" * 3
    assert slow.most == 2
    assert all(wire.is_open() for wire in wires)
    for wire in wires:
        wire.close()


async def test_without_the_key_nobody_is_heard(door: Door, slow: Slow) -> None:
    wire = await Wire.to(replace(door.entrance, key=bytes(32)))
    with pytest.raises((EOFError, OSError)):
        await wire.ask(b"let me in")
    assert slow.asked == []
    wire.close()


async def test_what_nobody_waits_for_is_not_worked_on(door: Door, slow: Slow) -> None:
    slow.go.clear()
    wires = [await Wire.to(door.entrance) for _ in range(3)]
    asking = [asyncio.ensure_future(wire.ask(bytes([number]))) for number, wire in enumerate(wires)]
    assert await asyncio.to_thread(slow.two_came.wait, 30)
    (last,) = {0, 1, 2} - {asked[0] for asked in slow.asked}  # it waits behind the others
    await asyncio.sleep(0.05)
    asking.pop(last).cancel()
    wires.pop(last).close()
    slow.go.set()
    await asyncio.gather(*asking)
    assert await wires[0].ask(b"next") == b"next" * 3
    assert len(slow.asked) == 3
    assert bytes([last]) not in slow.asked
    for wire in wires:
        wire.close()


async def test_an_end_that_is_gone_is_noticed(door: Door) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    wire = Wire(ours)
    assert wire.is_open()
    theirs.close()
    assert not wire.is_open()
    with pytest.raises((EOFError, OSError)):
        await wire.ask(b"hello")
    wire.close()
    door.close()
    with pytest.raises(OSError):
        await Wire.to(door.entrance)
