"""The steps of a build that many machines share. Each takes files of the one before it and leaves files for the next.

    read     some documents  ─► read/000012.jsonl       passages
    embed    4,096 passages  ─► shard-0003/part-….parquet  with vectors, apart by shard
    assemble one shard       ─► shards/0003/…            an index, and what makes it a shard

A step that was done is not done again, and a file is there whole or not at all: so a step can be repeated anywhere at any
time, after a machine has died or the build was stopped. Passages are embedded in the batches in which one machine would, and
the first 4,096 vectors decide the scale, so that the rows are the ones that one machine makes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from wellread.cluster import shard
from wellread.cluster.sharded import SHARDS, shard_name, shard_of
from wellread.index import texts
from wellread.index.build import BuildOptions, build
from wellread.index.dataset import About, DatasetFeed, write_part
from wellread.index.feed import BATCH, Batch, embedding_text
from wellread.index.folder import BeingWritten
from wellread.index.inputs import InputOptions, Part, passages_of
from wellread.index.manifest import replace_file
from wellread.index.quantize import SAMPLE, Floats, calibrate, check, to_bytes, to_codes
from wellread.index.write import sample
from wellread.protocols import Computed, Embedder
from wellread.text.languages import main_language
from wellread.types import Passage

BLOCK = SAMPLE  # passages of one embedding step
Maker = Callable[[], Embedder]
_made: dict[str, Embedder] = {}  # one for all steps that this process works on


@dataclass(frozen=True, slots=True)
class PartRead:
    """What came of reading a part."""

    passages: int
    documents: int
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Passages from a place in the whole on: the files they stand in, and how many come before them there."""

    number: int
    first: int  # file
    skip: int


def read(work: Path, number: int, part: Part, how: InputOptions) -> PartRead:
    """Read and cut the documents of a part."""
    done = work / "read" / f"{number:06d}.json"
    if done.exists():
        known = cast("dict[str, Any]", json.loads(done.read_bytes()))
        return PartRead(int(known["passages"]), int(known["documents"]), tuple(known["unreadable"]))
    unreadable: list[str] = []
    names: set[str] = set()
    own = InputOptions(how.splitting, how.columns, None, how.config, unreadable, how.follow_links, names)

    async def lines() -> list[bytes]:
        return [texts.encode(passage) async for passage in passages_of(part, own)]

    found = asyncio.run(lines())
    done.parent.mkdir(parents=True, exist_ok=True)
    replace_file(done.with_suffix(".jsonl"), b"".join(found))
    outcome = PartRead(len(found), len(names), tuple(unreadable))
    fields = {"passages": outcome.passages, "documents": outcome.documents, "unreadable": unreadable}
    replace_file(done, json.dumps(fields).encode())
    return outcome


def blocks(counts: Sequence[int]) -> list[Block]:
    """Where each block of passages begins, given how many each file holds."""
    found: list[Block] = []
    before, wanted = 0, 0
    for number, count in enumerate(counts):
        while wanted < before + count:
            found.append(Block(len(found), number, wanted - before))
            wanted += BLOCK
        before += count
    return found


def embed(work: Path, block: Block, shards: int, about: About, make: tuple[str, Maker]) -> tuple[float, ...]:
    """Embed a block and put its passages apart by shard; the scale, which the first block decides."""
    done = work / "embedded" / f"{block.number:06d}.json"
    if done.exists():
        return tuple(cast("list[float]", json.loads(done.read_bytes())))
    name, maker = make
    if name not in _made:
        _made[name] = maker()
        if isinstance(made := _made[name], Computed):
            made.settle()
    passages = list(_passages(work, block))
    vectors = asyncio.run(_vectors(passages, _made[name], about.dimensions))
    scale = np.asarray(about.scale, np.float32) if about.scale else calibrate(vectors)
    rows, codes = to_bytes(vectors, scale), to_codes(vectors)
    homes = np.array([shard_of(passage.document or passage.id, shards) for passage in passages])
    for number in sorted(set(homes.tolist())):
        mine = np.flatnonzero(homes == number)
        folder = work / f"shard-{shard_name(number)}"
        folder.mkdir(parents=True, exist_ok=True)
        batch = Batch([passages[place] for place in mine], rows[mine], codes[mine])
        ordinals = (block.number * BLOCK + mine).astype(np.int64)
        replace_file(folder / f"ordinals-{block.number:05d}", ordinals.tobytes())
        write_part(folder, block.number, [batch], about, scale)
    done.parent.mkdir(parents=True, exist_ok=True)
    found = tuple(float(x) for x in scale)
    replace_file(done, json.dumps(found).encode())
    return found


def assemble(work: Path, folder: Path, number: int, words: bool, language: str) -> None:
    """Make a shard of what was embedded for it."""
    home, parts = folder / SHARDS / shard_name(number), work / f"shard-{shard_name(number)}"
    done = work / "assembled" / f"{number:06d}"
    if not done.exists():
        ordinals = np.concatenate([np.fromfile(path, np.int64) for path in sorted(parts.glob("ordinals-*"))])
        options = BuildOptions(words=words, language=language, resume=True)
        _alone(lambda: asyncio.run(build(home, DatasetFeed(parts), options)))
        shard.write_beside(home, ordinals)
        done.parent.mkdir(parents=True, exist_ok=True)
        replace_file(done, b"")


def language_of_all(work: Path, counts: Sequence[int]) -> str:
    """In which the words of all shards are stemmed, by the first passages of each part that was read."""
    each = len(sample(sum(counts))) // max(1, len(counts)) + 1
    return main_language([passage.text for number in range(len(counts)) for passage in _first(work, number, each)])


def _alone(job: Callable[[], object], seconds: float = 60.0) -> None:
    """The same step may still be at its end elsewhere, after a build that was stopped."""
    until = time.monotonic() + seconds
    while True:
        try:
            job()
            return
        except BeingWritten:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _passages(work: Path, block: Block) -> Iterator[Passage]:
    left, skip = BLOCK, block.skip
    for number in range(block.first, 1 << 30):
        path = work / "read" / f"{number:06d}.jsonl"
        if not left or not path.exists():
            return
        with path.open("rb") as lines:
            for line in lines:
                if skip:
                    skip -= 1
                elif left:
                    left -= 1
                    yield texts.decode(line)


def _first(work: Path, number: int, most: int) -> list[Passage]:
    with (work / "read" / f"{number:06d}.jsonl").open("rb") as lines:
        return [texts.decode(line) for line in islice(lines, most)]


async def _vectors(passages: Sequence[Passage], embedder: Embedder, dimensions: int) -> Floats:
    """In the batches in which one machine would embed them: a vector depends a little on its batch."""
    found = [
        check(await embedder.embed([embedding_text(p) for p in passages[at : at + BATCH]], kind="passage"), dimensions)
        for at in range(0, len(passages), BATCH)
    ]
    return np.concatenate(found)
