"""Shards as Ray actors: detached, named, restarted by Ray, R replicas of a shard on different nodes.

Their names say all there is to know: NAME:shard:NUMBER:REPLICA. Whoever connects finds them by name, so there is no
directory that could be lost.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from wellread.cluster import storage
from wellread.cluster.merged import Member, MergedIndex
from wellread.cluster.replicas import Patience, ReplicaLost, ReplicatedShard
from wellread.cluster.shard import Shard
from wellread.errors import IndexFault, MissingExtra, UsageError, WellreadError

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


def deploy(place: str, name: str, replicas: int = 2, memory: int = 0) -> Deployed:
    """Start R replicas of each shard, and wait until all of them have opened it."""
    module = connect()
    _check_name(name)
    content = storage.load(place)
    if _actors(name):
        raise UsageError(f"{name} is deployed already: change it with `wellread cluster scale`, or stop it first")
    numbers = [(shard, replica) for shard in range(len(content.shards)) for replica in range(replicas)]
    _start(module, place, name, numbers, memory)
    return status(name)


def scale(name: str, replicas: int) -> Deployed:
    """So many replicas of each shard from now on."""
    module = connect()
    known = _actors(name)
    if not known:
        raise UsageError(f"{name} is not deployed here")
    place = _place(module, name, known)
    count = len(storage.load(place).shards)
    for shard, replica in known:
        if replica >= replicas:
            _kill(module, _full(name, shard, replica))
    missing = [(shard, replica) for shard in range(count) for replica in range(replicas) if (shard, replica) not in known]
    _start(module, place, name, missing, 0)
    return status(name)


def stop(name: str) -> int:
    """End all its replicas; how many there were."""
    module = connect()
    known = _actors(name)
    for shard, replica in known:
        _kill(module, _full(name, shard, replica))
    return len(known)


def status(name: str) -> Deployed:
    """Where its replicas are now."""
    module = connect()
    known = _actors(name)
    if not known:
        raise UsageError(f"{name} is not deployed here")
    asked = {key: _actor(_full(name, *key)).node.remote() for key in known}
    module.wait(list(asked.values()), num_returns=len(asked), timeout=5)
    nodes: dict[int, list[str]] = {}
    for (shard, _), reference in sorted(asked.items()):
        nodes.setdefault(shard, []).append(_node_of(module, reference))
    return Deployed(name, _place(module, name, known), nodes)


def names() -> list[str]:
    """The indexes that are deployed."""
    module = connect()
    listed = module.util.list_named_actors(all_namespaces=True)
    return sorted({one["name"].split(":")[0] for one in listed if one["namespace"] == NAMESPACE and ":shard:" in one["name"]})


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


def _start(module: Any, place: str, name: str, numbers: Sequence[tuple[int, int]], memory: int) -> None:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = sorted(node["NodeID"] for node in module.nodes() if node["Alive"])
    actor = module.remote(ShardActor)
    started: list[Any] = []
    for shard, replica in numbers:
        # Soft: where the node dies, Ray starts the replica elsewhere.
        where = NodeAffinitySchedulingStrategy(nodes[(shard + replica) % len(nodes)], soft=True)
        how = actor.options(
            name=_full(name, shard, replica),
            namespace=NAMESPACE,
            lifetime="detached",
            max_restarts=-1,
            max_concurrency=_THREADS,
            num_cpus=0,
            memory=memory or None,
            scheduling_strategy=where,
        )
        started.append(how.remote(place, shard).place.remote())
    try:
        module.get(started, timeout=_STARTING)
    except (module.exceptions.RayError, TimeoutError) as problem:
        for shard, replica in numbers:
            _kill(module, _full(name, shard, replica))
        raise WellreadError(f"{name} could not be deployed: {cause(problem)}") from None


def cause(problem: BaseException) -> str:
    """The last line of what Ray says: the error itself, without the way to it."""
    return str(problem).strip().splitlines()[-1] if str(problem).strip() else type(problem).__name__


def _actors(name: str) -> list[tuple[int, int]]:
    """Shards and replicas that have a name."""
    module = cast("Any", ray())
    found: list[tuple[int, int]] = []
    for one in module.util.list_named_actors(all_namespaces=True):
        index, kind, *rest = (*one["name"].split(":"), "", "")[:4]
        if one["namespace"] == NAMESPACE and index == name and kind == "shard":
            found.append((int(rest[0]), int(rest[1])))
    return sorted(found)


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
        return str(module.get(reference, timeout=0.1))
    except (module.exceptions.RayError, TimeoutError):
        return ""


def _full(name: str, shard: int, replica: int) -> str:
    return f"{name}:shard:{shard}:{replica}"


def _check_name(name: str) -> None:
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name):
        raise UsageError(f"{name!r} is no name for an index: letters, digits, '-', '_' and '.'")
