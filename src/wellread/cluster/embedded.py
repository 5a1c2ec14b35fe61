"""What was embedded, between the steps of a build: one file a block, in it a data set for each shard, one after the other.

A file for each block and each shard would be millions of them, which neither a shared disk nor an object store likes. So a
shard is made of pieces of files; where each is stands in what the step that wrote them has told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from wellread.cluster.places import Place
from wellread.cluster.sharded import shard_name
from wellread.index.dataset import About, made_of, part_of, read_part
from wellread.index.feed import Batch
from wellread.index.quantize import Floats


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
    for (shard, mine), content in zip(chosen.items(), contents, strict=True):
        pieces.append(Piece(shard, start, len(content), len(mine), places))
        start, places = start + len(content), places + 8 * len(mine)
    ordinals = [(first + mine).astype(np.int64).tobytes() for mine in chosen.values()]
    return b"".join([*contents, *ordinals]), tuple(pieces)


class PiecesFeed:
    """All that was embedded for a shard, in the order of the blocks, as the feed of its index."""

    def __init__(self, work: Place, shard: int, pieces: Mapping[int, Piece]) -> None:
        self._work, self._pieces = work, dict(sorted(pieces.items()))
        about = made_of(BytesIO(self._content(min(pieces))))
        self.embedder, self.dimensions = about.embedder, about.dimensions
        self.scale: Floats | None = np.asarray(about.scale, np.float32)
        self.origin = f"{sum(piece.rows for piece in pieces.values())} passages of {about.origin}, shard {shard_name(shard)}"

    async def batches(self, skip: int, scale: Floats | None) -> AsyncIterator[Batch]:
        for block, piece in self._pieces.items():
            if skip >= piece.rows:
                skip -= piece.rows
                continue
            for batch in self._batches(block, skip):
                yield batch
            skip = 0

    def ordinals(self) -> NDArray[np.int64]:
        """The place of each of its passages in the whole."""
        found = (self._work.part(file_of(block), piece.places, 8 * piece.rows) for block, piece in self._pieces.items())
        return np.concatenate([np.frombuffer(one, np.int64) for one in found])

    def _batches(self, block: int, skip: int) -> Iterator[Batch]:
        return read_part(BytesIO(self._content(block)), self.dimensions, skip, file_of(block))

    def _content(self, block: int) -> bytes:
        piece = self._pieces[block]
        return self._work.part(file_of(block), piece.start, piece.size)


def of_shard(blocks: Sequence[Sequence[Piece]], shard: int) -> dict[int, Piece]:
    """The pieces of a shard, by the numbers of their blocks."""
    return {number: piece for number, pieces in enumerate(blocks) for piece in pieces if piece.shard == shard}
