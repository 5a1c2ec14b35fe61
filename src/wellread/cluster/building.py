"""Distributed indexing: a build on a Ray cluster, in steps that many machines share. Each takes files of the one before it.

    read     some documents  ─► read/000012.jsonl       passages
    embed    a block of them ─► embedded/000007.parts    with vectors, apart by shard
    assemble one shard       ─► shards/0003/…            an index, and what makes it a shard

A step that was done is not done again, and a file is there whole or not at all: so Ray can repeat a step anywhere at any time,
after a machine has died or the build was stopped. Passages are embedded in the batches in which one machine would, and the
first 4,096 vectors decide the scale, so that the rows are the ones that one machine makes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import stamina
from numpy.typing import NDArray

from wellread.cluster import on_ray, shard, sharded
from wellread.cluster.sharded import BESIDE, SHARDS, Place, Sharded, ShardEntry, entry_of, shard_name, shard_of
from wellread.core import codec
from wellread.errors import IndexFault, WellreadError
from wellread.index import texts
from wellread.index.build import BuildOptions
from wellread.index.build import build as build_index
from wellread.index.dataset import About, EmbeddedFeed, Part, made_of, part_of, take_parts
from wellread.index.feed import Batch, EmbeddingFeed, streamed
from wellread.index.folder import BUILDING, BeingWritten
from wellread.index.following import passages
from wellread.index.inputs import InputOptions, Item, origin, parts
from wellread.index.manifest import checksum
from wellread.index.progress import Progress, silent
from wellread.index.quantize import SAMPLE, Floats
from wellread.index.write import sample
from wellread.protocols import Embedder
from wellread.questions.languages import main_language
from wellread.types import Passage


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a block for one shard: a data set of so many rows from a byte on, and from another their places in the whole."""

    shard: int
    start: int
    size: int
    rows: int
    places: int

    @property
    def end(self) -> int:
        return self.start + self.size


def file_of(block: int) -> str:
    return f"embedded/{block:06d}.parts"


def packed(batch: Batch, homes: NDArray[np.int64], first: int, about: About, scale: Floats) -> tuple[bytes, tuple[Piece, ...]]:
    """A block, apart by the shards that its passages belong to, and where what is; its first passage is so far into the whole."""
    chosen = {int(shard): np.flatnonzero(homes == shard) for shard in np.unique(homes)}
    contents = [
        part_of([Batch([batch.passages[at] for at in mine.tolist()], batch.rows[mine], batch.codes[mine])], about, scale)
        for mine in chosen.values()
    ]
    pieces: list[Piece] = []
    start, places = 0, sum(map(len, contents))
    for (home, mine), content in zip(chosen.items(), contents, strict=True):
        pieces.append(Piece(home, start, len(content), len(mine), places))
        start, places = start + len(content), places + 8 * len(mine)
    ordinals = [(first + mine).astype(np.int64).tobytes() for mine in chosen.values()]
    return b"".join([*contents, *ordinals]), tuple(pieces)


class PiecesFeed(EmbeddedFeed):
    """All that was embedded for a shard, in the order of the blocks."""

    def __init__(self, work: Place, shard: int, pieces: Mapping[int, Piece]) -> None:
        self._work, self._pieces = work, dict(sorted(pieces.items()))
        about = made_of(self._content(min(pieces)))
        self.embedder, self.dimensions = about.embedder, about.dimensions
        self.scale = np.asarray(about.scale, np.float32)
        self.origin = f"{sum(piece.rows for piece in pieces.values())} passages of {about.origin}, shard {shard_name(shard)}"

    def parts(self) -> Iterator[Part]:
        return (Part(piece.rows, partial(self._content, block), file_of(block)) for block, piece in self._pieces.items())

    def ordinals(self) -> NDArray[np.int64]:
        """The place of each of its passages in the whole."""
        found = (self._work.part(file_of(block), piece.places, 8 * piece.rows) for block, piece in self._pieces.items())
        return np.concatenate([np.frombuffer(one, np.int64) for one in found])

    def _content(self, block: int) -> BytesIO:
        piece = self._pieces[block]
        return BytesIO(self._work.part(file_of(block), piece.start, piece.size))


def of_shard(blocks: Sequence[Sequence[Piece]], shard: int) -> dict[int, Piece]:
    """The pieces of a shard, by the numbers of their blocks."""
    return {number: piece for number, pieces in enumerate(blocks) for piece in pieces if piece.shard == shard}


BLOCK = SAMPLE  # passages of one embedding step, or several times as many
MOST = 8_192  # embedding steps, about: each leaves two files
Maker = Callable[[], Embedder]
_COUNTED = "words"  # what shards tell each other of theirs
_made: dict[str, Embedder] = {}  # one for all steps that this process works on
# the same step may still be at its end elsewhere, after a build that was stopped
_while_written = partial(stamina.retry_context, BeingWritten, attempts=None, timeout=60.0, wait_max=0.5, wait_jitter=0.0)


@dataclass(frozen=True, slots=True)
class PartRead:
    """Outcome of reading a part."""

    passages: int
    documents: int
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedded:
    """Outcome of embedding a block: the scale, which the first one decides, and what it has for which shard."""

    scale: tuple[float, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Passages from a place in the whole on: the files they stand in, and how many come before them there."""

    number: int
    place: int
    size: int
    first: int  # file
    skip: int


def read(work: Place, number: int, part: Sequence[Item], how: InputOptions) -> PartRead:
    """Read and cut the documents of a part."""
    done = f"read/{number:06d}.json"
    if (raw := work.content(done)) is not None:
        return codec.loads(PartRead, raw)
    unreadable: list[str] = []
    names: set[str] = set()
    own = InputOptions(how.splitting, how.columns, None, how.config, unreadable, how.follow_links, names)

    async def lines() -> list[bytes]:
        return [texts.encode(passage) async for passage in passages((), own, part)]

    found = asyncio.run(lines())
    outcome = PartRead(len(found), len(names), tuple(unreadable))
    work.put(_lines_of(number), b"".join(found))
    work.put(done, codec.dumps(outcome).encode())
    return outcome


def blocks(counts: Sequence[int]) -> list[Block]:
    """Where each block of passages begins, given how many each file holds. All wait for the first one, which is small."""
    size = BLOCK * max(1, -(-sum(counts) // (BLOCK * MOST)))
    found: list[Block] = []
    before, wanted = 0, 0
    for number, count in enumerate(counts):
        while wanted < before + count:
            found.append(Block(len(found), wanted, size if found else BLOCK, number, wanted - before))
            wanted += found[-1].size
        before += count
    return found


def embed(work: Place, block: Block, shards: int, about: About, make: tuple[str, Maker]) -> Embedded:
    """Embed a block and put its passages apart by shard."""
    done = f"embedded/{block.number:06d}.json"
    if (raw := work.content(done)) is not None:
        return codec.loads(Embedded, raw)
    passages = list(_passages(work, block))
    scale, batch = asyncio.run(_in_small(passages, _embedder(*make), about))
    homes = np.array([shard_of(passage.document or passage.id, shards) for passage in passages])
    content, pieces = packed(batch, homes, block.place, about, scale)
    work.put(file_of(block.number), content)
    outcome = Embedded(tuple(float(x) for x in scale), pieces)
    work.put(done, codec.dumps(outcome).encode())
    return outcome


def assemble(work: Place, place: Place, number: int, pieces: Mapping[int, Piece], words: bool, language: str) -> ShardEntry:
    """Make a shard of what was embedded for it. What it tells the others of its words is laid aside for `share_words`."""
    name, done = shard_name(number), f"assembled/{number:06d}.json"
    if (raw := work.content(done)) is not None:
        return codec.loads(ShardEntry, raw)
    feed = PiecesFeed(work, number, pieces)
    with place.made(f"{SHARDS}/{name}") as home:
        options = BuildOptions(words=words, language=language, resume=True)
        for attempt in _while_written():
            with attempt:
                asyncio.run(build_index(home, feed, options))
        shard.write_beside(home, feed.ordinals())
        work.remove(f"{_COUNTED}/{name}")  # an interrupted run's own may be of other segments, and half written
        with work.made(f"{_COUNTED}/{name}") as aside:
            shard.copy_words(home, aside)
        entry = entry_of(home, name)
    work.put(done, codec.dumps(entry).encode())
    return entry


def share_words(work: Place, place: Place, entries: Sequence[ShardEntry]) -> list[ShardEntry]:
    """Tell all shards how frequent words are in the whole; what they are from then on."""
    found: list[ShardEntry] = []
    with work.fetched(_COUNTED) as counted:
        shard.share_words([counted / entry.name for entry in entries])
        for entry in entries:
            told = shard.told(counted / entry.name)
            for name, path in told.items():
                place.put(f"{SHARDS}/{entry.name}/{BESIDE}/{name}", path.read_bytes())
            sums = {name: checksum(path) for name, path in told.items()}
            found.append(replace(entry, beside={**entry.beside, **sums}))
    return found


def language_of_all(work: Place, counts: Sequence[int]) -> str:
    """In which the words of all shards are stemmed, by the first passages of each part that was read."""
    each = len(sample(sum(counts))) // max(1, len(counts)) + 1
    lines = (line for number in range(len(counts)) for line in islice(work.lines(_lines_of(number)), each))
    return main_language([texts.decode(line).text for line in lines])


def _embedder(name: str, make: Maker) -> Embedder:
    if name not in _made:
        _made[name] = make()
    return _made[name]


def _lines_of(number: int) -> str:
    return f"read/{number:06d}.jsonl"


def _passages(work: Place, block: Block) -> Iterator[Passage]:
    left, skip = block.size, block.skip
    for number in range(block.first, 1 << 30):
        try:
            for line in islice(work.lines(_lines_of(number)), skip, skip + left):
                left -= 1
                yield texts.decode(line)
        except FileNotFoundError:
            return  # that was the last
        skip = 0
        if not left:
            return


async def _in_small(passages: Sequence[Passage], embedder: Embedder, about: About) -> tuple[Floats, Batch]:
    """The scale, and all passages with their vectors; in the batches of one machine: a vector depends a little on its batch."""
    feed = EmbeddingFeed(lambda: streamed(passages), embedder, about.origin)
    batches = [batch async for batch in feed.batches(0, np.asarray(about.scale, np.float32) if about.scale else None)]
    assert feed.scale is not None
    rows, codes = (np.concatenate(parts) for parts in zip(*((one.rows, one.codes) for one in batches), strict=True))
    return feed.scale, Batch(passages, rows, codes)


_FORMAT = 2  # of what the steps leave; 2: one file a block
_AHEAD = 2  # tasks a core that are handed to Ray at once


@dataclass(frozen=True, slots=True)
class Order:
    """Build order: inputs, shards, embedder."""

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
    """Counts for the report: documents, and files that could not be read."""

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
        entries: list[ShardEntry] = _run(module, assemble, jobs, progress, "shards")
        made = Sharded(
            order.embedder,
            order.dimensions,
            order.words,
            tuple(share_words(work, place, entries)),
            origin={"inputs": order.origin},
            language=embedded.language,
        )
        return sharded.finish(place, made)


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
    """Outcome of all embedding steps."""

    work: Place  # where they are
    blocks: Sequence[Sequence[Piece]]
    language: str


def _embedded(module: Any, place: Place, order: Order, progress: Progress, told: Told) -> _Embedded:
    listed = parts(order.inputs, order.how, most=MOST)
    work = place.begun(_plan(order, listed))
    jobs = [(work, number, part, order.how) for number, part in enumerate(listed)]
    done: list[PartRead] = _run(module, read, jobs, progress, "parts")
    told.documents += sum(part.documents for part in done)
    told.unreadable.extend(line for part in done for line in part.unreadable)
    counts = [part.passages for part in done]
    if not sum(counts):
        place.remove(BUILDING)
        raise IndexFault(f"{order.origin}: there is no passage in it")
    todo, about = blocks(counts), About(order.embedder, order.dimensions, order.origin)
    make = (f"{order.embedder}:{order.dimensions}", order.make)
    made: list[Embedded] = _run(module, embed, [(work, todo[0], order.shards, about, make)], progress, "blocks", order.gpus)
    settled = replace(about, scale=made[0].scale)
    rest = [(work, block, order.shards, settled, make) for block in todo[1:]]
    made += _run(module, embed, rest, progress, "blocks", order.gpus)
    return _Embedded(work, [block.pieces for block in made], language_of_all(work, counts))


def _run(
    module: Any, step: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], progress: Progress, name: str, gpus: float = 0.0
) -> list[Any]:
    """Every job once, in whatever order; results in theirs."""
    task = module.remote(step).options(max_retries=-1, num_cpus=1, num_gpus=gpus)
    waiting, running, found = iter(enumerate(jobs)), dict[Any, int](), dict[int, Any]()
    try:
        while len(found) < len(jobs):
            most = max(2, int(module.cluster_resources().get("CPU", 1)) * _AHEAD)
            running |= {task.remote(*job): number for number, job in islice(waiting, max(0, most - len(running)))}
            done, _ = module.wait(list(running), num_returns=1, timeout=5)
            found |= {running.pop(reference): _result(module, reference) for reference in done}
            progress(name, len(found), len(jobs))
    finally:  # stopped or failed: nobody may still be writing when the build is taken up again
        for reference in running:
            module.cancel(reference)
        module.wait(list(running), num_returns=len(running), timeout=60) if running else None
    return [found[number] for number in range(len(jobs))]


def _result(module: Any, reference: Any) -> Any:
    try:
        return module.get(reference)
    except module.exceptions.RayTaskError as problem:
        raise problem.cause if isinstance(problem.cause, WellreadError) else WellreadError(on_ray.cause(problem)) from None


def _plan(order: Order, listed: Iterable[Sequence[Item]]) -> bytes:
    """Differs where anything differs that the steps depend on."""
    digest = hashlib.sha256()
    for part in listed:
        for item in part:
            known = Path(item.path or "").stat()
            digest.update(f"{item.path}\0{item.name}\0{known.st_size}\0{known.st_mtime_ns}\n".encode("utf-8", "replace"))
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
