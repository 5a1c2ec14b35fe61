"""Shards as Ray actors: detached, named, restarted by Ray, R replicas of a shard on different nodes.

Their names say all there is to know: NAME:shard:NUMBER:REPLICA. Whoever connects finds them by name, so there is no
directory that could be lost. The replicas of a shard are bundles of one placement group, which keeps them on different
nodes; where a node dies, Ray moves its bundle to another one and starts the replica there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from wellread.cluster import sharded
from wellread.cluster.actors import NAMESPACE, THREADS, EvaluatorActor, RayReplica, ShardActor, find, ray
from wellread.cluster.merged import MergedIndex
from wellread.cluster.replicas import Patience, ReplicaLost, ReplicatedShard
from wellread.cluster.sharded import is_address
from wellread.errors import IndexFault, UsageError, WellreadError

_SHARD, _EVALUATOR = "shard", "evaluator"  # kinds of actors, in their names
_SHARE = 0.01  # of a core that a replica claims: what it uses is decided by the traffic, not by Ray
_REACHING = 5.0  # seconds
_ANSWERING = 5.0
_STARTING = 120.0  # that a replica has to open its shard
_FETCHING = 3_600.0  # and to fetch it before


def connect(address: str | None = None) -> Any:
    """Ray, connected to a cluster that is running; the one of RAY_ADDRESS or of this machine unless named."""
    module = ray()
    if not module.is_initialized():
        where = address or os.environ.get("RAY_ADDRESS") or "auto"
        _check_reachable(where)
        try:
            module.init(address=where, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as problem:
            raise WellreadError(_why_not(where, problem)) from None
    return module


def _check_reachable(where: str) -> None:
    """Ray itself tries for minutes, says nothing that helps, and cannot be stopped meanwhile."""
    host, _, port = where.rpartition("://")[2].rpartition(":")
    if where in ("auto", "local"):
        return
    if not host or not port.isdigit():
        raise UsageError(f"{where!r} is no address of a Ray cluster: HOST:PORT, as `ray start --head` says it (usually 6379)")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACHING).close()
    except (OSError, OverflowError) as problem:
        raise WellreadError(f"nobody answers at {where} ({problem}): is Ray started there (ray start --head)?") from None


def _why_not(where: str, problem: Exception) -> str:
    if "Ray expects this IP address" in str(problem):
        return f"this machine is no node of the cluster at {where}: let it join (ray start --address {where} --num-cpus 0)"
    if where not in ("auto", "local"):  # somebody answers there: that was tried
        return f"what answers at {where} does not let us in (is it Ray, and is its token known here?): {cause(problem)}"
    return f"there is no Ray cluster on this machine (start one with: ray start --head): {cause(problem)}"


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
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name):
        raise UsageError(f"{name!r} is no name for an index: letters, digits, '-', '_' and '.'")
    content = sharded.load(place)
    if _actors(name, _SHARD):
        raise UsageError(f"{name} is deployed already: change it with `wellread cluster scale`, or stop it first")
    wanted = [*_shards(place, name, len(content.shards), range(replicas)), *_evaluators(name, range(evaluators))]
    _start(module, name, wanted, _time_for(place))
    return status(name)


def scale(name: str, replicas: int | None = None, evaluators: int | None = None) -> Deployed:
    """So many replicas of each shard, and so many evaluators, from now on."""
    module = connect()
    known, there = _deployed(name), _actors(name, _EVALUATOR)
    place, wanted = _place(module, name, known), list[_Wanted]()
    if replicas is not None:
        first = 1 + max(replica for _, replica in known)
        wanted += _shards(place, name, len(sharded.load(place).shards), range(first, first + replicas))
    if evaluators is not None:
        wanted += _evaluators(name, [number for number in range(evaluators) if (number,) not in there])
        _end(module, name, _EVALUATOR, [one for one in there if one[0] >= evaluators])
    _start(module, name, wanted, _time_for(place))
    _end(module, name, _SHARD, known if replicas is not None else [])  # only now: whoever searches always finds some
    return status(name)


def stop(name: str) -> int:
    """End all its actors; how many there were."""
    module = connect()
    return sum(_end(module, name, kind, _actors(name, kind)) for kind in (_SHARD, _EVALUATOR))


def status(name: str) -> Deployed:
    """Where its replicas are now."""
    module = connect()
    known, thinking = _deployed(name), _actors(name, _EVALUATOR)
    fulls = [_full(name, kind, *one) for kind, some in ((_SHARD, known), (_EVALUATOR, thinking)) for one in some]
    found = _nodes(module, fulls)
    nodes: dict[int, list[str]] = {}
    for (shard, _), node in zip(known, found, strict=False):
        nodes.setdefault(shard, []).append(node)
    return Deployed(name, _place(module, name, known), nodes, found[len(known) :])


def names() -> list[str]:
    """The indexes that are deployed."""
    connect()
    return sorted({index for index, kind, *_ in _named() if kind == _SHARD})


def evaluators(name: str, address: str | None = None) -> ReplicatedShard:
    """The evaluators of a deployed index: whoever is least busy answers."""
    connect(address)
    if not _actors(name, _EVALUATOR):
        raise UsageError(f"{name} has no evaluators: start some with `wellread cluster scale {name} --evaluators N`")
    return ReplicatedShard("evaluators", partial(_replicas, name, _EVALUATOR), RayReplica)


def open_index(name: str, address: str | None = None, patience: Patience | None = None) -> MergedIndex:
    """A deployed index, to be searched."""
    module = connect(address)
    known = _actors(name, _SHARD)
    if not known:
        there = ", ".join(names()) or "none"
        raise IndexFault(f"no index {name} is deployed in this cluster (there is: {there}); see: wellread cluster deploy")
    content = sharded.load(_place(module, name, known))
    peers = [
        ReplicatedShard(entry.name, partial(_replicas, name, _SHARD, number), RayReplica, patience)
        for number, entry in enumerate(content.shards)
    ]
    return MergedIndex(content, peers)


def _replicas(name: str, kind: str, *first: int) -> list[str]:
    try:
        return [_full(name, kind, *one) for one in _actors(name, kind) if one[: len(first)] == first]
    except (ray().exceptions.RayError, RuntimeError, ConnectionError) as problem:
        raise ReplicaLost(f"Ray does not say who is there: {cause(problem)}") from None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An actor that is to be started."""

    full: str
    kind: type
    arguments: tuple[object, ...]
    threads: int
    group: str = ""  # those of one group are kept on different nodes


def _shards(place: str, name: str, count: int, replicas: range) -> list[_Wanted]:
    return [
        _Wanted(
            _full(name, _SHARD, shard, replica), ShardActor, (place, shard), THREADS, f"{name}:group:{shard}:{replicas.start}"
        )
        for shard in range(count)
        for replica in replicas
    ]


def _evaluators(name: str, numbers: Iterable[int]) -> list[_Wanted]:
    return [_Wanted(_full(name, _EVALUATOR, number), EvaluatorActor, ("normal",), 1) for number in numbers]


def _time_for(place: str) -> float:
    return _FETCHING if is_address(place) else _STARTING


def _start(module: Any, name: str, wanted: Sequence[_Wanted], seconds: float) -> None:
    started: list[Any] = []
    try:
        placed = _placed(module, wanted)
        for one in wanted:
            how = module.remote(one.kind).options(
                name=one.full,
                namespace=NAMESPACE,
                lifetime="detached",
                max_restarts=-1,
                max_concurrency=one.threads,
                num_cpus=_SHARE if one.group else 0,
                scheduling_strategy=placed[one.full] if one.group else "SPREAD",
            )
            started.append(how.remote(*one.arguments).node.remote())
        module.get(started, timeout=seconds)
    except (module.exceptions.RayError, TimeoutError) as problem:
        for one in wanted:
            _kill(module, one.full)
        for group in {one.group for one in wanted if one.group}:
            _remove_group(module, group)
        late = isinstance(problem, TimeoutError)
        why = f"not all of its replicas were ready within {seconds:g} s" if late else cause(problem)
        raise WellreadError(f"{name} could not be deployed: {why}") from None


def _placed(module: Any, wanted: Sequence[_Wanted]) -> dict[str, Any]:
    """A place for each replica, on different nodes as far as there are enough."""
    from ray.util.placement_group import placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    nodes = sum(bool(node["Alive"]) for node in module.nodes())
    members: dict[str, list[str]] = {}
    for one in wanted:
        if one.group:
            members.setdefault(one.group, []).append(one.full)
    places: dict[str, Any] = {}
    groups: list[Any] = []
    for name, fulls in members.items():
        strategy = "STRICT_SPREAD" if len(fulls) <= nodes else "SPREAD"
        group = cast("Any", placement_group)([{"CPU": _SHARE}] * len(fulls), strategy=strategy, name=name, lifetime="detached")
        groups.append(group.ready())
        for number, full in enumerate(fulls):
            places[full] = PlacementGroupSchedulingStrategy(group, number)
    module.get(groups, timeout=_STARTING)
    return places


def _end(module: Any, name: str, kind: str, numbers: Sequence[tuple[int, ...]]) -> int:
    """End actors and give their places back; how many."""
    for one in numbers:
        _kill(module, _full(name, kind, *one))
    for shard in {shard for shard, *_ in numbers} if kind == _SHARD else ():
        first = min(replica for other, replica in numbers if other == shard)
        _remove_group(module, _full(name, "group", shard, first))
    return len(numbers)


def _remove_group(module: Any, group: str) -> None:
    with suppress(ValueError):  # there is none
        module.util.remove_placement_group(module.util.get_placement_group(group))


def cause(problem: BaseException) -> str:
    """The last line of what Ray says: the error itself, without the way to it."""
    return str(problem).strip().splitlines()[-1] if str(problem).strip() else type(problem).__name__


def _actors(name: str, kind: str) -> list[tuple[int, ...]]:
    """Of one kind, those that have a name: shard and replica, or an evaluator's number."""
    return sorted(tuple(map(int, rest)) for index, other, *rest in _named() if (index, other) == (name, kind))


def _deployed(name: str) -> list[tuple[int, ...]]:
    if known := _actors(name, _SHARD):
        return known
    raise UsageError(f"{name} is not deployed here")


def _named() -> list[list[str]]:
    """The names of all our actors, taken apart."""
    listed = ray().util.list_named_actors(all_namespaces=True)
    return [one["name"].split(":") for one in listed if one["namespace"] == NAMESPACE and ":" in one["name"]]


def _kill(module: Any, full: str) -> None:
    with suppress(ValueError):  # it has died by itself
        module.kill(find(full), no_restart=True)


def _place(module: Any, name: str, known: Sequence[tuple[int, ...]]) -> str:
    """Where the shards lie, as any replica says."""
    for one in known:
        try:
            return str(module.get(find(_full(name, _SHARD, *one)).place.remote(), timeout=10))
        except (module.exceptions.RayError, TimeoutError, ValueError):
            continue
    raise IndexFault(f"none of the {len(known)} replicas of {name} answers")


def _nodes(module: Any, fulls: Sequence[str]) -> list[str]:
    """Where actors are; "" for those that do not say so within seconds, all of them together."""
    asked: dict[str, Any] = {}
    for full in fulls:
        with suppress(ValueError):  # it has gone since it was listed
            asked[full] = find(full).node.remote()
    ready: set[Any] = set(module.wait(list(asked.values()), num_returns=len(asked), timeout=_ANSWERING)[0]) if asked else set()
    found = dict.fromkeys(fulls, "")
    for full, reference in asked.items():
        with suppress(module.exceptions.RayError):
            found[full] = str(module.get(reference)) if reference in ready else ""
    return list(found.values())


def _full(name: str, kind: str, *numbers: int) -> str:
    return ":".join([name, kind, *map(str, numbers)])
