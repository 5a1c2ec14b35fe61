"""What a shard is asked and what it answers; columns of numbers travel as the bytes that they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wellread.index.quantize import Floats
from wellread.index.search import SearchOptions

_SPARE = 20  # passages for the case that a shard has more than its share of the best
_ROW = 25  # bytes of the columns for each row


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every shard is asked."""

    words: tuple[str, ...]  # none: not by words
    meaning: bytes | None  # the vector, in float32; none: not by meaning
    depth: int
    options: SearchOptions
    shards: int
    limit: int

    @property
    def vector(self) -> Floats | None:
        return None if self.meaning is None else np.frombuffer(self.meaning, np.float32)

    def share(self, count: int) -> int:
        """How many of the best in the whole one shard has: rarely more."""
        expected = count / self.shards
        return math.ceil(expected + min(_SPARE, 4 * math.sqrt(expected)))


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a shard has found, the most promising first: rows there and places in the whole, with scores; NaN where there is
    none. The first rows come with their passages, as they are stored."""

    count: int
    columns: bytes
    lines: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 0 or len(self.columns) != _ROW * self.count or len(self.lines) > self.count:
            raise ValueError("columns of unequal length would give passages the scores of others")

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        ordinals: NDArray[np.int64],
        words: NDArray[np.float32],
        meaning: NDArray[np.float32],
        near: NDArray[np.bool_],
        lines: tuple[bytes, ...] = (),
    ) -> Candidates:
        return cls(len(rows), b"".join([column.tobytes() for column in (rows, ordinals, words, meaning, near)]), lines)

    @property
    def rows(self) -> NDArray[np.int64]:
        return np.frombuffer(self.columns, np.int64, self.count)

    @property
    def ordinals(self) -> NDArray[np.int64]:
        return np.frombuffer(self.columns, np.int64, self.count, 8 * self.count)

    @property
    def words(self) -> NDArray[np.float32]:
        return np.frombuffer(self.columns, np.float32, self.count, 16 * self.count)

    @property
    def meaning(self) -> NDArray[np.float32]:
        return np.frombuffer(self.columns, np.float32, self.count, 20 * self.count)

    @property
    def near(self) -> NDArray[np.bool_]:
        """Found by meaning, not only given its cosine."""
        return np.frombuffer(self.columns, np.bool_, self.count, 24 * self.count)
