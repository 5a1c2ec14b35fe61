"""One segment opened for reading: every file on first use, everything from memory maps."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile

import numpy as np

from wellread.errors import DamagedFile
from wellread.index import checks, keys, lexical, manifest, seal
from wellread.index.coarse import Coarse, Mode
from wellread.index.keys import Table
from wellread.index.lexical import Words
from wellread.index.quantize import Floats
from wellread.index.rows import FLOATS, ROWS, Numbers, Rows, best
from wellread.index.seal import VECTORS
from wellread.index.texts import TextStore

T = TypeVar("T")
SMALL = 16 << 20  # bytes of int8 rows below which all of them are scored: no candidates, no faiss


def _part(opened: Callable[[SegmentReader], T]) -> cached_property[T]:
    """A part that is opened on first use. Anyone may have made it, and its checksums: what it cannot be is damage."""

    def read(segment: SegmentReader) -> T:
        with segment.damage():
            return opened(segment)

    return cached_property(read)


class SegmentReader:
    """A part of an index. Rows are counted from 0 here; the index adds its base."""

    def __init__(self, folder: Path, entry: manifest.Segment, dimensions: int) -> None:
        self.folder = folder / "segments" / entry.name
        self.entry = entry
        self._dimensions = dimensions
        whole = checks.small(entry.files)
        for name, known in entry.files.items():
            try:
                size = (self.folder / name).stat().st_size
            except FileNotFoundError:
                raise DamagedFile(f"{self.folder} is damaged: {name} is missing") from None
            growing = entry.growing and name in VECTORS  # then more of it may stand there than the manifest knows of
            if size != known.bytes and not (growing and size > known.bytes):
                raise DamagedFile(f"{self.folder} is damaged: {name} has {size} bytes instead of {known.bytes}")
            if whole and manifest.checksum(self.folder / name, known.bytes if growing else None) != known:
                raise DamagedFile(f"{self.folder} is damaged: the content of {name} has changed (run: wellread index verify)")

    @_part
    def texts(self) -> TextStore:
        return TextStore(self.folder, self.entry.rows, self._seals)

    @_part
    def rows(self) -> Rows:
        name = FLOATS if FLOATS in self.entry.files else ROWS
        return Rows(self.folder / name, self.entry.vectors, self._dimensions, self._seals)

    @_part
    def words(self) -> Words:
        return Words(self.folder / lexical.FOLDER, self.entry.language)

    @contextmanager
    def damage(self) -> Generator[None]:
        """What numpy and zipfile say of bytes that do not fit, as what it means here."""
        try:
            yield
        except (ValueError, LookupError, TypeError, ArithmeticError, BadZipFile, EOFError) as problem:
            raise DamagedFile(f"{self.folder} is damaged: {problem} (run: wellread index verify)") from problem

    @cached_property
    def _watch(self) -> seal.Watch:
        return seal.Watch(self.folder, self.entry.files, f"{lexical.FOLDER}/")

    def by_words(self, text: str, limit: int) -> list[tuple[int, float]]:
        """(row, BM25 score), best first."""
        self._watch.check()
        return self.words.search(text, limit)

    def close(self) -> None:
        """End what runs in the background."""
        self._watch.close()

    def _seals(self, name: str) -> Path | None:
        return seal.sums(self.folder, self.entry.files, name)

    @_part
    def coarse(self) -> Coarse:
        return Coarse(self.folder, self.entry.vectors, self.entry.lists, self._dimensions, self._seals)

    @_part
    def ids(self) -> Table:
        return Table(self.folder / keys.IDS, self._seals)

    @_part
    def documents(self) -> Table:
        return Table(self.folder / keys.DOCUMENTS, self._seals)

    @_part
    def titles(self) -> Table:
        return Table(self.folder / keys.TITLES, self._seals)

    def nearest(
        self, query: Floats, scaled: Floats, limit: int, candidates: int, mode: Mode, readers: ThreadPoolExecutor
    ) -> tuple[Numbers, Floats]:
        """Rows closest in meaning with their scores, best first. `scaled` is the query for int8 rows."""
        count = self.entry.vectors
        if not count:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        if FLOATS in self.entry.files or (count * self._dimensions <= SMALL and mode != "exact"):
            scores = self.rows.all_scores(scaled)
            chosen = best(scores, limit)
            return chosen, scores[chosen]
        with self.damage():
            found = self.coarse.candidates(query, min(candidates, count), mode, readers)
            scores = self.rows.scores(scaled, found, readers)
        order = np.lexsort((found, -scores))[:limit]
        return found[order], scores[order]

    def find(self, table: Table, name: str, key: str) -> list[int]:
        """Rows under a name, confirmed against the text; `key` is the passage's field."""
        found: list[int] = []
        for run in table.runs(name):
            passage = self.texts.passage(run.start)
            value = str(getattr(passage, key) or passage.id)
            if (keys.plain(value) if key == "title" else value) == name:
                found.extend(run)
        return sorted(found)
