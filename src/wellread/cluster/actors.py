"""What runs on a node, and how it is reached.

Ray starts actors, keeps them on different nodes and starts them again where one dies. What they are asked goes over
connections of the caller's own (`wire`); where none can be made, through Ray.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, cast

from wellread import codec
from wellread.cluster import storage
from wellread.cluster.replicas import ReplicaLost
from wellread.cluster.shard import Candidates, Shard, Wanted
from wellread.cluster.wire import Door, Entrance, Wire
from wellread.codec import Fault, Raw
from wellread.effort import Effort
from wellread.errors import IndexFault, WellreadError, optional
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Verdict

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
    """What a method of an actor takes and gives: nothing else is made of what comes over the network."""

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
    value: object = None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """An answer whose value is still packed."""

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
        """What goes wrong comes back as it is: Ray would wrap it."""
        try:
            return Answer(self._done(asked.method, codec.unpack(METHODS[asked.method].takes, asked.arguments)))
        except WellreadError as problem:
            return Answer(fault=Fault.of(problem))
        except Exception as problem:  # a mistake of ours
            return Answer(fault=Fault("RuntimeError", f"{type(problem).__name__} on a node: {traceback.format_exc()}"))

    @abstractmethod
    def _done(self, method: str, arguments: tuple[object, ...]) -> object: ...


class ShardActor(_Actor):
    """One replica of one shard."""

    def __init__(self, place: str, number: int) -> None:
        self._shard = Shard(storage.shard_at_hand(place, number))
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


class RayReplica:
    """A `Replica` that is an actor."""

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
            answer = codec.unpack(Received, said)
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
