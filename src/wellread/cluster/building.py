"""A build on a Ray cluster: the steps as tasks. A node that dies costs the work in flight; Ray does that again elsewhere."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from wellread.cluster import on_ray, shard, sharded, steps
from wellread.cluster.sharded import Sharded
from wellread.cluster.steps import Maker, PartRead
from wellread.errors import IndexFault, WellreadError
from wellread.index.dataset import About, take_parts
from wellread.index.folder import BUILDING, disk_errors, start_over, writing
from wellread.index.inputs import InputOptions, Part, origin, parts
from wellread.index.manifest import replace_file
from wellread.index.progress import Progress, silent

_PLAN = "plan.json"
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


def build(folder: Path, order: Order, progress: Progress = silent, told: Told | None = None) -> Sharded:
    """An index in shards, made by whatever nodes the connected cluster has. The folder must be one that all of them see."""
    module = on_ray.connect()
    with disk_errors(folder), writing(folder):
        work, language = _embedded(module, folder, order, progress, told if told is not None else Told())
        missing = [n for n in range(order.shards) if not (work / f"shard-{sharded.shard_name(n)}").is_dir()]
        sharded.none_empty(len(missing), order.shards)
        jobs = [(work, folder, number, order.words, language) for number in range(order.shards)]
        _run(module, steps.assemble, jobs, progress, "shards")
        shard.share_words([folder / sharded.SHARDS / sharded.shard_name(number) for number in range(order.shards)])
        entries = _run(module, sharded.entry_of, [(folder, number) for number in range(order.shards)], progress, "checksums")
        made = Sharded(
            order.embedder,
            order.dimensions,
            order.words,
            tuple(entries),
            sharded.next_generation(folder),
            origin={"inputs": order.origin},
            language=language,
        )
        sharded.save(folder, made)
        sharded.tidy(folder, made)
        shutil.rmtree(work, ignore_errors=True)
    return made


def data_set(folder: Path, order: Order, progress: Progress = silent, told: Told | None = None) -> int:
    """An embedded data set; the number of its rows."""
    module = on_ray.connect()
    with disk_errors(folder), writing(folder):
        one = replace(order, shards=1)
        work, _ = _embedded(module, folder, one, progress, told if told is not None else Told())
        rows = take_parts(folder, work / f"shard-{sharded.shard_name(0)}")
        shutil.rmtree(work, ignore_errors=True)
    return rows


def _embedded(module: Any, folder: Path, order: Order, progress: Progress, told: Told) -> tuple[Path, str]:
    """All passages with their vectors, apart by shard, in the place of work; and their language."""
    work, listed = _begin(folder, order)
    read = _run(module, steps.read, [(work, n, part, order.how) for n, part in enumerate(listed)], progress, "parts")
    told.documents += sum(part.documents for part in read)
    told.unreadable.extend(line for part in read for line in part.unreadable)
    if not sum(part.passages for part in read):
        shutil.rmtree(work, ignore_errors=True)
        raise IndexFault(f"{order.origin}: there is no passage in it")
    _embed(module, work, order, read, progress)
    return work, steps.language_of_all(work, [part.passages for part in read])


def _embed(module: Any, work: Path, order: Order, read: Sequence[PartRead], progress: Progress) -> None:
    about = About(order.embedder, order.dimensions, order.origin)
    todo = steps.blocks([part.passages for part in read])
    make = (f"{order.embedder}:{order.dimensions}", order.make)
    first = _run(module, steps.embed, [(work, todo[0], order.shards, about, make)], progress, "blocks", order.gpus)
    settled = replace(about, scale=first[0])
    _run(module, steps.embed, [(work, block, order.shards, settled, make) for block in todo[1:]], progress, "blocks", order.gpus)


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


def _begin(folder: Path, order: Order) -> tuple[Path, list[Part]]:
    """The place of work, with what an interrupted build of the same has left there."""
    listed = parts(order.inputs, order.how)
    work, plan = folder / BUILDING, _plan(order, listed)
    known = work / _PLAN
    if not known.exists() or known.read_bytes() != plan:
        replace_file(start_over(work) / _PLAN, plan)
    return work, listed


def _plan(order: Order, listed: Iterable[Part]) -> bytes:
    """Differs where anything differs that the steps depend on."""
    digest = hashlib.sha256()
    for part in listed:
        for file, name in zip(part.files, part.names, strict=True):
            known = Path(file).stat()
            digest.update(f"{file}\0{name}\0{known.st_size}\0{known.st_mtime_ns}\n".encode("utf-8", "replace"))
    facts: Mapping[str, object] = {
        "embedder": order.embedder,
        "dimensions": order.dimensions,
        "origin": order.origin,
        "shards": order.shards,
        "words": order.words,
        "columns": asdict(order.how.columns),
        "files": digest.hexdigest(),
    }
    return json.dumps(facts, sort_keys=True).encode()
