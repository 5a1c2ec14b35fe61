"""Hybrid search of an index: words and meaning, fused; whole documents and titles by name."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar, overload
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from wellread.core import codec
from wellread.core.unicode_safety import encodable
from wellread.core.values import frozen
from wellread.errors import DamagedFile, EmbedderError, IndexFault
from wellread.index import keys, lexical, manifest, seal
from wellread.index.coarse import THREADS, Coarse, Mode
from wellread.index.feed import embedding_text
from wellread.index.keys import Table
from wellread.index.lexical import Words
from wellread.index.manifest import Manifest
from wellread.index.quantize import Bytes, Codes, Floats, check
from wellread.index.rows import FLOATS, NOTHING, READERS, ROWS, Numbers, Ranked, Rows, in_order
from wellread.index.texts import TextStore, bounded
from wellread.index.titles import weigh_titles
from wellread.protocols import Embedder
from wellread.ranking.fusion import reciprocal_ranks
from wellread.types import Hit, Passage

T = TypeVar("T")
NONE: Mapping[int, Floats] = MappingProxyType({})
SMALL = 16 << 20  # bytes of int8 rows below which all of them are scored: no candidates, no faiss


def _part(opened: Callable[[SegmentReader], T]) -> cached_property[T]:
    """A part that is opened on first use. Anyone may have made it, and its checksums: what it cannot be is damage."""

    def read(segment: SegmentReader) -> T:
        with segment.damage():
            return opened(segment)

    return cached_property(read)


class SegmentReader:
    """A part of an index. Rows are counted from 0 here; the index adds the `base`."""

    def __init__(self, folder: Path, entry: manifest.Segment, dimensions: int, base: int = 0) -> None:
        self.folder = folder / "segments" / entry.name
        self.entry, self.base = entry, base
        self._dimensions = dimensions
        whole = entry.small
        for name, known in entry.files.items():
            try:
                size = (self.folder / name).stat().st_size
            except FileNotFoundError:
                raise DamagedFile(f"{self.folder} is damaged: {name} is missing") from None
            if size != known.bytes and not (entry.grows(name) and size > known.bytes):
                raise DamagedFile(f"{self.folder} is damaged: {name} has {size} bytes instead of {known.bytes}")
            if whole and manifest.checksum(self.folder / name, known.bytes if entry.grows(name) else None) != known:
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
        return Words.open(self.folder / lexical.FOLDER, self.entry.language)

    @contextmanager
    def damage(self) -> Generator[None]:
        """Errors of numpy and zipfile over bytes that do not fit, as damage to the index."""
        try:
            yield
        except (ValueError, LookupError, TypeError, ArithmeticError, BadZipFile, EOFError) as problem:
            raise DamagedFile(f"{self.folder} is damaged: {problem} (run: wellread index verify)") from problem

    @cached_property
    def _watch(self) -> seal.Watch:
        return seal.Watch(self.folder, self.entry.files, f"{lexical.FOLDER}/")

    def by_words(self, text: str, limit: int) -> Ranked:
        """Rows and BM25 scores, best first."""
        self._watch.check()
        with self.damage():
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
    def tables(self) -> Mapping[str, Table]:
        """Where passages are found by a field."""
        return {field: Table(self.folder / name, self._seals) for field, name in keys.TABLES.items()}

    def nearest(
        self, query: Floats, scaled: Floats, limit: int, candidates: int, mode: Mode, readers: ThreadPoolExecutor
    ) -> Ranked:
        """Rows closest in meaning with their scores, best first. `scaled` is the query for int8 rows."""
        count = self.entry.vectors
        if not count:
            return NOTHING
        if FLOATS in self.entry.files or (count * self._dimensions <= SMALL and mode != "exact"):
            return in_order((np.arange(count), self.rows.all_scores(scaled)), limit)
        with self.damage():
            found = self.coarse.candidates(query, min(candidates, count), mode, readers)
            scores = self.rows.scores(scaled, found, readers)
        return in_order((found, scores), limit)

    def find(self, field: str, name: str) -> list[int]:
        """Rows with this name in a field of their passages, confirmed against the text."""
        found: list[int] = []
        for run in self.tables[field].runs(name):
            passage = self.texts.passage(run.start)
            value = str(getattr(passage, field) or passage.id)
            if (keys.plain(value) if field == "title" else value) == name:
                found.extend(run)
        return sorted(found)


class Leaves(Sequence[Hit]):
    """In order. Whoever looks at many of them does so beside the event loop."""

    def __init__(self, rows: Sequence[int], read: Callable[[int], Hit], line: Callable[[int], bytes]) -> None:
        """`read` and `line` give a passage by its number in the index, taken apart and as it is stored."""
        self._rows = rows
        self._read = read
        self._line = line

    def holding(self, words: str) -> Iterator[int]:
        """The places of passages with these words in their text, title, id or whatever else is stored of them."""
        stored = codec.dumps(words)[1:-1].encode()
        return (place for place, row in enumerate(self._rows) if stored in self._line(row))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Leaves: ...
    def __getitem__(self, place: int | slice) -> Hit | Leaves:
        return Leaves(self._rows[place], self._read, self._line) if isinstance(place, slice) else self._read(self._rows[place])


Fusion: TypeAlias = Literal["scores", "ranks"]
MEANING_WEIGHT = 0.6  # against 0.4 for the words; chosen on ../shared/data, see docs/log/index.md
_MAX_QUERY = 20_000  # characters; the rest of a pasted book does not make the question clearer
_NAMED, _OF_A_NAME = 24, 3  # titles in a text, and passages of each
_OF_A_TITLE = 200  # passages that a cross-reference leads to at most: a book begins with what it is about


@frozen
class SearchOptions:
    """How to search. The long names are those of the published recipe."""

    mode: Mode = "default"
    similarity_search_top_k_nodes: int = 100
    similarity_search_rescore_multiplier: int = 4
    words: bool = True
    meaning: bool = True
    fusion: Fusion = "scores"
    share: float = 1.0  # of the weight that meaning has: less in a language that the embedder hardly knows


@frozen
class Found:
    """A passage by its number, with how it was found."""

    row: int
    score: float  # fused: 1 is best by words and by meaning; titles can add a little
    words: float | None = None  # BM25
    meaning: float | None = None  # cosine


@frozen
class Scored:
    """Rows with their scores, NaN where there is none: by words (BM25), by meaning (cosine); `near` were found by meaning."""

    rows: Numbers
    words: Floats
    meaning: Floats
    near: NDArray[np.bool_]


def fused(found: Scored, depth: int, options: SearchOptions) -> list[tuple[int, float]]:
    """Rows with one score, best first: of what was found, the best by words and by meaning."""
    words, meaning = found.words.astype(np.float64), found.meaning.astype(np.float64)
    worded = _best(found.rows, words, 2 * depth)
    close = _best(found.rows, np.where(found.near, meaning, np.nan), depth)
    if options.fusion == "ranks":
        return reciprocal_ranks([found.rows[chosen].tolist() for chosen in (worded, close) if len(chosen)])
    only_close = close[~np.isin(close, worded)]
    chosen = np.concatenate([worded, only_close])
    total = _weighed(
        np.concatenate([words[worded], np.zeros(len(only_close))]), len(worded), meaning[chosen], MEANING_WEIGHT * options.share
    )
    order = np.argsort(-total, kind="stable")
    return list(zip(found.rows[chosen[order]].tolist(), total[order].tolist(), strict=True))


def _weighed(words: NDArray[np.float64], worded: int, meaning: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """Each divided by the best of its kind; the first so many were found by words."""
    there = ~np.isnan(meaning)
    if not there.any():
        return np.maximum(words, 0) / _most(words)
    if not worded:
        return np.maximum(meaning, 0) / _most(meaning)
    # A passage whose vector has not been made yet is taken for as close as its words are.
    meaning = np.where(there, meaning, words * (meaning[there].max() / words[:worded].max()))
    own = (1 - weight) * np.maximum(words, 0) / _most(words[:worded])
    return own + weight * np.maximum(meaning, 0) / _most(meaning)


def _most(scores: NDArray[np.float64]) -> float:
    most = float(scores.max(initial=0.0))
    return most if most > 0 else 1.0


def _best(places: NDArray[np.int64], scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Where the highest scores stand, best first; equal ones in the order of their places."""
    there = np.flatnonzero(~np.isnan(scores))
    return there[np.lexsort((places[there], -scores[there]))[:limit]]


def _aligned(rows: Numbers, known: Numbers, scores: Floats) -> Floats:
    """Scores of known rows in the order of sorted rows, NaN where there is none."""
    found = np.full(len(rows), np.nan, np.float32)
    found[np.searchsorted(rows, known)] = scores
    return found


def as_hit(passage: Passage, score: float) -> Hit:
    """A passage of an index as what a search finds: one without a document is its own, one without end is cut."""
    return Hit.of(bounded(passage if passage.document else replace(passage, document=passage.id)), score)


def readable(query: str) -> str:
    """As much of a query as is searched for."""
    return encodable(query[:_MAX_QUERY])


async def query_vector(text: str, embedder: Embedder | None, maker: str, dimensions: int, where: str) -> Floats | None:
    """The query's vector, from the embedder that the index was built with."""
    if embedder is None or not text.strip():
        return None
    if (embedder.name, embedder.dimensions) != (maker, dimensions):
        raise IndexFault(
            f"{where} was built with the embedder {maker} ({dimensions} dimensions) "
            f"and cannot be searched with {embedder.name} ({embedder.dimensions})"
        )
    return check(await embedder.embed([text], kind="query"), dimensions)[0]


class LocalIndex:
    """An index on disk. Cheap to open: files are mapped when they are first needed."""

    def __init__(self, folder: Path, content: Manifest) -> None:
        self.folder = folder
        self.manifest = content
        self._scale: Floats = np.asarray(content.scale or np.ones(content.dimensions), np.float32)
        bases = accumulate((entry.rows for entry in content.segments), initial=0)
        self.segments = [
            SegmentReader(folder, entry, content.dimensions, base) for entry, base in zip(content.segments, bases, strict=False)
        ]

    @classmethod
    def open(cls, path: str | Path) -> LocalIndex:
        """The index in a folder; `IndexFault` or `DamagedFile` says what is wrong with it."""
        folder = Path(path)
        return cls(folder, manifest.load(folder))

    @cached_property
    def removed(self) -> frozenset[int]:
        """Numbers of forgotten passages."""
        entry = self.manifest.removed
        if entry is None:
            return frozenset()
        try:
            if manifest.checksum(self.folder / entry.name) != entry.sum:
                raise DamagedFile(f"{self.folder / entry.name} is damaged: its content has changed")
            return frozenset(int(row) for row in np.load(self.folder / entry.name))
        except (ValueError, EOFError, OSError) as problem:
            raise DamagedFile(f"{self.folder / entry.name} is damaged: {problem}") from problem

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max(READERS, THREADS), thread_name_prefix="wellread-index")

    async def search(
        self, text: str, embedder: Embedder | None, limit: int = 10, options: SearchOptions | None = None
    ) -> list[Hit]:
        """The passages that fit best, as hits that carry their text."""
        found = await self.find(text, embedder, limit, options)
        return [self.hit(item.row, item.score) for item in found]

    async def find(
        self, text: str, embedder: Embedder | None, limit: int = 10, options: SearchOptions | None = None, early: int = 0
    ) -> list[Found]:
        """The same by number and with the scores of each part.

        Of the passages that words find first, `early` get a vector for this search if they have none yet.
        """
        options = options or SearchOptions()
        text, depth = readable(text), max(limit, options.similarity_search_top_k_nodes)
        wanted = 2 * depth if options.words else 0
        worded, vector = await asyncio.gather(
            asyncio.to_thread(self.by_words, text, wanted), self._vector(text, embedder if options.meaning else None)
        )
        own: Mapping[int, Floats] = NONE
        if embedder and embedder.name == self.manifest.embedder and options.meaning and options.fusion == "scores":
            with suppress(EmbedderError):  # words find it without
                vector, own = await self._early(text, vector, worded[0][:early].tolist(), embedder)
        return await asyncio.to_thread(self._combined, text, worded, vector, own, limit, depth, options)

    async def _vector(self, text: str, embedder: Embedder | None) -> Floats | None:
        made = self.manifest
        return await query_vector(text, embedder, made.embedder, made.dimensions, str(self.folder)) if made.vectors else None

    async def _early(
        self, text: str, vector: Floats | None, rows: Sequence[int], embedder: Embedder
    ) -> tuple[Floats | None, Mapping[int, Floats]]:
        """The query's vector, and those of passages whose turn has not come: a question must not wait for all the others."""
        places = [(row, *self._place(row)) for row in rows]
        missing = [row for row, segment, local in places if local >= segment.entry.vectors]
        if not missing:
            return vector, NONE
        width = self.manifest.dimensions
        texts = await asyncio.to_thread(lambda: [embedding_text(self.passage(row)) for row in missing])
        made = check(await embedder.embed(texts, kind="passage"), width)
        if vector is None:
            vector = check(await embedder.embed([text], kind="query"), width)[0]
        return vector, dict(zip(missing, made, strict=True))

    def _combined(
        self,
        text: str,
        worded: Ranked,
        vector: Floats | None,
        early: Mapping[int, Floats],
        limit: int,
        depth: int,
        options: SearchOptions,
    ) -> list[Found]:
        found = self.scored(worded, vector, depth, options, early)
        ranked = fused(found, depth, options)
        if options.fusion != "ranks":
            ranked = weigh_titles(text, ranked, self.title, self.passage)
        ranked = ranked[:limit]
        at = np.searchsorted(found.rows, [row for row, _ in ranked])
        columns = ([None if isnan(x) else x for x in column[at].tolist()] for column in (found.words, found.meaning))
        return [Found(row, score, words, meaning) for (row, score), words, meaning in zip(ranked, *columns, strict=True)]

    def scored(
        self, worded: Ranked, vector: Floats | None, depth: int, options: SearchOptions, early: Mapping[int, Floats] = NONE
    ) -> Scored:
        """Rows that were found by words, and those near a vector, in their order with the scores of both.

        What only the words found gets its true cosine; the other way round the words' score is nearly zero.
        """
        close = NOTHING if vector is None else self.by_meaning(vector, depth, options)
        rows = np.array(sorted({*worded[0].tolist(), *close[0].tolist()}), np.int64)  # `union1d` loads masked arrays for this
        words, meaning = _aligned(rows, *worded), _aligned(rows, *close)
        near = ~np.isnan(meaning)
        if vector is not None and options.fusion == "scores":
            meaning[~near] = self.likeness(vector, rows[~near])
            for row, own in early.items():
                meaning[np.searchsorted(rows, row)] = float(own @ vector)
        return Scored(rows, words, meaning, near)

    def likeness(self, vector: Floats, rows: Numbers) -> Floats:
        """The cosines of chosen passages; NaN where one has no vector yet."""
        scaled = vector * self._scale
        found = np.full(len(rows), np.nan, np.float32)
        for segment in self.segments:
            mine = (rows >= segment.base) & (rows < segment.base + segment.entry.vectors)
            if mine.any():
                found[mine] = segment.rows.scores(scaled, rows[mine] - segment.base, self.pool)
        return found

    def by_words(self, text: str, limit: int) -> Ranked:
        """Numbers and BM25 scores, best first."""
        if limit < 1 or not self.manifest.words:
            return NOTHING
        gone = len(self.removed)
        return self.together((segment.by_words(text, limit + min(gone, segment.entry.rows)) for segment in self.segments), limit)

    def by_meaning(self, vector: Floats, limit: int, options: SearchOptions | None = None) -> Ranked:
        """Numbers and cosines, best first."""
        options = options or SearchOptions()
        scaled = vector * self._scale
        wanted = limit + min(len(self.removed), limit)
        candidates = wanted * options.similarity_search_rescore_multiplier
        asked = (vector, scaled, wanted, candidates, options.mode, self.pool)
        return self.together((segment.nearest(*asked) for segment in self.segments), limit)

    def together(self, found: Iterable[Ranked], limit: int) -> Ranked:
        """Merges the results of segments, by number, best first; without forgotten passages."""
        parts = [(rows + segment.base, scores) for segment, (rows, scores) in zip(self.segments, found, strict=True)]
        rows, scores = (np.concatenate(column) for column in zip(NOTHING, *parts, strict=True))
        if self.removed:
            kept = ~np.isin(rows, list(self.removed))
            rows, scores = rows[kept], scores[kept]
        return in_order((rows, scores), limit)

    def passage(self, row: int) -> Passage:
        """A passage by its number."""
        segment, local = self._place(row)
        return segment.texts.passage(local)

    def title(self, row: int) -> str:
        """The title of a passage."""
        segment, local = self._place(row)
        return segment.texts.title(local)

    def line(self, row: int) -> bytes:
        """A passage by its number, as it is stored."""
        segment, local = self._place(row)
        return segment.texts.line(local)

    def vector(self, row: int) -> tuple[Bytes, Codes]:
        """The vector of a passage in small, as it is stored: its row and its code."""
        segment, local = self._place(row)
        return segment.rows.stored(np.array([local])), segment.coarse.stored([local])

    def hit(self, row: int, score: float = 0.0) -> Hit:
        """A passage as a hit."""
        return as_hit(self.passage(row), score)

    def passages(self, document: str, source: str = "") -> Leaves:
        """All passages of a document, in order."""
        return Leaves(self.find_document(document), lambda row: replace(self.hit(row), source=source), self.line)

    def find_document(self, document: str) -> list[int]:
        """The numbers of a document's passages, in order."""
        return self._rows("document", document)

    def count_documents(self) -> int:
        """How many documents have a passage that was not forgotten."""
        gone = np.sort(np.fromiter(self.removed, np.int64, len(self.removed)))
        found = [segment.tables["document"].left(gone - segment.base) for segment in self.segments]
        return len(np.unique(np.concatenate(found))) if found else 0

    def find_title(self, title: str) -> list[Hit]:
        """The passages of the documents with this title, or with one that stands in it; case and accents do not matter."""
        return [self.hit(row) for row in self.find_title_rows(title)]

    def find_title_rows(self, title: str) -> list[int]:
        """The same by number, the first of them where there are many."""
        return self._rows("title", keys.plain(title))[:_OF_A_TITLE] or self._named_in(title)

    def _named_in(self, text: str) -> list[int]:
        """The first passages of the documents whose titles stand in a text, in its order, the longest title at each place."""
        possible = list(keys.possible_titles(text))
        every = list({name for names in possible for name in names})
        known = set[str]().union(*(segment.tables["title"].known(every) for segment in self.segments))
        named = dict.fromkeys(next(name for name in names if name in known) for names in possible if known.intersection(names))
        return [row for name in list(named)[:_NAMED] for row in self._rows("title", name)[:_OF_A_NAME]]

    def find_id(self, identity: str) -> list[int]:
        """The number of the passage with this id."""
        return self._rows("id", identity)

    def close(self) -> None:
        """End the threads; maps go with the object."""
        for segment in self.segments:
            segment.close()
        if "pool" in self.__dict__:
            self.pool.shutdown(wait=False)

    def _place(self, row: int) -> tuple[SegmentReader, int]:
        segment = self.segments[bisect_right(self.segments, row, key=lambda segment: segment.base) - 1]
        return segment, row - segment.base

    def _rows(self, field: str, name: str) -> list[int]:
        found = (one.base + row for one in self.segments for row in one.find(field, name))
        return [row for row in found if row not in self.removed]
