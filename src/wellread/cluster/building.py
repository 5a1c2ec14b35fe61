"""A build on a Ray cluster: the steps as tasks. A node that dies costs the work in flight; Ray does that again elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from wellread.cluster import on_ray, sharded, steps, storage
from wellread.cluster.sharded import Sharded, ShardEntry
from wellread.cluster.steps import Block, Embedded, Maker, PartRead, Piece, file_of, of_shard
from wellread.cluster.storage import Place
from wellread.errors import IndexFault, WellreadError
from wellread.index.dataset import About, take_parts
from wellread.index.folder import BUILDING
from wellread.index.inputs import InputOptions, Part, origin, parts
from wellread.index.manifest import sealed
from wellread.index.progress import Progress, silent

_PLAN = "plan.json"
_FORMAT = 2  # of what the steps leave; 2: one file a block
_AHEAD = 2  # tasks a core that are handed to Ray at once


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built."""

    inputs: tuple[str, ...]
    how: InputOptions
    shards: int
    embedder: str
    dimensions: int
    make: Maker  # an embedder, on any node
    words: bool = True
    gpus: float = 0.0  # that an embedding task wants

    @property
    def origin(self) -> str:
        return origin(self.inputs, self.how)


@dataclass(slots=True)
class Told:
    """What was read, for the report."""

    documents: int = 0
    unreadable: list[str] = field(default_factory=list[str])


def build(where: str | Path, order: Order, progress: Progress = silent, told: Told | None = None) -> Sharded:
    """An index in shards, made by whatever nodes the connected cluster has, in a folder that all of them see or at an address."""
    module, place = on_ray.connect(), Place(where)
    with place.writing():
        embedded = _embedded(module, place, order, progress, told if told is not None else Told())
        work, pieces = embedded.work, [of_shard(embedded.blocks, number) for number in range(order.shards)]
        sharded.none_empty(pieces.count({}), order.shards)
        jobs = [(work, place, number, mine, order.words, embedded.language) for number, mine in enumerate(pieces)]
        entries: list[ShardEntry] = _run(module, steps.assemble, jobs, progress, "shards")
        made = Sharded(
            order.embedder,
            order.dimensions,
            order.words,
            tuple(steps.share_words(work, place, entries)),
            sharded.next_generation(place.content(sharded.NAME)),
            origin={"inputs": order.origin},
            language=embedded.language,
        )
        place.put(sharded.NAME, sealed(made))
        storage.tidy(place, made)
        place.remove(BUILDING)
    return made


def data_set(folder: Path, order: Order, progress: Progress = silent, told: Told | None = None) -> int:
    """An embedded data set; the number of its rows."""
    module, place = on_ray.connect(), Place(folder)
    with place.writing():
        embedded = _embedded(module, place, replace(order, shards=1), progress, told if told is not None else Told())
        made = [folder / BUILDING / file_of(number) for number in range(len(embedded.blocks))]
        for path, (piece,) in zip(made, embedded.blocks, strict=True):
            if path.exists():
                os.truncate(path, piece.end)  # what follows is for shards
        rows = take_parts(folder, made)
        place.remove(BUILDING)
    return rows


@dataclass(frozen=True, slots=True)
class _Embedded:
    """What is known when all passages have their vectors."""

    work: Place  # where they are
    blocks: Sequence[Sequence[Piece]]
    language: str


def _embedded(module: Any, place: Place, order: Order, progress: Progress, told: Told) -> _Embedded:
    work, listed = _begin(place, order)
    jobs = [(work, number, part, order.how) for number, part in enumerate(listed)]
    read: list[PartRead] = _run(module, steps.read, jobs, progress, "parts")
    told.documents += sum(part.documents for part in read)
    told.unreadable.extend(line for part in read for line in part.unreadable)
    counts = [part.passages for part in read]
    if not sum(counts):
        place.remove(BUILDING)
        raise IndexFault(f"{order.origin}: there is no passage in it")
    made = _embed(module, work, order, steps.blocks(counts), progress)
    return _Embedded(work, [block.pieces for block in made], steps.language_of_all(work, counts))


def _embed(module: Any, work: Place, order: Order, todo: Sequence[Block], progress: Progress) -> list[Embedded]:
    about = About(order.embedder, order.dimensions, order.origin)
    make = (f"{order.embedder}:{order.dimensions}", order.make)
    first = _run(module, steps.embed, [(work, todo[0], order.shards, about, make)], progress, "blocks", order.gpus)
    settled = replace(about, scale=first[0].scale)
    jobs = [(work, block, order.shards, settled, make) for block in todo[1:]]
    return [*first, *_run(module, steps.embed, jobs, progress, "blocks", order.gpus)]


def _run(
    module: Any, step: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], progress: Progress, name: str, gpus: float = 0.0
) -> list[Any]:
    """Every job once, in whatever order; results in theirs."""
    task = module.remote(step).options(max_retries=-1, num_cpus=1, num_gpus=gpus)
    waiting = list(enumerate(jobs))[::-1]
    running: dict[Any, int] = {}
    try:
        return _results(module, task, waiting, running, progress, name)
    finally:  # stopped or failed: nobody may still be writing when the build is taken up again
        for reference in running:
            module.cancel(reference)
        module.wait(list(running), num_returns=len(running), timeout=60) if running else None


def _results(
    module: Any, task: Any, waiting: list[tuple[int, tuple[Any, ...]]], running: dict[Any, int], progress: Progress, name: str
) -> list[Any]:
    found: dict[int, Any] = {}
    total = len(waiting)
    while waiting or running:
        while waiting and len(running) < max(2, int(module.cluster_resources().get("CPU", 1)) * _AHEAD):
            number, job = waiting.pop()
            running[task.remote(*job)] = number
        done, _ = module.wait(list(running), num_returns=1, timeout=5)
        for reference in done:
            number = running.pop(reference)
            try:
                found[number] = module.get(reference)
            except module.exceptions.RayTaskError as problem:
                cause = problem.cause if isinstance(problem.cause, WellreadError) else WellreadError(on_ray.cause(problem))
                raise cause from None
        progress(name, len(found), total)
    return [found[number] for number in range(total)]


def _begin(place: Place, order: Order) -> tuple[Place, list[Part]]:
    """The place of work, with what an interrupted build of the same has left there."""
    listed = parts(order.inputs, order.how, most=steps.MOST)
    work, plan = place.inside(BUILDING), _plan(order, listed)
    if work.content(_PLAN) != plan:
        place.remove(BUILDING)
        work.put(_PLAN, plan)
    return work, listed


def _plan(order: Order, listed: Iterable[Part]) -> bytes:
    """Differs where anything differs that the steps depend on."""
    digest = hashlib.sha256()
    for part in listed:
        for file, name in zip(part.files, part.names, strict=True):
            known = Path(file).stat()
            digest.update(f"{file}\0{name}\0{known.st_size}\0{known.st_mtime_ns}\n".encode("utf-8", "replace"))
    facts: Mapping[str, object] = {
        "format": _FORMAT,
        "embedder": order.embedder,
        "dimensions": order.dimensions,
        "origin": order.origin,
        "shards": order.shards,
        "words": order.words,
        "columns": asdict(order.how.columns),
        "files": digest.hexdigest(),
    }
    return json.dumps(facts, sort_keys=True).encode()
