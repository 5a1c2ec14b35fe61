"""One shard's part of a search: what it would contribute if it were the whole, scored as the whole would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellread.cluster import words
from wellread.cluster.sharded import BESIDE, ORDINALS, WORDS
from wellread.cluster.words import SegmentWords, Statistics, Term
from wellread.errors import DamagedFile
from wellread.index.lexical import FIELDS
from wellread.index.quantize import Floats
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Hit


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every shard is asked."""

    terms: tuple[Term, ...]  # none: not by words
    statistics: Statistics | None  # of all shards
    vector: Floats | None  # none: not by meaning
    depth: int
    options: SearchOptions


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a shard has found: rows there and places in the whole, with scores; NaN where there is none."""

    rows: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    words: NDArray[np.float32]
    meaning: NDArray[np.float32]
    near: NDArray[np.bool_]  # found by meaning, not only given its cosine


class Shard:
    """An index with what it must know of its place among the others."""

    def __init__(self, folder: Path) -> None:
        self.index = LocalIndex.open(folder)
        try:
            self._ordinals = np.fromfile(folder / BESIDE / ORDINALS, np.int64)
        except OSError as problem:
            raise DamagedFile(f"{folder} is no shard of an index: {problem.strerror}: {BESIDE}/{ORDINALS}") from problem
        if len(self._ordinals) != self.index.manifest.rows:
            raise DamagedFile(f"{folder} is damaged: it does not know the places of all its passages")

    @cached_property
    def _worded(self) -> list[tuple[int, SegmentWords]]:
        found: list[tuple[int, SegmentWords]] = []
        base = 0
        for segment in self.index.segments:
            place = self.index.folder / BESIDE / WORDS / segment.entry.name
            found.append((base, SegmentWords(segment.words, place, segment.entry.rows)))
            base += segment.entry.rows
        return found

    def statistics(self, terms: Sequence[Term]) -> Statistics:
        """Of this shard."""
        total = Statistics(0, dict.fromkeys(FIELDS, 0), {})
        for _, segment in self._worded if self.index.manifest.words else ():
            total += segment.statistics(terms)
        return total

    def candidates(self, wanted: Wanted) -> Candidates:
        """As many as the whole index would look at, by words and by meaning."""
        worded = self._by_words(wanted)
        near = self._by_meaning(wanted)
        cosines = dict(near)
        if wanted.vector is not None and wanted.options.fusion == "scores":
            cosines |= self.index.cosines(wanted.vector, [row for row in worded if row not in cosines])
        rows = np.array(sorted({*worded, *cosines}), np.int64)
        listed = rows.tolist()
        return Candidates(
            rows,
            self._ordinals[rows],
            np.array([worded.get(row, np.nan) for row in listed], np.float32),
            np.array([cosines.get(row, np.nan) for row in listed], np.float32),
            np.array([row in near for row in listed], np.bool_),
        )

    def hits(self, rows: Sequence[int]) -> list[Hit]:
        return [self.index.hit(int(row)) for row in rows]

    def document(self, name: str) -> list[tuple[int, Hit]]:
        """All passages of a document with their places in the whole."""
        return self._placed(self.index.find_document(name))

    def titled(self, title: str) -> list[tuple[int, Hit]]:
        return self._placed(self.index.find_title_rows(title))

    def close(self) -> None:
        self.index.close()

    def _placed(self, rows: Sequence[int]) -> list[tuple[int, Hit]]:
        return [(int(self._ordinals[row]), self.index.hit(row)) for row in rows]

    def _by_words(self, wanted: Wanted) -> dict[int, float]:
        if not wanted.terms or wanted.statistics is None:
            return {}
        limit, removed = 2 * wanted.depth, self.index.removed
        found = [
            (base + row, score)
            for base, segment in self._worded
            for row, score in segment.search(wanted.terms, wanted.statistics, limit + len(removed))
            if base + row not in removed
        ]
        return dict(sorted(found, key=lambda item: (-item[1], item[0]))[:limit])

    def _by_meaning(self, wanted: Wanted) -> Mapping[int, float]:
        if wanted.vector is None:
            return {}
        return dict(self.index.by_meaning(wanted.vector, wanted.depth, wanted.options))


def write_beside(home: Path, ordinals: NDArray[np.int64]) -> None:
    """What makes an index a shard; `ordinals` are the places of its passages in the whole."""
    index = LocalIndex.open(home)
    beside = home / BESIDE
    beside.mkdir(exist_ok=True)
    ordinals.astype(np.int64).tofile(beside / ORDINALS)
    for segment in index.segments if index.manifest.words else ():
        words.write(beside / WORDS / segment.entry.name, segment.texts)
    index.close()
