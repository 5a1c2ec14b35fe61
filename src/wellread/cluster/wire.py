"""A connection of one's own to a replica: one request, one answer, then the next.

A call through Ray costs 1.8 ms of processor time, as much as a third of a search of a small shard; one through here a tenth of
that. Ray says where the door is and what opens it: who could not call the actor cannot come in here either. What is said is
believed, so both ends prove that they know the key before anything is said, and sign every frame with it; the key itself never
travels: a port whose replica has died may be anybody's by now. (`multiprocessing.connection` has keys and frames too, but its
ends block, its frames are not signed, and its proof says not whose it is.)
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

_CALLER, _DOOR, _FRAMES = b"caller", b"door", b"frames"  # whose proof it is: neither can be sent back as the other's
_KEY = 32  # bytes; of what is made up for a greeting and of its proof, too
_SIZE = 8  # bytes that say how many follow
_HEAD = _SIZE + _KEY  # those, and the signature
_LARGEST = 1 << 30  # bytes of a request or an answer: more is a mistake
_AT_ONCE = 1 << 16  # bytes that are received in one go: most requests and answers
_PATIENCE = 10.0  # seconds until whoever has come must have proved the key, and after which a silent network is a broken one
_STRANGERS = 64  # who have not yet; the one who has taken longest gives way
_BREATH = 0.1  # seconds until somebody is let in again where there was no room for one more


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where a door is, and its key."""

    host: str
    port: int
    key: bytes


class Door:
    """Answers whoever knows the key: a thread a connection, of which only some work at once."""

    def __init__(self, host: str, answer: Callable[[bytes | bytearray], bytes], at_once: int) -> None:
        self._answer = answer
        self._gate = threading.BoundedSemaphore(at_once)
        self._closed = False
        self._strangers: deque[socket.socket] = deque()  # the oldest first
        self._lock = threading.Lock()  # around them
        self._listening = socket.create_server((host, 0), family=_family(host), backlog=128)
        self.entrance = Entrance(host, int(self._listening.getsockname()[1]), secrets.token_bytes(_KEY))
        threading.Thread(target=self._open, name="wellread-door", daemon=True).start()

    def close(self) -> None:
        self._closed = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes whoever waits for somebody to come
        self._listening.close()

    def _open(self) -> None:
        while not self._closed:
            try:
                visitor, _ = self._listening.accept()
            except OSError:  # it was closed; or so many have come that there is no room, or one was gone again
                time.sleep(_BREATH)
                continue
            with self._lock:
                self._strangers.append(visitor)
                longest = self._strangers.popleft() if len(self._strangers) > _STRANGERS else None
            if longest is not None:
                _hang_up(longest)
            try:
                threading.Thread(target=self._attend, args=(visitor,), name="wellread-visitor", daemon=True).start()
            except RuntimeError:  # no thread can be had
                self._known(visitor)
                visitor.close()

    def _attend(self, visitor: socket.socket) -> None:
        with visitor, suppress(OSError, EOFError):
            try:
                _keep_alive(visitor)
                signed = self._greeted(visitor)
            finally:
                self._known(visitor)
            if signed is None:
                return
            visitor.settimeout(None)
            buffer = bytearray(_AT_ONCE)
            while True:
                request = _next(visitor, buffer, signed)
                with self._gate:
                    if not _is_there(visitor):  # it got its answer elsewhere, or gave up
                        return
                    answer = self._answer(request)
                visitor.sendall(signed.frame(answer))

    def _greeted(self, visitor: socket.socket) -> Signed | None:
        """None where it does not know the key; else it is shown that this end does, too."""
        until, key, ours = time.monotonic() + _PATIENCE, self.entrance.key, secrets.token_bytes(_KEY)
        visitor.settimeout(_PATIENCE)
        visitor.sendall(ours)
        said = bytearray(2 * _KEY)
        _received(visitor, memoryview(said), len(said), until)
        theirs, proof = bytes(said[:_KEY]), said[_KEY:]
        if not hmac.compare_digest(proof, _proof(key, _CALLER, ours, theirs)):
            return None
        visitor.sendall(_proof(key, _DOOR, ours, theirs))
        return Signed(_proof(key, _FRAMES, ours, theirs), _DOOR, _CALLER)

    def _known(self, visitor: socket.socket) -> None:
        with self._lock, suppress(ValueError):  # it had to give way
            self._strangers.remove(visitor)


class Signed:
    """What is said on one connection, signed: by whom, as which frame. Nothing can be put in, left out or said again."""

    def __init__(self, key: bytes, mine: bytes, theirs: bytes) -> None:
        self._key, self._mine, self._theirs = key, mine, theirs
        self._said = self._heard = 0

    def frame(self, content: bytes) -> bytes:
        self._said += 1
        return len(content).to_bytes(_SIZE, "big") + self._signature(self._mine, self._said, content) + content

    def check(self, signature: bytes, content: bytearray) -> bytearray:
        self._heard += 1
        if not hmac.compare_digest(signature, self._signature(self._theirs, self._heard, content)):
            raise OSError("a frame came that the key did not sign")
        return content

    def _signature(self, who: bytes, number: int, content: bytes | bytearray) -> bytes:
        return hmac.digest(self._key, who + number.to_bytes(_SIZE, "big") + content, "sha256")


class Wire:
    """A caller's end."""

    def __init__(self, connection: socket.socket, signed: Signed) -> None:
        self._connection, self._signed = connection, signed
        self._buffer = bytearray(_AT_ONCE)

    @classmethod
    async def to(cls, entrance: Entrance) -> Wire:
        """`OSError` where nobody can be reached."""
        connection = socket.socket(_family(entrance.host), socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            _keep_alive(connection)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(connection, (entrance.host, entrance.port))
            return cls(connection, await _greet(connection, entrance.key))
        except BaseException:
            connection.close()
            raise

    async def ask(self, request: bytes) -> bytearray:
        """The answer; `OSError` or `EOFError` where the other end is gone. Whoever stops waiting must close the wire."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._connection, self._signed.frame(request))
        signature, answer, rest = _begun(self._buffer, await _heard(self._connection, memoryview(self._buffer), _HEAD))
        await _heard(self._connection, rest, len(rest))
        return self._signed.check(signature, answer)

    def is_open(self) -> bool:
        """Whether the other end is still there, as far as this one has heard."""
        return _is_there(self._connection)

    def close(self) -> None:
        self._connection.close()

    def __del__(self) -> None:
        self._connection.close()


async def _greet(connection: socket.socket, key: bytes) -> Signed:
    """Prove the key, and see that the other end has it: what it answers is believed."""
    ours, theirs, proof = secrets.token_bytes(_KEY), bytearray(_KEY), bytearray(_KEY)
    try:
        await _heard(connection, memoryview(theirs), _KEY)
        said = ours + _proof(key, _CALLER, theirs, ours)
        await asyncio.get_running_loop().sock_sendall(connection, said)
        await _heard(connection, memoryview(proof), _KEY)
    except EOFError:
        proof = b""
    if not hmac.compare_digest(proof, _proof(key, _DOOR, theirs, ours)):
        raise ConnectionRefusedError("the two ends do not have the same key")
    return Signed(_proof(key, _FRAMES, theirs, ours), _CALLER, _DOOR)


async def _heard(connection: socket.socket, into: memoryview, least: int) -> int:
    """How many bytes came: at least so many, at most what there is room for."""
    loop, count = asyncio.get_running_loop(), 0
    while count < least:
        came = await loop.sock_recv_into(connection, into[count:])
        if not came:
            raise EOFError("the connection was closed")
        count += came
    return count


def _length(said: bytes | bytearray) -> int:
    size = int.from_bytes(said, "big")
    if size > _LARGEST:
        raise OSError(f"{size:,} bytes are announced, which nobody can mean")
    return size


def _proof(key: bytes, who: bytes, doors: bytes | bytearray, callers: bytes) -> bytes:
    """Of one greeting: what both ends have made up is in it, so that it proves nothing another time."""
    return hmac.digest(key, who + doors + callers, "sha256")


def _begun(buffer: bytearray, count: int) -> tuple[bytes, bytearray, memoryview]:
    """The signature of a message, the message as far as its first bytes go, and the room for the rest."""
    content, here = bytearray(_length(buffer[:_SIZE])), count - _HEAD
    if here > len(content):
        raise OSError("more was said than was announced")
    content[:here] = memoryview(buffer)[_HEAD:count]
    return bytes(buffer[_SIZE:_HEAD]), content, memoryview(content)[here:]


def _next(connection: socket.socket, buffer: bytearray, signed: Signed) -> bytearray:
    """The next message. In few calls: each of them gives other threads the turn."""
    signature, content, rest = _begun(buffer, _received(connection, memoryview(buffer), _HEAD))
    _received(connection, rest, len(rest))
    return signed.check(signature, content)


def _received(connection: socket.socket, into: memoryview, least: int, until: float | None = None) -> int:
    """How many bytes came: at least so many. Where they have to be there by a moment, whoever sends one now and then gains
    nothing."""
    count = 0
    while count < least:
        if until is not None:
            connection.settimeout(max(until - time.monotonic(), 0.001))
        came = connection.recv_into(into[count:])
        if not came:
            raise EOFError
        count += came
    return count


def _is_there(connection: socket.socket) -> bool:
    """Between a request and its answer nothing is said: what can be read then is the end."""
    try:
        connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _hang_up(visitor: socket.socket) -> None:
    with suppress(OSError):
        visitor.shutdown(socket.SHUT_RDWR)  # its thread is waiting for it, and closes it


def _keep_alive(connection: socket.socket) -> None:
    """A machine that loses its power says nothing: the system asks after it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1_000 * _PATIENCE))


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
