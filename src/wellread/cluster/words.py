"""BM25 over several word indexes as over one: document frequencies and mean lengths are those of all of them.

tantivy scores with what it knows: the shard. A query's terms can be weighed so that their rarity is the one of the
whole, but not so that the mean length is. So candidates come from tantivy, and their scores from here: for every passage
its terms, how often each occurs and the rounded lengths of its fields are kept beside the shard, and what all shards
together know of each of its words (`share`), so that nobody has to be asked before a search. Which passages tantivy
could not have missed follows from how much the mean lengths differ.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellread.errors import DamagedFile
from wellread.index import lexical
from wellread.index.lexical import FIELDS, Words
from wellread.index.search import NOTHING
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
TELLS, IS_TOLD = ("vocabulary", "own", "held"), ("whole", "holding")  # what a part tells the whole, and the whole it
_AT_ONCE = 1 << 24  # terms whose counts are added up in one go


def _rounded_lengths() -> NDArray[np.int64]:
    """The lengths that tantivy tells apart: small ones exactly, large ones to four bits."""
    steps = [bits if shift < 0 else (bits | 8) << shift for shift in range(-1, 28) for bits in range(8)]
    return np.array([*range(24), *(24 + step for step in steps)], np.int64)


LENGTHS = _rounded_lengths()


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
        parts = {name: _mapped(folder / name, kind) for name, kind in _FILES.items()}
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

    def search(self, words: Sequence[str], limit: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and BM25 scores in the whole of at least the `limit` best passages, best first; equal ones in their order."""
        terms = [(field, word) for word in words for field in FIELDS]
        hashes = np.array([_hash(*term) for term in terms], np.uint64)
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
            rows, scores = zip(*found, strict=True) if (found := self._words.weighed(parts, limit)) else ((), ())
            return np.array(rows, np.int64), np.array(scores, np.float32)
        numbers = self._numbers[at].astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        asked = _Asked(numbers[order], fields[order], (_WEIGHTS[fields] * rarities * (_K1 + 1))[order], means)
        # What is unseen scores at most so many times what tantivy makes of it: see the module.
        reach = max(1.0, (means / own).max()) * (1 + 1e-5)
        wanted = limit + _SLACK
        while True:
            listed, rough = self._words.best(parts, wanted)
            rows = np.array(listed, np.int64)
            scores = self._scores(rows, asked)
            order = np.lexsort((rows, -scores))[:limit]
            if len(rows) < wanted or rough[-1] * reach < scores[order[-1]]:
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


def write(folder: Path, passages: Iterable[Passage], language: str) -> None:
    """What `SegmentWords` needs, made from the passages of a segment in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    analyse = lexical.analyser(language).analyze
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
    hashes = np.array([_hash(*term) for term in numbers], np.uint64)
    order = np.argsort(hashes)
    (folder / "vocabulary").write_bytes(hashes[order].tobytes())
    (folder / "numbers").write_bytes(order.astype(np.uint32).tobytes())
    (folder / "starts").write_bytes(starts.tobytes())
    np.array([len(starts) - 1, *(tokens[field] for field in FIELDS)], np.int64).tofile(folder / "own")
    _counted(folder / "terms", len(numbers))[order].tofile(folder / "held")


def share(folders: Sequence[Path]) -> None:
    """Tell the parts of a whole, each written by `write`, how frequent their words are in all of it."""
    whole = sum((np.fromfile(folder / "own", np.int64) for folder in folders), np.zeros(1 + len(FIELDS), np.int64))
    for folder in folders:
        whole.tofile(folder / "whole")
        (folder / "holding").write_bytes(b"")
    vocabularies = [_mapped(folder / "vocabulary", np.uint64) for folder in folders]
    pieces = 1 + sum(map(len, vocabularies)) // _AT_ONCE
    edges = [(number << 64) // pieces for number in range(1, pieces)]
    cuts = [[0, *np.searchsorted(words, np.array(edges, np.uint64)).tolist(), len(words)] for words in vocabularies]
    for piece in range(pieces):
        spans = [slice(cut[piece], cut[piece + 1]) for cut in cuts]
        hashes = np.concatenate([words[span] for words, span in zip(vocabularies, spans, strict=True)])
        held = [_mapped(folder / "held", np.int64)[span] for folder, span in zip(folders, spans, strict=True)]
        known, place = np.unique(hashes, return_inverse=True)
        holding = np.bincount(place, np.concatenate(held), len(known)).astype(np.int64)[place]
        ends = np.cumsum([len(part) for part in held])[:-1]
        for folder, part in zip(folders, np.split(holding, ends), strict=True):
            with (folder / "holding").open("ab") as out:
                out.write(part.tobytes())


def _rarities(sums: NDArray[np.int64], holding: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of terms that so many passages of a collection hold."""
    return np.log1p((sums[0] - holding + 0.5) / (holding + 0.5))


def _counted(path: Path, size: int) -> NDArray[np.int64]:
    """How often each number stands in a file of them."""
    total, numbers = np.zeros(size, np.int64), _mapped(path, np.uint32)
    for start in range(0, len(numbers), _AT_ONCE):
        total += np.bincount(numbers[start : start + _AT_ONCE], minlength=size)
    return total


def _hash(field: str, word: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{field}\0{word}".encode(), digest_size=8).digest(), "little")


def _mapped(path: Path, kind: Any) -> NDArray[Any]:
    try:
        size = path.stat().st_size
        return np.asarray(np.memmap(path, kind, "r")) if size else np.zeros(0, kind)
    except (OSError, ValueError) as problem:
        raise DamagedFile(f"{path} is damaged: {problem}") from problem
