"""Connections to a replica: who comes in, what is asked at once, and what happens when either end goes."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from wellread.cluster import actors as wire_module
from wellread.cluster.actors import Door, Signed, Wire

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
    with pytest.raises(ConnectionRefusedError):
        await Wire.to(replace(door.entrance, key=bytes(32)))
    assert slow.asked == []


def framed(request: bytes) -> bytes:
    return len(request).to_bytes(8, "big") + request


@pytest.mark.parametrize(
    "said",
    [
        b"",
        bytes(32),
        bytes(64),
        b"\xff" * 64 + framed(b"let me in"),
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + b" " * 64,
        (2**63).to_bytes(8, "big") * 9,
    ],
)
async def test_whatever_a_stranger_says_is_not_heard(door: Door, slow: Slow, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", door.entrance.port), 10) as stranger:
        greeting = stranger.recv(32, socket.MSG_WAITALL)
        assert door.entrance.key not in greeting
        stranger.sendall(said)
        with suppress(OSError):  # the door may be shut already
            stranger.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
    assert slow.asked == []
    (await Wire.to(door.entrance)).close()


async def test_the_key_never_travels_and_a_proof_holds_once(door: Door, slow: Slow) -> None:
    """Somebody in the middle keeps what a caller says, and says it again."""
    kept: list[bytes] = []

    def between() -> None:
        caller, _ = listening.accept()
        with caller, socket.create_connection(("127.0.0.1", door.entrance.port), 10) as onward:
            caller.sendall(onward.recv(32, socket.MSG_WAITALL))
            kept.append(caller.recv(64, socket.MSG_WAITALL))
            onward.sendall(kept[0])
            caller.sendall(onward.recv(32, socket.MSG_WAITALL))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listener = threading.Thread(target=between)
        listener.start()
        (await Wire.to(replace(door.entrance, port=listening.getsockname()[1]))).close()
        await asyncio.to_thread(listener.join, 10)
    assert door.entrance.key not in kept[0]
    with socket.create_connection(("127.0.0.1", door.entrance.port), 10) as again:
        again.recv(32, socket.MSG_WAITALL)
        again.sendall(kept[0] + framed(b"let me in"))
        with suppress(ConnectionResetError):
            assert again.recv(1) == b""
    assert slow.asked == []


@pytest.mark.parametrize("way", ["changed", "said again", "answered otherwise"])
async def test_whoever_stands_between_can_say_nothing(door: Door, slow: Slow, way: str) -> None:
    """A proof holds for two ends, not for the way between them: every frame is signed."""

    def between() -> None:
        caller, _ = listening.accept()
        with caller, socket.create_connection(("127.0.0.1", door.entrance.port), 10) as onward, suppress(OSError):
            caller.sendall(onward.recv(32, socket.MSG_WAITALL))
            onward.sendall(caller.recv(64, socket.MSG_WAITALL))
            caller.sendall(onward.recv(32, socket.MSG_WAITALL))
            asked = caller.recv(40 + 5, socket.MSG_WAITALL)
            if way == "changed":
                onward.sendall(asked[:-1] + b"!")
            elif way == "said again":
                onward.sendall(asked)
                onward.recv(40 + 15, socket.MSG_WAITALL)
                onward.sendall(asked)
            else:
                onward.sendall(asked)
                answer = onward.recv(40 + 15, socket.MSG_WAITALL)
                caller.sendall(answer[:-1] + b"!")
            (caller if way == "answered otherwise" else onward).recv(1)  # until whoever was lied to hangs up

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listener = threading.Thread(target=between)
        listener.start()
        wire = await Wire.to(replace(door.entrance, port=listening.getsockname()[1]))
        with pytest.raises((OSError, EOFError)):
            await wire.ask(b"hello")
        wire.close()
        await asyncio.to_thread(listener.join, 10)
    assert slow.asked == ([] if way == "changed" else [b"hello"])


async def test_who_took_a_dead_replicas_port_is_told_nothing(door: Door) -> None:
    """What is answered is believed: an end that cannot prove the key must not get that far, nor what is asked."""
    heard = bytearray()

    def pretend() -> None:
        caller, _ = listening.accept()
        with caller, suppress(OSError):
            caller.sendall(bytes(32))
            heard.extend(caller.recv(64, socket.MSG_WAITALL))
            caller.sendall(bytes(heard[32:]))  # the caller's own proof, sent back
            heard.extend(caller.recv(1000))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        pretender = threading.Thread(target=pretend)
        pretender.start()
        with pytest.raises(ConnectionRefusedError):
            await Wire.to(replace(door.entrance, port=listening.getsockname()[1]))
        await asyncio.to_thread(pretender.join, 10)
    assert len(heard) == 64


@pytest.mark.slow
async def test_a_crowd_at_the_door_keeps_nobody_out(door: Door, slow: Slow) -> None:
    crowd = [socket.create_connection(("127.0.0.1", door.entrance.port), 10) for _ in range(300)]
    wire = await Wire.to(door.entrance)
    assert await wire.ask(b"still there?") == b"still there?" * 3
    assert len(door._strangers) <= wire_module._STRANGERS  # pyright: ignore[reportPrivateUsage]
    for stranger in crowd:
        stranger.close()
    wire.close()


async def test_a_door_that_had_no_room_opens_again(monkeypatch: pytest.MonkeyPatch, slow: Slow) -> None:
    accept, failures = socket.socket.accept, iter([OSError(errno.EMFILE, "Too many open files")] * 3)

    def sometimes(listening: socket.socket) -> tuple[socket.socket, object]:
        if problem := next(failures, None):
            raise problem
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", sometimes)
    door = Door("127.0.0.1", slow.answer, 2)
    async with asyncio.timeout(10):
        wire = await Wire.to(door.entrance)
        assert await wire.ask(b"a") == b"aaa"
    wire.close()
    door.close()


@pytest.mark.slow
async def test_who_says_a_byte_now_and_then_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, slow: Slow) -> None:
    monkeypatch.setattr(wire_module, "_PATIENCE", 0.4)
    door = Door("127.0.0.1", slow.answer, 2)
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", door.entrance.port), 10) as stranger, suppress(OSError):
        while time.monotonic() < begun + 10:
            stranger.sendall(b"a")
            await asyncio.sleep(0.2)
    assert time.monotonic() - begun < 5
    door.close()


async def test_a_length_that_nobody_can_mean_is_a_broken_connection(door: Door) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    wire = Wire(ours, Signed(bytes(32), b"caller", b"door"))
    theirs.sendall((2**62).to_bytes(8, "big") + bytes(32))
    with pytest.raises(OSError, match="announced"):
        await wire.ask(b"hello")
    wire.close()
    theirs.close()
    friend = await Wire.to(door.entrance)
    friend._connection.setblocking(True)  # pyright: ignore[reportPrivateUsage]
    friend._connection.sendall((2**62).to_bytes(8, "big") + bytes(32))  # pyright: ignore[reportPrivateUsage]
    with suppress(ConnectionResetError):
        assert friend._connection.recv(1) == b""  # pyright: ignore[reportPrivateUsage]
    friend.close()


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
    wire = Wire(ours, Signed(bytes(32), b"caller", b"door"))
    assert wire.is_open()
    theirs.close()
    assert not wire.is_open()
    with pytest.raises((EOFError, OSError)):
        await wire.ask(b"hello")
    wire.close()
    door.close()
    with pytest.raises(OSError):
        await Wire.to(door.entrance)
