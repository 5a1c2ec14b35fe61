"""A shard's part of a search, scored with the statistics of all shards (global BM25).

BM25 over several word indexes is the one over all of them: tantivy scores with what it knows, the shard, and a query's terms
can be weighed so that their rarity is the one of the whole, but not so that the mean length is. So candidates come from
tantivy, and their scores from here: for every passage its terms, how often each occurs and the rounded lengths of its fields
are kept beside the shard, and what all shards together know of each of its words (`share_words`), so that nobody has to be
asked before a search. Which passages tantivy could not have missed follows from how much the mean lengths differ.
"""

from __future__ import annotations

import math
import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellread.cluster.sharded import BESIDE, ORDINALS, WORDS
from wellread.errors import DamagedFile
from wellread.index import lexical
from wellread.index.blocks import mapped
from wellread.index.keys import hashed
from wellread.index.lexical import FIELDS, Words
from wellread.index.quantize import Floats
from wellread.index.rows import NOTHING, Ranked
from wellread.index.search import LocalIndex, SearchOptions, fused
from wellread.index.titles import LOOKED_AT
from wellread.questions.languages import analyser
from wellread.types import Passage

_K1, _B = 1.2, 0.75  # tantivy's
_WEIGHTS = np.array([*FIELDS.values()])
_LAST_BITS = (1 << 16) - 1
_SLACK = 50  # more candidates than are wanted, before it is known whether they are enough
_FILES: Mapping[str, Any] = {
    "vocabulary": np.uint64,  # hashes of field and word, sorted
    "numbers": np.uint32,  # of these terms
    "starts": np.int64,  # where the terms of a passage begin; one more than there are passages
    "terms": np.uint32,  # numbers, passage after passage
    "counts": np.uint16,  # how often each occurs there
    "lengths": np.uint8,  # of each field of each passage, as tantivy rounds them
    "own": np.int64,  # how many passages, and tokens of each field
    "held": np.int64,  # passages that have each term of the vocabulary
    "whole": np.int64,  # the same as `own` in all shards
    "holding": np.int64,  # the same as `held` in all shards
}
_TELLS, _IS_TOLD = ("vocabulary", "own", "held"), ("whole", "holding")  # what a part tells the whole, and the whole it
_AT_ONCE = 1 << 24  # terms whose counts are added up in one go


# the lengths that tantivy tells apart: small ones exactly, large ones to four bits
_STEPS = [bits if shift < 0 else (bits | 8) << shift for shift in range(-1, 28) for bits in range(8)]
LENGTHS = np.array([*range(24), *(24 + step for step in _STEPS)], np.int64)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The terms of a query that are known here, in the order of their numbers."""

    numbers: NDArray[np.int64]
    fields: NDArray[np.int64]  # of each term
    weights: NDArray[np.float64]
    means: NDArray[np.float64]  # lengths, by field


class SegmentWords:
    """The words of one segment, searched with the statistics of all."""

    def __init__(self, words: Words, folder: Path, rows: int) -> None:
        self._words = words
        parts = {name: mapped(folder / name, kind) for name, kind in _FILES.items()}
        self._vocabulary, self._numbers = parts["vocabulary"], parts["numbers"]
        self._starts, self._terms, self._counts = parts["starts"], parts["terms"], parts["counts"]
        if len(self._starts) != rows + 1 or len(parts["lengths"]) != rows * len(FIELDS) or len(self._terms) != len(self._counts):
            raise DamagedFile(f"{folder} is damaged: it does not fit its passages")
        self._held, self._holding = parts["held"], parts["holding"]
        sizes = {len(parts[name]) for name in ("own", "whole")}
        if not len(self._held) == len(self._holding) == len(self._vocabulary) or sizes != {1 + len(FIELDS)}:
            raise DamagedFile(f"{folder} is damaged: it does not know how frequent its words are")
        self._own, self._whole = parts["own"], parts["whole"]  # passages, and tokens of each field
        self._lengths = parts["lengths"].reshape(rows, len(FIELDS))

    def search(self, words: Sequence[str], limit: int) -> Ranked:
        """Rows and BM25 scores in the whole of at least the `limit` best passages, best first; equal ones in their order."""
        terms = [(field, word) for word in words for field in FIELDS]
        hashes = np.array([hashed("\0".join(term)) for term in terms], np.uint64)
        if not len(self._vocabulary):
            return NOTHING
        at = np.minimum(np.searchsorted(self._vocabulary, hashes), len(self._vocabulary) - 1)
        known = np.flatnonzero(self._vocabulary[at] == hashes)
        if not len(known):
            return NOTHING
        at, fields = at[known], known % len(FIELDS)
        rarities, here = _rarities(self._whole, self._holding[at]), _rarities(self._own, self._held[at])
        weights = (_WEIGHTS[fields] * rarities / here).tolist()
        parts = [(*terms[place], weight) for place, weight in zip(known.tolist(), weights, strict=True)]
        own, means = (sums[1:] / max(1, sums[0]) for sums in (self._own, self._whole))
        own[own == 0] = means[means == 0] = 1.0
        if (own == means).all():
            return self._words.weighed(parts, limit)
        numbers = self._numbers[at].astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        asked = _Asked(numbers[order], fields[order], (_WEIGHTS[fields] * rarities * (_K1 + 1))[order], means)
        # What is unseen scores at most so many times what tantivy makes of it: see the module.
        reach = max(1.0, (means / own).max()) * (1 + 1e-5)
        wanted = limit + _SLACK
        while True:
            rows, rough = self._words.best(parts, wanted)
            scores = self._scores(rows, asked)
            order = np.lexsort((rows, -scores))[:limit]
            if len(rows) < wanted or float(rough[-1]) * reach < scores[order[-1]]:
                return rows[order], scores[order]
            wanted *= 2

    def _scores(self, rows: NDArray[np.int64], asked: _Asked) -> NDArray[np.float32]:
        """BM25 of the passages that are named, in their order."""
        places, owners = self._places(rows)
        # Those that may hold one of the terms, by the last bits of their numbers: nearly all others are none.
        wanted = np.zeros(_LAST_BITS + 1, np.bool_)
        wanted[asked.numbers & _LAST_BITS] = True
        chosen = np.flatnonzero(wanted[self._terms[places] & np.uint32(_LAST_BITS)])
        places, owners = places[chosen], owners[chosen]
        held = self._terms[places]
        at = np.minimum(np.searchsorted(asked.numbers, held), len(asked.numbers) - 1)
        hit = asked.numbers[at] == held
        which, owner, count = at[hit], owners[hit], self._counts[places[hit]].astype(np.float64)
        field = asked.fields[which]
        length = LENGTHS[self._lengths[rows[owner], field]]
        damped = _K1 * (1 - _B + _B * length / asked.means[field])
        total = np.bincount(owner, asked.weights[which] * count / (count + damped), len(rows))
        return total.astype(np.float32)  # as exact as tantivy: what is equal there is equal here

    def _places(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the terms of passages stand, and whose each is."""
        begins, ends = self._starts[rows], self._starts[rows + 1]
        sizes = ends - begins
        owners = np.repeat(np.arange(len(rows)), sizes)
        offsets = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(begins, sizes) + offsets, owners


def _write_words(folder: Path, passages: Iterable[Passage], language: str) -> None:
    """Write the files of `SegmentWords` from the passages of a segment in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    analyse = analyser(language).analyze
    numbers: dict[tuple[str, str], int] = {}
    tokens: Counter[str] = Counter()
    starts = array("q", [0])
    with ExitStack() as stack:
        terms, counts, lengths = (stack.enter_context((folder / name).open("wb")) for name in ("terms", "counts", "lengths"))
        for passage in passages:
            own: list[tuple[int, int]] = []
            texts = lexical.texts(passage)
            for field in FIELDS:
                words = analyse(texts[field])
                tokens[field] += len(words)
                lengths.write(bytes([int(np.searchsorted(LENGTHS, len(words), side="right")) - 1]))
                own.extend((numbers.setdefault((field, word), len(numbers)), count) for word, count in Counter(words).items())
            own.sort()
            terms.write(np.array([number for number, _ in own], np.uint32).tobytes())
            counts.write(np.array([min(count, 65_535) for _, count in own], np.uint16).tobytes())
            starts.append(starts[-1] + len(own))
    hashes = np.array([hashed("\0".join(term)) for term in numbers], np.uint64)
    order = np.argsort(hashes)
    (folder / "vocabulary").write_bytes(hashes[order].tobytes())
    (folder / "numbers").write_bytes(order.astype(np.uint32).tobytes())
    (folder / "starts").write_bytes(starts.tobytes())
    np.array([len(starts) - 1, *(tokens[field] for field in FIELDS)], np.int64).tofile(folder / "own")
    held, every = np.zeros(len(numbers), np.int64), mapped(folder / "terms", np.uint32)  # how often each number stands there
    for start in range(0, len(every), _AT_ONCE):
        held += np.bincount(every[start : start + _AT_ONCE], minlength=len(held))
    held[order].tofile(folder / "held")


def _rarities(sums: NDArray[np.int64], holding: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of terms that so many passages of a collection hold."""
    return np.log1p((sums[0] - holding + 0.5) / (holding + 0.5))


_SPARE = 20  # passages for the case that a shard has more than its share of the best
_COLUMNS = np.dtype(
    [
        ("rows", np.int64),
        ("ordinals", np.int64),
        ("words", np.float32),
        ("meaning", np.float32),
        ("near", np.bool_),  # found by meaning, not only given its cosine
    ]
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The query that every shard is asked."""

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
    """Candidates of a shard, the most promising first: rows there and places in the whole, with scores; NaN where there is
    none. The first rows come with their passages, as they are stored."""

    table: bytes  # rows of `_COLUMNS`
    lines: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        count, rest = divmod(len(self.table), _COLUMNS.itemsize)
        if rest or len(self.lines) > count:
            raise ValueError("columns of unequal length would give passages the scores of others")

    @classmethod
    def of(cls, *columns: NDArray[Any], lines: tuple[bytes, ...] = ()) -> Candidates:
        """These columns, in the order of `_COLUMNS`."""
        return cls(np.rec.fromarrays(columns, _COLUMNS).tobytes(), lines)

    @property
    def columns(self) -> NDArray[np.void]:
        return np.frombuffer(self.table, _COLUMNS)


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
    def worded(self) -> list[SegmentWords]:
        beside = self.index.folder / BESIDE / WORDS
        return [SegmentWords(one.words, beside / one.entry.name, one.entry.rows) for one in self.index.segments]

    def candidates(self, wanted: Wanted) -> Candidates:
        """As many as the whole index would look at, by words and by meaning."""
        found = self.index.scored(self._by_words(wanted), wanted.vector, wanted.depth, wanted.options)
        # A guess at the order of the whole: of what is found here only this shard's share counts there.
        first = [row for row, _ in fused(found, wanted.share(wanted.depth), wanted.options)]
        order = np.concatenate([np.searchsorted(found.rows, first), np.flatnonzero(~np.isin(found.rows, first))])
        rows = found.rows[order]
        lines, room = list[bytes](), _MOST_BYTES
        for row in rows[: wanted.share(max(LOOKED_AT, wanted.limit))].tolist():
            line = self.index.line(row)
            if (room := room - len(line)) < 0:
                break
            lines.append(line)
        scores = (column[order] for column in (found.words, found.meaning, found.near))
        return Candidates.of(rows, self.ordinals[rows], *scores, lines=tuple(lines))

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

    def _by_words(self, wanted: Wanted) -> Ranked:
        if not wanted.words or not self.index.manifest.words:
            return NOTHING
        limit = 2 * wanted.depth
        found = (words.search(wanted.words, limit + len(self.index.removed)) for words in self.worded)
        return self.index.together(found, limit)


def write_beside(home: Path, ordinals: NDArray[np.int64]) -> None:
    """Make an index a shard, but for what it must know of the others; `ordinals` are its passages' places in the whole."""
    index = LocalIndex.open(home)
    beside = home / BESIDE
    shutil.rmtree(beside, ignore_errors=True)  # of a shard that was here before
    beside.mkdir()
    ordinals.astype(np.int64).tofile(beside / ORDINALS)
    for segment in index.segments if index.manifest.words else ():
        _write_words(beside / WORDS / segment.entry.name, segment.texts, segment.entry.language)
    index.close()


def share_words(homes: Sequence[Path]) -> None:
    """Tell all shards of an index how frequent words are in the whole."""
    folders = [folder for home in homes for folder in sorted((home / BESIDE / WORDS).glob("*"))]
    whole = sum((np.fromfile(folder / "own", np.int64) for folder in folders), np.zeros(1 + len(FIELDS), np.int64))
    for folder in folders:
        whole.tofile(folder / "whole")
        (folder / "holding").write_bytes(b"")
    vocabularies = [mapped(folder / "vocabulary", np.uint64) for folder in folders]
    pieces = 1 + sum(map(len, vocabularies)) // _AT_ONCE
    edges = [(number << 64) // pieces for number in range(1, pieces)]
    cuts = [[0, *np.searchsorted(words, np.array(edges, np.uint64)).tolist(), len(words)] for words in vocabularies]
    for piece in range(pieces):
        spans = [slice(cut[piece], cut[piece + 1]) for cut in cuts]
        hashes = np.concatenate([words[span] for words, span in zip(vocabularies, spans, strict=True)])
        held = [mapped(folder / "held", np.int64)[span] for folder, span in zip(folders, spans, strict=True)]
        known, place = np.unique(hashes, return_inverse=True)
        holding = np.bincount(place, np.concatenate(held), len(known)).astype(np.int64)[place]
        ends = np.cumsum([len(part) for part in held])[:-1]
        for folder, part in zip(folders, np.split(holding, ends), strict=True):
            with (folder / "holding").open("ab") as out:
                out.write(part.tobytes())


def copy_words(home: Path, target: Path) -> None:
    """Copy a shard's word statistics, as the same tree of files elsewhere."""
    for folder in sorted((home / BESIDE / WORDS).glob("*")):
        copied = target / BESIDE / WORDS / folder.name
        copied.mkdir(parents=True, exist_ok=True)
        for name in _TELLS:
            shutil.copyfile(folder / name, copied / name)


def told(home: Path) -> dict[str, Path]:
    """The files of `share_words`, by their names beside a shard."""
    beside = home / BESIDE
    found = [path for name in _IS_TOLD for path in sorted(beside.glob(f"{WORDS}/*/{name}"))]
    return {path.relative_to(beside).as_posix(): path for path in found}
