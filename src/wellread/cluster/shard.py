"""One shard's part of a search: what it would contribute if it were the whole, scored as the whole would."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.cluster import words
from wellread.cluster.sharded import BESIDE, ORDINALS, WORDS
from wellread.cluster.words import SegmentWords
from wellread.errors import DamagedFile
from wellread.index.quantize import Floats
from wellread.index.search import MEANING_WEIGHT, NOTHING, LocalIndex, SearchOptions
from wellread.index.titles import LOOKED_AT

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


_Scored: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float32]]  # rows with their scores, best first
_MOST_BYTES = 80_000  # of passages in one answer: Ray sends what is under 100 kB with the answer, and more by a detour of 4 ms


class Shard:
    """An index with what it must know of its place among the others."""

    def __init__(self, folder: Path) -> None:
        self.index = LocalIndex.open(folder)
        try:
            self.ordinals = np.fromfile(folder / BESIDE / ORDINALS, np.int64)
        except OSError as problem:
            raise DamagedFile(f"{folder} is no shard of an index: {problem.strerror}: {BESIDE}/{ORDINALS}") from problem
        if len(self.ordinals) != self.index.manifest.rows:
            raise DamagedFile(f"{folder} is damaged: it does not know the places of all its passages")

    @cached_property
    def worded(self) -> list[tuple[int, SegmentWords]]:
        found: list[tuple[int, SegmentWords]] = []
        base = 0
        for segment in self.index.segments:
            place = self.index.folder / BESIDE / WORDS / segment.entry.name
            found.append((base, SegmentWords(segment.words, place, segment.entry.rows)))
            base += segment.entry.rows
        return found

    def candidates(self, wanted: Wanted) -> Candidates:
        """As many as the whole index would look at, by words and by meaning."""
        found = self.index.scored(self._by_words(wanted), wanted.vector, wanted.depth, wanted.options)
        words, meaning, near = found.words, found.meaning, found.near
        order = _most_promising(words, meaning, near, wanted)
        rows = found.rows[order]
        lines = self._first_lines(rows[: wanted.share(max(LOOKED_AT, wanted.limit))].tolist())
        return Candidates.of(rows, self.ordinals[rows], words[order], meaning[order], near[order], lines)

    def lines(self, rows: Sequence[int]) -> list[bytes]:
        """Passages as they are stored."""
        return [self.index.line(row) for row in rows]

    def document(self, name: str) -> list[tuple[int, bytes]]:
        """All passages of a document with their places in the whole."""
        return self._placed(self.index.find_document(name))

    def titled(self, title: str) -> list[tuple[int, bytes]]:
        return self._placed(self.index.find_title_rows(title))

    def close(self) -> None:
        self.index.close()

    def _placed(self, rows: Sequence[int]) -> list[tuple[int, bytes]]:
        return [(int(self.ordinals[row]), self.index.line(row)) for row in rows]

    def _first_lines(self, rows: Sequence[int]) -> tuple[bytes, ...]:
        found: list[bytes] = []
        room = _MOST_BYTES
        for row in rows:
            line = self.index.line(row)
            room -= len(line)
            if room < 0:
                break
            found.append(line)
        return tuple(found)

    def _by_words(self, wanted: Wanted) -> _Scored:
        if not wanted.words or not self.index.manifest.words:
            return NOTHING
        limit, removed = 2 * wanted.depth, self.index.removed
        found = [(base, *segment.search(wanted.words, limit + len(removed))) for base, segment in self.worded]
        rows = np.concatenate([base + part for base, part, _ in found])
        scores = np.concatenate([part for *_, part in found])
        if removed:
            kept = ~np.isin(rows, list(removed))
            rows, scores = rows[kept], scores[kept]
        order = np.lexsort((rows, -scores))[:limit]
        return rows[order], scores[order]


def _most_promising(
    words: NDArray[np.float32], meaning: NDArray[np.float32], near: NDArray[np.bool_], wanted: Wanted
) -> NDArray[np.int64]:
    """A guess at the order of the whole: of what is found here by words or by meaning only this shard's share counts there."""
    by_words = _best(words, wanted.share(2 * wanted.depth))
    by_meaning = _best(np.where(near, meaning, np.nan), wanted.share(wanted.depth)) | (by_words & ~np.isnan(meaning))
    total = np.zeros(len(words))
    for scores, counts, weight in ((words, by_words, 1 - MEANING_WEIGHT), (meaning, by_meaning, MEANING_WEIGHT)):
        kept = np.where(counts, scores, 0.0)
        total += weight * np.maximum(kept, 0) / max(float(kept.max(initial=0.0)), 1e-9)
    return np.argsort(-total, kind="stable")


def _best(scores: NDArray[np.float32], count: int) -> NDArray[np.bool_]:
    """Which are the best, where there is a score."""
    there = ~np.isnan(scores)
    if there.sum() > count:
        there &= scores >= np.partition(scores[there], -count)[-count]
    return there


def write_beside(home: Path, ordinals: NDArray[np.int64]) -> None:
    """What makes an index a shard, but for what it must know of the others; `ordinals` are its passages' places in the whole."""
    index = LocalIndex.open(home)
    beside = home / BESIDE
    shutil.rmtree(beside, ignore_errors=True)  # of a shard that was here before
    beside.mkdir()
    ordinals.astype(np.int64).tofile(beside / ORDINALS)
    for segment in index.segments if index.manifest.words else ():
        words.write(beside / WORDS / segment.entry.name, segment.texts, segment.entry.language)
    index.close()


def share_words(homes: Sequence[Path]) -> None:
    """Tell all shards of an index how frequent words are in the whole."""
    words.share([folder for home in homes for folder in sorted((home / BESIDE / WORDS).glob("*"))])


def copy_words(home: Path, target: Path) -> None:
    """What a shard tells the others of its words, as the same tree of files elsewhere."""
    for folder in sorted((home / BESIDE / WORDS).glob("*")):
        copied = target / BESIDE / WORDS / folder.name
        copied.mkdir(parents=True, exist_ok=True)
        for name in words.TELLS:
            shutil.copyfile(folder / name, copied / name)


def told(home: Path) -> dict[str, Path]:
    """The files of `share_words`, by their names beside a shard."""
    beside = home / BESIDE
    found = [path for name in words.IS_TOLD for path in sorted(beside.glob(f"{WORDS}/*/{name}"))]
    return {path.relative_to(beside).as_posix(): path for path in found}
