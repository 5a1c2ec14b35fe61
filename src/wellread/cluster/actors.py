"""Ray actors (shards, evaluators), and the authenticated connections by which they are called.

Ray starts actors, keeps them on different nodes and starts them again where one dies. A call through it costs 1.8 ms of
processor time, as much as a third of a search of a small shard; one over a connection of the caller's own a tenth of that. Ray
says where the door is and what opens it: who could not call the actor cannot come in there either. What is said is believed, so
both ends prove that they know the key before anything is said, and sign every frame with it; the key itself never travels: a
port whose replica has died may be anybody's by now. (`multiprocessing.connection` has keys and frames too, but its ends block,
its frames are not signed, and its proof says not whose it is.) Where no connection can be made, calls go through Ray.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import select
import socket
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, cast

from wellread.cluster import sharded
from wellread.cluster.merged import Peer
from wellread.cluster.replicas import ReplicaLost
from wellread.cluster.shard import Candidates, Shard, Wanted
from wellread.core import codec
from wellread.core.codec import Raw
from wellread.core.effort import Effort
from wellread.errors import IndexFault, WellreadError, optional
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Verdict
from wellread.types import Fault

_CALLER, _DOOR, _FRAMES = b"caller", b"door", b"frames"  # whose proof it is: neither can be sent back as the other's
_KEY = 32  # bytes; of what is made up for a greeting and of its proof, too
_SIZE = 8  # bytes that say how many follow
_HEAD = _SIZE + _KEY  # those, and the signature
_LARGEST = 1 << 30  # bytes of a request or an answer: more is a mistake
_PATIENCE = 10.0  # seconds until whoever has come must have proved the key, and after which a silent network is a broken one
_STRANGERS = 64  # who have not yet; the one who has taken longest gives way


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where a door is, and its key."""

    host: str
    port: int
    key: bytes


class Door:
    """Answers whoever knows the key, some at once, in threads of its own."""

    def __init__(self, host: str, answer: Callable[[bytes], bytes], at_once: int) -> None:
        self._answer = answer
        self._working = ThreadPoolExecutor(at_once, "wellread-door")
        self._strangers: deque[asyncio.StreamWriter] = deque()  # the oldest first
        listening = socket.create_server((host, 0), family=_family(host), backlog=128)
        self.entrance = Entrance(host, int(listening.getsockname()[1]), secrets.token_bytes(_KEY))
        self._loop, self._closed = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(listening,), name="wellread-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with suppress(RuntimeError):  # it was closed before
            self._loop.call_soon_threadsafe(self._closed.set)
        self._thread.join()

    def _run(self, listening: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listening))

    async def _serve(self, listening: socket.socket) -> None:
        server = await asyncio.start_server(self._attend, sock=listening)
        await self._closed.wait()
        server.close()

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, EOFError):
            _keep_alive(writer.get_extra_info("socket"))
            signed = await self._greeted(reader, writer)
            while signed is not None:
                head = await reader.readexactly(_HEAD)
                request = signed.check(head, await reader.readexactly(_length(head)))
                answer = await self._loop.run_in_executor(self._working, self._answered, reader, writer, request)
                if answer is None:
                    return
                writer.write(signed.frame(answer))
                await writer.drain()

    def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes | None:
        """Nothing for who got its answer elsewhere, or gave up: until it is answered, all that it can say is the end."""
        if reader.at_eof() or writer.is_closing():
            return None
        heard = select.poll()
        heard.register(writer.get_extra_info("socket"), select.POLLIN)
        return None if heard.poll(0) else self._answer(request)

    async def _greeted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Signed | None:
        """None where it does not know the key; else it is shown that this end does, too."""
        self._strangers.append(writer)
        if len(self._strangers) > _STRANGERS:
            self._strangers.popleft().transport.abort()
        key, ours = self.entrance.key, secrets.token_bytes(_KEY)
        try:
            async with asyncio.timeout(_PATIENCE):
                writer.write(ours)
                said = await reader.readexactly(2 * _KEY)
        finally:
            with suppress(ValueError):  # it had to give way
                self._strangers.remove(writer)
        theirs, proof = said[:_KEY], said[_KEY:]
        if not hmac.compare_digest(proof, _proof(key, _CALLER, ours, theirs)):
            return None
        writer.write(_proof(key, _DOOR, ours, theirs))
        return Signed(_proof(key, _FRAMES, ours, theirs), _DOOR, _CALLER)


class Signed:
    """Signed frames of one connection (HMAC): by whom, as which frame. Nothing can be put in, left out or said again."""

    def __init__(self, key: bytes, mine: bytes, theirs: bytes) -> None:
        self._key, self._mine, self._theirs = key, mine, theirs
        self._said = self._heard = 0

    def frame(self, content: bytes) -> bytes:
        self._said += 1
        return len(content).to_bytes(_SIZE, "big") + self._signature(self._mine, self._said, content) + content

    def check(self, head: bytes, content: bytes) -> bytes:
        self._heard += 1
        if not hmac.compare_digest(head[_SIZE:], self._signature(self._theirs, self._heard, content)):
            raise OSError("a frame came that the key did not sign")
        return content

    def _signature(self, who: bytes, number: int, content: bytes) -> bytes:
        return hmac.digest(self._key, who + number.to_bytes(_SIZE, "big") + content, "sha256")


class Wire:
    """A caller's end: a bare socket, since whoever keeps it may run one event loop after the other."""

    def __init__(self, connection: socket.socket, signed: Signed) -> None:
        self._connection, self._signed = connection, signed

    @classmethod
    async def to(cls, entrance: Entrance) -> Wire:
        """`OSError` where nobody can be reached."""
        connection = socket.socket(_family(entrance.host), socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            _keep_alive(connection)
            await asyncio.get_running_loop().sock_connect(connection, (entrance.host, entrance.port))
            return cls(connection, await _greet(connection, entrance.key))
        except BaseException:
            connection.close()
            raise

    async def ask(self, request: bytes) -> bytes:
        """The answer; `OSError` or `EOFError` where the other end is gone. Whoever stops waiting must close the wire."""
        await asyncio.get_running_loop().sock_sendall(self._connection, self._signed.frame(request))
        head = await _heard(self._connection, _HEAD)
        return self._signed.check(head, await _heard(self._connection, _length(head)))

    def is_open(self) -> bool:
        """Whether the other end is still there, as far as this one has heard: what can be read now is the end."""
        try:
            self._connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._connection.close()

    def __del__(self) -> None:
        self._connection.close()


async def _greet(connection: socket.socket, key: bytes) -> Signed:
    """Prove the key, and see that the other end has it: what it answers is believed."""
    ours, theirs, proof = secrets.token_bytes(_KEY), b"", b""
    with suppress(EOFError):
        theirs = await _heard(connection, _KEY)
        await asyncio.get_running_loop().sock_sendall(connection, ours + _proof(key, _CALLER, theirs, ours))
        proof = await _heard(connection, _KEY)
    if not hmac.compare_digest(proof, _proof(key, _DOOR, theirs, ours)):
        raise ConnectionRefusedError("the two ends do not have the same key")
    return Signed(_proof(key, _FRAMES, theirs, ours), _CALLER, _DOOR)


async def _heard(connection: socket.socket, size: int) -> bytes:
    loop, content = asyncio.get_running_loop(), bytearray(size)
    rest = memoryview(content)
    while rest:
        came = await loop.sock_recv_into(connection, rest)
        if not came:
            raise EOFError("the connection was closed")
        rest = rest[came:]
    return bytes(content)


def _length(head: bytes) -> int:
    size = int.from_bytes(head[:_SIZE], "big")
    if size > _LARGEST:
        raise OSError(f"{size:,} bytes are announced, which nobody can mean")
    return size


def _proof(key: bytes, who: bytes, doors: bytes, callers: bytes) -> bytes:
    """Of one greeting: what both ends have made up is in it, so that it proves nothing another time."""
    return hmac.digest(key, who + doors + callers, "sha256")


def _keep_alive(connection: socket.socket) -> None:
    """A machine that loses its power says nothing: the system asks after it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1_000 * _PATIENCE))


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


NAMESPACE = "wellread"
THREADS = 2  # requests that one replica works on at once
_WIRES = 8  # connections of one caller to one replica
_CONNECTING = 1.0  # seconds; where a firewall swallows what is sent nothing ever comes back
_TRY_AGAIN = 300.0  # seconds until a connection is tried again where none could be made


@cache
def ray() -> Any:
    """Ray, which sends nothing home."""
    logging.getLogger("ray.actor").setLevel(logging.ERROR)  # warns of what is wanted here: a replica ends with its group
    # Whoever opens an index does it in a thread of its own, and handles signals itself.
    logging.getLogger("ray._private.worker").addFilter(lambda record: "SIGTERM handler" not in str(record.msg))
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with optional("a cluster", "ray"):
        import ray as module
    return cast("Any", module)


def find(name: str) -> Any:
    """The actor of this name; `ValueError` where there is none."""
    return ray().get_actor(name, namespace=NAMESPACE)


class Method(NamedTuple):
    """Types of a remote method's arguments and result: nothing else is made of what comes over the network."""

    takes: Any
    gives: Any


_Placed = tuple[tuple[int, bytes], ...]
METHODS: Mapping[str, Method] = {
    "candidates": Method(tuple[Wanted], Candidates),
    "lines": Method(tuple[tuple[int, ...]], tuple[bytes, ...]),
    "document": Method(tuple[str], _Placed),
    "titled": Method(tuple[str], _Placed),
    "judge": Method(tuple[str, tuple[Chain, ...]], list[Verdict]),
}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    arguments: Raw


@dataclass(frozen=True, slots=True)
class Answer:
    value: Raw
    fault: Fault | None = None


class _Actor(ABC):
    """Answers requests, which are methods with their arguments, in bytes: those go through Ray as they are."""

    def __init__(self, at_once: int) -> None:
        self._door: Door | None = None
        if os.environ.get("RAY_USE_TLS", "0") == "0":  # else what is said must be encrypted, as Ray does it
            self._door = Door(ray().util.get_node_ip_address(), self.call, at_once)

    def call(self, request: bytes) -> bytes:
        return codec.pack(self._answer(codec.unpack(Request, request)))

    def entrance(self) -> Entrance | None:
        return self._door.entrance if self._door else None

    def node(self) -> str:
        return ray().get_runtime_context().get_node_id()

    def _answer(self, asked: Request) -> Answer:
        """Errors come back as they are: Ray would wrap them."""
        try:
            done = self._done(asked.method, codec.unpack(METHODS[asked.method].takes, asked.arguments))
            return Answer(Raw(codec.pack(done)))
        except WellreadError as problem:
            fault = Fault.of(problem)
        except Exception as problem:  # a mistake of ours
            fault = Fault("RuntimeError", f"{type(problem).__name__} on a node: {traceback.format_exc()}")
        return Answer(Raw(codec.pack(None)), fault)

    @abstractmethod
    def _done(self, method: str, arguments: tuple[object, ...]) -> object: ...


class ShardActor(_Actor):
    """One replica of one shard."""

    def __init__(self, place: str, number: int) -> None:
        self._shard = Shard(sharded.shard_at_hand(place, number))
        self._place = place
        super().__init__(THREADS)

    def place(self) -> str:
        return self._place

    def _done(self, method: str, arguments: tuple[object, ...]) -> object:
        return getattr(self._shard, method)(*arguments)


class EvaluatorActor(_Actor):
    """The evaluator, on one core."""

    def __init__(self, effort: Effort) -> None:
        self._evaluator = Evaluator(effort=effort, threads=1)
        super().__init__(1)

    def _done(self, method: str, arguments: tuple[object, ...]) -> object:
        return asyncio.run(getattr(self._evaluator, method)(*arguments))


class RayReplica(Peer):
    """A replica that is an actor; what it cannot do any more it says with `ReplicaLost`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._handle: Any = None
        self._idle: list[Wire] = []
        self._free = asyncio.Semaphore(_WIRES)
        self._around_ray_from = 0.0  # by the clock of `time.monotonic`

    async def call(self, method: str, *arguments: object) -> Any:
        async with self._free:
            said = await self._sent(codec.pack(Request(method, Raw(codec.pack(arguments)))))
        try:
            answer = codec.unpack(Answer, said)
            if answer.fault is None:
                return codec.unpack(METHODS[method].gives, answer.value)
        except ValueError as problem:
            raise IndexFault(f"{self._name} cannot be understood: do all nodes have the same wellread?") from problem
        raise answer.fault.error()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _sent(self, request: bytes) -> bytes:
        wire = await self._connected()
        if wire is None:
            return cast("bytes", await self._through_ray("call", request))
        try:
            answer = await wire.ask(request)
        except (OSError, EOFError) as problem:
            wire.close()
            self.close()  # the others end there too
            raise ReplicaLost(f"{self._name}: {problem}") from None
        except BaseException:  # nobody waits any more: the next one would get this answer
            wire.close()
            raise
        self._idle.append(wire)
        return answer

    async def _connected(self) -> Wire | None:
        """A connection; none where the network does not allow it, or Ray's own are encrypted."""
        while self._idle:
            if (wire := self._idle.pop()).is_open():
                return wire
            wire.close()
        if time.monotonic() < self._around_ray_from:
            return None
        entrance = cast("Entrance | None", await self._through_ray("entrance"))
        try:
            async with asyncio.timeout(_CONNECTING):
                wire = await Wire.to(entrance) if entrance else None
        except OSError:  # a timeout is one
            wire = None
        if wire is None:
            self._around_ray_from = time.monotonic() + _TRY_AGAIN
        return wire

    async def _through_ray(self, method: str, *arguments: object) -> object:
        errors = ray().exceptions
        try:
            if self._handle is None:
                self._handle = await asyncio.to_thread(find, self._name)
            return await getattr(self._handle, method).remote(*arguments)
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError, ValueError) as problem:
            self._handle = None  # nobody has this name any more, or somebody else will have it
            raise ReplicaLost(f"{self._name}: {problem}") from None
