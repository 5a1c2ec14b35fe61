"""Shards as Ray actors: detached, named, restarted by Ray, R replicas of a shard on different nodes.

Their names say all there is to know: NAME:shard:NUMBER:REPLICA. Whoever connects finds them by name, so there is no
directory that could be lost. The replicas of a shard are bundles of one placement group, which keeps them on different
nodes; where a node dies, Ray moves its bundle to another one and starts the replica there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from wellread.cluster import storage
from wellread.cluster.actors import NAMESPACE, THREADS, EvaluatorActor, RayReplica, ShardActor, find, ray
from wellread.cluster.merged import Member, MergedIndex
from wellread.cluster.replicas import Known, Patience, ReplicatedShard
from wellread.errors import IndexFault, UsageError, WellreadError

_SHARE = 0.01  # of a core that a replica claims: what it uses is decided by the traffic, not by Ray
_STARTING = 120.0  # seconds that a replica has to open its shard


def connect(address: str | None = None) -> Any:
    """Ray, connected to a cluster that is running; the one of RAY_ADDRESS or of this machine unless named."""
    module = ray()
    if not module.is_initialized():
        try:
            module.init(address=address or "auto", namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as problem:
            where = address or os.environ.get("RAY_ADDRESS") or "this machine"
            raise WellreadError(f"there is no Ray cluster at {where} (start one with: ray start --head): {problem}") from None
    return module


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
    _start(module, name, [*_shards(place, name, len(content.shards), range(replicas)), *_evaluators(name, range(evaluators))])
    return status(name)


def scale(name: str, replicas: int | None = None, evaluators: int | None = None) -> Deployed:
    """So many replicas of each shard, and so many evaluators, from now on."""
    module = connect()
    known = _actors(name)
    if not known:
        raise UsageError(f"{name} is not deployed here")
    wanted: list[_Wanted] = []
    old: list[tuple[int, int]] = []
    if replicas is not None:
        place = _place(module, name, known)
        first, old = 1 + max(replica for _, replica in known), known
        wanted += _shards(place, name, len(storage.load(place).shards), range(first, first + replicas))
    if evaluators is not None:
        there = _evaluator_numbers(name)
        wanted += _evaluators(name, [number for number in range(evaluators) if number not in there])
        for number in there:
            if number >= evaluators:
                _kill(module, f"{name}:evaluator:{number}")
    _start(module, name, wanted)
    _end(module, name, old)  # only now: whoever searches always finds some
    return status(name)


def stop(name: str) -> int:
    """End all its actors; how many there were."""
    module = connect()
    shards, thinking = _actors(name), _evaluator_numbers(name)
    _end(module, name, shards)
    for number in thinking:
        _kill(module, f"{name}:evaluator:{number}")
    return len(shards) + len(thinking)


def status(name: str) -> Deployed:
    """Where its replicas are now."""
    module = connect()
    known = _actors(name)
    if not known:
        raise UsageError(f"{name} is not deployed here")
    thinking = _evaluator_numbers(name)
    asked = {key: find(_full(name, *key)).node.remote() for key in known}
    also = [find(f"{name}:evaluator:{number}").node.remote() for number in thinking]
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
    if not _evaluator_numbers(name):
        raise UsageError(f"{name} has no evaluators: start some with `wellread cluster scale {name} --evaluators N`")
    return ReplicatedShard("evaluators", Known(partial(_evaluator_names, name), RayReplica))


def open_index(name: str, address: str | None = None, patience: Patience | None = None) -> MergedIndex:
    """A deployed index, to be searched."""
    module = connect(address)
    known = _actors(name)
    if not known:
        there = ", ".join(names()) or "none"
        raise IndexFault(f"no index {name} is deployed in this cluster (there is: {there}); see: wellread cluster deploy")
    content = storage.load(_place(module, name, known))
    members = [
        Member(
            entry.name, entry.passages, ReplicatedShard(entry.name, Known(partial(_replicas, name, number), RayReplica), patience)
        )
        for number, entry in enumerate(content.shards)
    ]
    return MergedIndex(members, content.embedder, content.dimensions, content.language)


def _evaluator_names(name: str) -> list[str]:
    return [f"{name}:evaluator:{number}" for number in _evaluator_numbers(name)]


def _replicas(name: str, shard: int) -> list[str]:
    return [_full(name, number, replica) for number, replica in _actors(name) if number == shard]


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
        _Wanted(_full(name, shard, replica), ShardActor, (place, shard), THREADS, f"{name}:group:{shard}:{replicas.start}")
        for shard in range(count)
        for replica in replicas
    ]


def _evaluators(name: str, numbers: Iterable[int]) -> list[_Wanted]:
    return [_Wanted(f"{name}:evaluator:{number}", EvaluatorActor, ("normal",), 1) for number in numbers]


def _start(module: Any, name: str, wanted: Sequence[_Wanted]) -> None:
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
        module.get(started, timeout=_STARTING)
    except (module.exceptions.RayError, TimeoutError) as problem:
        for one in wanted:
            _kill(module, one.full)
        for group in {one.group for one in wanted if one.group}:
            _remove_group(module, group)
        raise WellreadError(f"{name} could not be deployed: {cause(problem)}") from None


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


def _end(module: Any, name: str, numbers: Sequence[tuple[int, int]]) -> None:
    """End replicas and give their places back."""
    for number in numbers:
        _kill(module, _full(name, *number))
    for shard in {shard for shard, _ in numbers}:
        first = min(replica for other, replica in numbers if other == shard)
        _remove_group(module, f"{name}:group:{shard}:{first}")


def _remove_group(module: Any, group: str) -> None:
    with suppress(ValueError):  # there is none
        module.util.remove_placement_group(module.util.get_placement_group(group))


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
    listed = ray().util.list_named_actors(all_namespaces=True)
    return [one["name"].split(":") for one in listed if one["namespace"] == NAMESPACE and ":" in one["name"]]


def _kill(module: Any, full: str) -> None:
    with suppress(ValueError):  # it has died by itself
        module.kill(find(full), no_restart=True)


def _place(module: Any, name: str, known: Sequence[tuple[int, int]]) -> str:
    """Where the shards lie, as any replica says."""
    for shard, replica in known:
        try:
            return str(module.get(find(_full(name, shard, replica)).place.remote(), timeout=10))
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
