"""Shards as Ray actors: detached, named, restarted by Ray, R replicas of a shard on different nodes.

Their names say all there is to know: NAME:shard:NUMBER:REPLICA. Whoever connects finds them by name, so there is no
directory that could be lost.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from wellread.cluster import storage
from wellread.cluster.merged import Member, MergedIndex
from wellread.cluster.replicas import Patience, ReplicaLost, ReplicatedShard
from wellread.cluster.shard import Shard
from wellread.effort import Effort
from wellread.errors import IndexFault, MissingExtra, UsageError, WellreadError
from wellread.ranking.evaluator import Evaluator

NAMESPACE = "wellread"
_THREADS = 4  # calls that one replica works on at once
_STARTING = 120.0  # seconds that a replica has to open its shard


def ray() -> ModuleType:
    """Ray, which sends nothing home."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray as module
    except ImportError:
        raise MissingExtra("a cluster", "ray") from None
    return module


def connect(address: str | None = None) -> Any:
    """Ray, connected to a cluster that is running; the one of RAY_ADDRESS or of this machine unless named."""
    module = cast("Any", ray())
    if not module.is_initialized():
        try:
            module.init(address=address or "auto", namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as problem:
            where = address or os.environ.get("RAY_ADDRESS") or "this machine"
            raise WellreadError(f"there is no Ray cluster at {where} (start one with: ray start --head): {problem}") from None
    return module


class ShardActor:
    """What runs on a node: one replica of one shard."""

    def __init__(self, place: str, number: int) -> None:
        self._shard = Shard(storage.shard_at_hand(place, number))
        self._place = place

    def place(self) -> str:
        return self._place

    def call(self, method: str, *arguments: Any) -> Any:
        """A method of the shard. What goes wrong in it comes back as it is: Ray would wrap it."""
        try:
            return getattr(self._shard, method)(*arguments)
        except WellreadError as problem:
            return problem

    def node(self) -> str:
        return cast("Any", ray()).get_runtime_context().get_node_id()


class EvaluatorActor:
    """What runs on a node: the evaluator, on one core."""

    def __init__(self, effort: Effort) -> None:
        self._evaluator = Evaluator(effort=effort, threads=1)

    def call(self, method: str, *arguments: Any) -> Any:
        try:
            return asyncio.run(getattr(self._evaluator, method)(*arguments))
        except WellreadError as problem:
            return problem

    def node(self) -> str:
        return cast("Any", ray()).get_runtime_context().get_node_id()


class RayReplica:
    """A `Replica` that is an actor."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._handle: Any = None

    async def call(self, method: str, *arguments: object) -> Any:
        errors = cast("Any", ray()).exceptions
        try:
            if self._handle is None:
                self._handle = await asyncio.to_thread(_actor, self._name)
            found = await self._handle.call.remote(method, *arguments)
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError) as problem:
            raise ReplicaLost(str(problem)) from None
        except ValueError as problem:  # nobody has this name (any more)
            self._handle = None
            raise ReplicaLost(str(problem)) from None
        if isinstance(found, WellreadError):
            raise found
        return found


@dataclass(frozen=True, slots=True)
class Deployed:
    """An index as it stands in a cluster."""

    name: str
    place: str
    replicas: Mapping[int, Sequence[str]]  # of each shard: the ids of the nodes where they are, "" while one starts
    evaluators: Sequence[str] = ()  # the nodes of these


def deploy(place: str, name: str, replicas: int = 2, evaluators: int = 0) -> Deployed:
    """Start R replicas of each shard, and evaluators; wait until all of them are ready."""
    module = connect()
    _check_name(name)
    content = storage.load(place)
    if _actors(name):
        raise UsageError(f"{name} is deployed already: change it with `wellread cluster scale`, or stop it first")
    numbers = [(shard, replica) for shard in range(len(content.shards)) for replica in range(replicas)]
    _start(module, name, [*_shards(place, name, numbers), *_evaluators(name, range(evaluators))])
    return status(name)


def scale(name: str, replicas: int | None = None, evaluators: int | None = None) -> Deployed:
    """So many replicas of each shard, and so many evaluators, from now on."""
    module = connect()
    known = _actors(name)
    if not known:
        raise UsageError(f"{name} is not deployed here")
    wanted: list[_Wanted] = []
    if replicas is not None:
        place = _place(module, name, known)
        numbers = [(shard, replica) for shard in range(len(storage.load(place).shards)) for replica in range(replicas)]
        wanted += _shards(place, name, [number for number in numbers if number not in known])
        for number in known:
            if number not in numbers:
                _kill(module, _full(name, *number))
    if evaluators is not None:
        there = _evaluator_numbers(name)
        wanted += _evaluators(name, [number for number in range(evaluators) if number not in there])
        for number in there:
            if number >= evaluators:
                _kill(module, f"{name}:evaluator:{number}")
    _start(module, name, wanted)
    return status(name)


def stop(name: str) -> int:
    """End all its actors; how many there were."""
    module = connect()
    known = [_full(name, *number) for number in _actors(name)]
    known += [f"{name}:evaluator:{number}" for number in _evaluator_numbers(name)]
    for full in known:
        _kill(module, full)
    return len(known)


def status(name: str) -> Deployed:
    """Where its replicas are now."""
    module = connect()
    known = _actors(name)
    if not known:
        raise UsageError(f"{name} is not deployed here")
    thinking = _evaluator_numbers(name)
    asked = {key: _actor(_full(name, *key)).node.remote() for key in known}
    also = [_actor(f"{name}:evaluator:{number}").node.remote() for number in thinking]
    module.wait([*asked.values(), *also], num_returns=len(asked) + len(also), timeout=5)
    nodes: dict[int, list[str]] = {}
    for (shard, _), reference in sorted(asked.items()):
        nodes.setdefault(shard, []).append(_node_of(module, reference))
    return Deployed(name, _place(module, name, known), nodes, [_node_of(module, reference) for reference in also])


def names() -> list[str]:
    """The indexes that are deployed."""
    connect()
    return sorted({index for index, kind, *_ in _named() if kind == "shard"})


def evaluators(name: str, address: str | None = None) -> ReplicatedShard:
    """The evaluators of a deployed index: whoever is least busy answers."""
    connect(address)
    numbers = _evaluator_numbers(name)
    if not numbers:
        raise UsageError(f"{name} has no evaluators: start some with `wellread cluster scale {name} --evaluators N`")
    return ReplicatedShard("evaluators", [RayReplica(f"{name}:evaluator:{number}") for number in numbers])


def open_index(name: str, address: str | None = None, patience: Patience | None = None) -> MergedIndex:
    """A deployed index, to be searched."""
    module = connect(address)
    known = _actors(name)
    if not known:
        there = ", ".join(names()) or "none"
        raise IndexFault(f"no index {name} is deployed in this cluster (there is: {there}); see: wellread cluster deploy")
    content = storage.load(_place(module, name, known))
    members: list[Member] = []
    for number, entry in enumerate(content.shards):
        mine = [RayReplica(_full(name, shard, replica)) for shard, replica in sorted(known) if shard == number]
        members.append(Member(entry.name, entry.passages, ReplicatedShard(entry.name, mine, patience)))
    return MergedIndex(members, content.embedder, content.dimensions)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An actor that is to be started."""

    full: str
    kind: type
    arguments: tuple[object, ...]
    node: int  # by number; on so many nodes it goes round
    threads: int
    cores: float


def _shards(place: str, name: str, numbers: Sequence[tuple[int, int]]) -> list[_Wanted]:
    return [_Wanted(_full(name, s, r), ShardActor, (place, s), s + r, _THREADS, 0) for s, r in numbers]


def _evaluators(name: str, numbers: Iterable[int]) -> list[_Wanted]:
    return [_Wanted(f"{name}:evaluator:{n}", EvaluatorActor, ("normal",), n, 1, 0) for n in numbers]


def _start(module: Any, name: str, wanted: Sequence[_Wanted]) -> None:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = sorted(node["NodeID"] for node in module.nodes() if node["Alive"])
    started: list[Any] = []
    for one in wanted:
        how = module.remote(one.kind).options(
            name=one.full,
            namespace=NAMESPACE,
            lifetime="detached",
            max_restarts=-1,
            max_concurrency=one.threads,
            num_cpus=one.cores,
            # Soft: where the node dies, Ray starts the replica elsewhere.
            scheduling_strategy=NodeAffinitySchedulingStrategy(nodes[one.node % len(nodes)], soft=True),
        )
        started.append(how.remote(*one.arguments).node.remote())
    try:
        module.get(started, timeout=_STARTING)
    except (module.exceptions.RayError, TimeoutError) as problem:
        for one in wanted:
            _kill(module, one.full)
        raise WellreadError(f"{name} could not be deployed: {cause(problem)}") from None


def cause(problem: BaseException) -> str:
    """The last line of what Ray says: the error itself, without the way to it."""
    return str(problem).strip().splitlines()[-1] if str(problem).strip() else type(problem).__name__


def _actors(name: str) -> list[tuple[int, int]]:
    """Shards and replicas that have a name."""
    return sorted((int(rest[0]), int(rest[1])) for index, kind, *rest in _named() if (index, kind) == (name, "shard"))


def _evaluator_numbers(name: str) -> list[int]:
    return sorted(int(rest[0]) for index, kind, *rest in _named() if (index, kind) == (name, "evaluator"))


def _named() -> list[list[str]]:
    """The names of all our actors, taken apart."""
    listed = cast("Any", ray()).util.list_named_actors(all_namespaces=True)
    return [one["name"].split(":") for one in listed if one["namespace"] == NAMESPACE and ":" in one["name"]]


def _actor(full: str) -> Any:
    return cast("Any", ray()).get_actor(full, namespace=NAMESPACE)


def _kill(module: Any, full: str) -> None:
    with suppress(ValueError):  # it has died by itself
        module.kill(_actor(full), no_restart=True)


def _place(module: Any, name: str, known: Sequence[tuple[int, int]]) -> str:
    """Where the shards lie, as any replica says."""
    for shard, replica in known:
        try:
            return str(module.get(_actor(_full(name, shard, replica)).place.remote(), timeout=10))
        except (module.exceptions.RayError, TimeoutError, ValueError):
            continue
    raise IndexFault(f"none of the {len(known)} replicas of {name} answers")


def _node_of(module: Any, reference: Any) -> str:
    try:
        return str(module.get(reference, timeout=2))
    except (module.exceptions.RayError, TimeoutError):
        return ""


def _full(name: str, shard: int, replica: int) -> str:
    return f"{name}:shard:{shard}:{replica}"


def _check_name(name: str) -> None:
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name):
        raise UsageError(f"{name!r} is no name for an index: letters, digits, '-', '_' and '.'")
