"""The steps of a build that many machines share. Each takes files of the one before it and leaves files for the next.

    read     some documents  ─► read/000012.jsonl       passages
    embed    a block of them ─► embedded/000007.parts    with vectors, apart by shard
    assemble one shard       ─► shards/0003/…            an index, and what makes it a shard

A step that was done is not done again, and a file is there whole or not at all: so a step can be repeated anywhere at any
time, after a machine has died or the build was stopped. Passages are embedded in the batches in which one machine would, and
the first 4,096 vectors decide the scale, so that the rows are the ones that one machine makes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from wellread import codec
from wellread.cluster import shard
from wellread.cluster.sharded import BESIDE, SHARDS, ShardEntry, entry_of, shard_name, shard_of
from wellread.cluster.storage import Place
from wellread.index import texts
from wellread.index.build import BuildOptions, build
from wellread.index.dataset import About, made_of, part_of, read_part
from wellread.index.feed import BATCH, Batch, Feed, embedding_text
from wellread.index.folder import BeingWritten
from wellread.index.inputs import InputOptions, Part, passages_of
from wellread.index.manifest import checksum
from wellread.index.quantize import SAMPLE, Bytes, Codes, Floats, calibrate, check, to_bytes, to_codes
from wellread.index.write import sample
from wellread.protocols import Computed, Embedder
from wellread.questions.languages import main_language
from wellread.types import Passage


@dataclass(frozen=True, slots=True)
class Piece:
    """What a block has for a shard: a data set of so many rows from a byte on, and from another their places in the whole."""

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


class PiecesFeed(Feed):
    """All that was embedded for a shard, in the order of the blocks, as the feed of its index."""

    def __init__(self, work: Place, shard: int, pieces: Mapping[int, Piece]) -> None:
        self._work, self._pieces = work, dict(sorted(pieces.items()))
        about = made_of(BytesIO(self._content(min(pieces))))
        self.embedder, self.dimensions = about.embedder, about.dimensions
        self.scale = np.asarray(about.scale, np.float32)
        self.origin = f"{sum(piece.rows for piece in pieces.values())} passages of {about.origin}, shard {shard_name(shard)}"

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        for block, piece in self._pieces.items():
            if skip >= piece.rows:
                skip -= piece.rows
                continue
            for batch in read_part(BytesIO(self._content(block)), self.dimensions, skip, file_of(block)):
                yield batch
            skip = 0

    def ordinals(self) -> NDArray[np.int64]:
        """The place of each of its passages in the whole."""
        found = (self._work.part(file_of(block), piece.places, 8 * piece.rows) for block, piece in self._pieces.items())
        return np.concatenate([np.frombuffer(one, np.int64) for one in found])

    def _content(self, block: int) -> bytes:
        piece = self._pieces[block]
        return self._work.part(file_of(block), piece.start, piece.size)


def of_shard(blocks: Sequence[Sequence[Piece]], shard: int) -> dict[int, Piece]:
    """The pieces of a shard, by the numbers of their blocks."""
    return {number: piece for number, pieces in enumerate(blocks) for piece in pieces if piece.shard == shard}


BLOCK = SAMPLE  # passages of one embedding step, or several times as many
MOST = 8_192  # embedding steps, about: each leaves two files
Maker = Callable[[], Embedder]
_COUNTED = "words"  # what shards tell each other of theirs
_made: dict[str, Embedder] = {}  # one for all steps that this process works on


@dataclass(frozen=True, slots=True)
class PartRead:
    """What came of reading a part."""

    passages: int
    documents: int
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Embedded:
    """What came of embedding a block: the scale, which the first one decides, and what it has for which shard."""

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


def read(work: Place, number: int, part: Part, how: InputOptions) -> PartRead:
    """Read and cut the documents of a part."""
    done = f"read/{number:06d}.json"
    if (raw := work.content(done)) is not None:
        return codec.loads(PartRead, raw)
    unreadable: list[str] = []
    names: set[str] = set()
    own = InputOptions(how.splitting, how.columns, None, how.config, unreadable, how.follow_links, names)

    async def lines() -> list[bytes]:
        return [texts.encode(passage) async for passage in passages_of(part, own)]

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
    scale, rows, codes = asyncio.run(_vectors(passages, _embedder(*make), about))
    homes = np.array([shard_of(passage.document or passage.id, shards) for passage in passages])
    content, pieces = packed(Batch(passages, rows, codes), homes, block.place, about, scale)
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
        _alone(lambda: asyncio.run(build(home, feed, options)))
        shard.write_beside(home, feed.ordinals())
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


def _embedder(name: str, make: Maker) -> Embedder:
    if name not in _made:
        _made[name] = make()
        if isinstance(made := _made[name], Computed):
            made.settle()
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


def _first(work: Place, number: int, most: int) -> list[Passage]:
    return [texts.decode(line) for line in islice(work.lines(_lines_of(number)), most)]


async def _vectors(passages: Sequence[Passage], embedder: Embedder, about: About) -> tuple[Floats, Bytes, Codes]:
    """The scale, and vectors in small; in the batches of one machine: a vector depends a little on its batch."""
    scale = np.asarray(about.scale, np.float32) if about.scale else None
    rows: list[Bytes] = []
    codes: list[Codes] = []
    for start in range(0, len(passages), BLOCK):
        some = passages[start : start + BLOCK]
        batches = [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
        texts = [[embedding_text(passage) for passage in batch] for batch in batches]
        vectors = np.concatenate([check(await embedder.embed(text, kind="passage"), about.dimensions) for text in texts])
        scale = calibrate(vectors) if scale is None else scale
        rows.append(to_bytes(vectors, scale))
        codes.append(to_codes(vectors))
    assert scale is not None
    return scale, np.concatenate(rows), np.concatenate(codes)
