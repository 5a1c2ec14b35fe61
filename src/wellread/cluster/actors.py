"""What runs on a node, and how it is reached: actors that answer several requests in one call.

A call of an actor costs about as much processor time as a small search, so requests that come while an actor has enough to
do wait for each other, and go together. Whoever comes alone is sent at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from wellread.cluster import storage
from wellread.cluster.replicas import ReplicaLost
from wellread.cluster.shard import Shard
from wellread.effort import Effort
from wellread.errors import MissingExtra, WellreadError
from wellread.ranking.evaluator import Evaluator

NAMESPACE = "wellread"
THREADS = 4  # calls that one replica works on at once
_UNDER_WAY = 2  # calls of one caller: one is worked on while the other waits; more would fight for one Python
_TOGETHER = 8  # requests in one call: more would keep the first one waiting, and not fit in what Ray sends with an answer


@cache
def ray() -> Any:
    """Ray, which sends nothing home."""
    logging.getLogger("ray.actor").setLevel(logging.ERROR)  # warns of what is wanted here: a replica ends with its group
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray as module
    except ImportError:
        raise MissingExtra("a cluster", "ray") from None
    return cast("Any", module)


def find(name: str) -> Any:
    """The actor of this name; `ValueError` where there is none."""
    return ray().get_actor(name, namespace=NAMESPACE)


class _Actor(ABC):
    """Answers requests, which are methods with their arguments, in bytes: those go through Ray as they are."""

    def calls(self, requests: bytes) -> bytes | list[bytes]:
        """An answer to each, apart: what is under 100 kB Ray sends at once, the rest by a detour."""
        answers = [packed(self._answer(*request)) for request in pickle.loads(requests)]
        return answers if len(answers) > 1 else answers[0]

    def node(self) -> str:
        return ray().get_runtime_context().get_node_id()

    def _answer(self, method: str, arguments: tuple[object, ...]) -> object:
        """What goes wrong comes back as it is: Ray would wrap it, and the others of the call would fail too."""
        try:
            return self._done(method, arguments)
        except WellreadError as problem:
            return problem
        except Exception as problem:  # a mistake of ours
            return RuntimeError(f"{type(problem).__name__} on a node: {traceback.format_exc()}")

    @abstractmethod
    def _done(self, method: str, arguments: tuple[object, ...]) -> object: ...


class ShardActor(_Actor):
    """One replica of one shard."""

    def __init__(self, place: str, number: int) -> None:
        self._shard = Shard(storage.shard_at_hand(place, number))
        self._place = place

    def place(self) -> str:
        return self._place

    def _done(self, method: str, arguments: tuple[object, ...]) -> object:
        return getattr(self._shard, method)(*arguments)


class EvaluatorActor(_Actor):
    """The evaluator, on one core."""

    def __init__(self, effort: Effort) -> None:
        self._evaluator = Evaluator(effort=effort, threads=1)

    def _done(self, method: str, arguments: tuple[object, ...]) -> object:
        return asyncio.run(getattr(self._evaluator, method)(*arguments))


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    arguments: tuple[object, ...]
    answer: asyncio.Future[Any]


class RayReplica:
    """A `Replica` that is an actor."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._handle: Any = None
        self._waiting: deque[_Request] = deque()
        self._under_way: set[asyncio.Task[None]] = set()

    def call(self, method: str, *arguments: object) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Request(method, arguments, answer))
        self._send()
        return answer

    def _send(self) -> None:
        """What is waiting, shared out evenly over as many calls as may be under way."""
        while self._waiting and len(self._under_way) < _UNDER_WAY:
            share = min(_TOGETHER, -(-len(self._waiting) // (_UNDER_WAY - len(self._under_way))))
            some = [self._waiting.popleft() for _ in range(share)]
            wanted = [request for request in some if not request.answer.done()]  # a hedged one may have its answer
            if wanted:
                task = asyncio.create_task(self._delivered(wanted))
                self._under_way.add(task)
                task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._send()

    async def _delivered(self, requests: Sequence[_Request]) -> None:
        try:
            answers: list[Any] = await self._answers(requests)
        except Exception as problem:
            answers = [problem] * len(requests)
        for request, answer in zip(requests, answers, strict=True):
            if request.answer.done():
                continue
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)

    async def _answers(self, requests: Sequence[_Request]) -> list[Any]:
        errors = ray().exceptions
        try:
            if self._handle is None:
                self._handle = await asyncio.to_thread(find, self._name)
            sent = packed([(request.method, request.arguments) for request in requests])
            found = self._handle.calls.options(num_returns=len(requests)).remote(sent)
            return [pickle.loads(await one) for one in (found if len(requests) > 1 else [found])]
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError) as problem:
            raise ReplicaLost(str(problem)) from None
        except ValueError as problem:  # nobody has this name (any more)
            self._handle = None
            raise ReplicaLost(str(problem)) from None


def packed(value: object) -> bytes:
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
