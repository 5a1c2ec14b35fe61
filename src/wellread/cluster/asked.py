"""What a shard is asked and what it answers, and both as they travel: pickled as they are they would cost three times as much,
for each shard of each query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wellread.index.quantize import Floats
from wellread.index.search import SearchOptions

_options = attrgetter(*(field.name for field in fields(SearchOptions)))
_SPARE = 20  # passages for the case that a shard has more than its share of the best


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every shard is asked."""

    words: tuple[str, ...]  # none: not by words
    vector: Floats | None  # none: not by meaning
    depth: int
    options: SearchOptions
    shards: int
    limit: int

    def share(self, count: int) -> int:
        """How many of the best in the whole one shard has: rarely more."""
        expected = count / self.shards
        return math.ceil(expected + min(_SPARE, 4 * math.sqrt(expected)))

    def __reduce__(self) -> tuple[Any, ...]:
        vector = None if self.vector is None else self.vector.astype(np.float32).tobytes()
        return _wanted, (self.words, vector, self.depth, _options(self.options), self.shards, self.limit)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a shard has found, the most promising first: rows there and places in the whole, with scores; NaN where there is
    none. The first rows come with their passages, as they are stored."""

    rows: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    words: NDArray[np.float32]
    meaning: NDArray[np.float32]
    near: NDArray[np.bool_]  # found by meaning, not only given its cosine
    lines: tuple[bytes, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        columns = (self.rows, self.ordinals, self.words, self.meaning, self.near)
        return _candidates, (len(self.rows), b"".join([column.tobytes() for column in columns]), self.lines)


def are_candidates(said: object) -> bool:
    """Whether an answer is one: columns of unequal length would give passages the scores of others."""
    if not isinstance(said, Candidates):
        return False
    columns = (said.rows, said.ordinals, said.words, said.meaning, said.near)
    return len({len(column) for column in columns}) == 1 and len(said.lines) <= len(said.rows) and are_lines(said.lines)


def are_lines(said: object) -> bool:
    return isinstance(said, Sequence) and all(isinstance(line, bytes) for line in cast("Sequence[object]", said))


def are_placed(said: object) -> bool:
    """Passages with their places in the whole."""
    if not isinstance(said, Sequence):
        return False
    pairs = cast("Sequence[Any]", said)
    return all(isinstance(one, tuple) and list(map(type, cast("tuple[Any, ...]", one))) == [int, bytes] for one in pairs)


def _wanted(
    words: tuple[str, ...], vector: bytes | None, depth: int, options: tuple[Any, ...], shards: int, limit: int
) -> Wanted:
    floats = None if vector is None else np.frombuffer(vector, np.float32)
    return Wanted(words, floats, depth, SearchOptions(*options), shards, limit)


def _candidates(count: int, columns: bytes, lines: tuple[bytes, ...]) -> Candidates:
    rows, ordinals = np.frombuffer(columns, np.int64, 2 * count).reshape(2, count)
    words, meaning = np.frombuffer(columns, np.float32, 2 * count, 16 * count).reshape(2, count)
    return Candidates(rows, ordinals, words, meaning, np.frombuffer(columns, np.bool_, count, 24 * count), lines)
