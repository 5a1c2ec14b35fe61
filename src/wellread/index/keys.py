"""Hash index from a name to passages: hashes of ids, documents and titles, sorted, in a memory map.

A hash of 64 bits can collide, so every look-up is confirmed against the text by the caller.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.index.blocks import Blocks, Seals, mapped, unsealed

Hashes: TypeAlias = NDArray[np.uint64]

ENTRY = np.dtype([("hash", "<u8"), ("first", "<u4"), ("count", "<u4")])
ARRIVAL = np.dtype([("id", "<u8"), ("document", "<u8"), ("title", "<u8")])
_BLOCK = 4_000_000  # hashes read or sorted at once
_SMALL = 50_000  # entries of a table that is looked through at once
_WORD = re.compile(r"\w+")
_LONGEST, _SHORTEST = 8, 4  # words and characters of a title that is looked for in a text
TABLES = {"id": "ids.tab", "document": "documents.tab", "title": "titles.tab"}  # by the field of a passage


def hashed(name: str) -> int:
    """64 bits of a name, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "little")


@lru_cache(1024)  # the passages of a document come one after the other
def title_hash(title: str) -> int:
    """The hash under which a title is found."""
    return hashed(plain(title))


def plain(title: str) -> str:
    """A title as links may spell it: case, accents and spacing do not matter."""
    if title.isascii():
        return " ".join(title.replace("_", " ").lower().split())
    folded = unicodedata.normalize("NFKD", title.replace("_", " ")).casefold()
    return " ".join("".join(c for c in folded if not unicodedata.combining(c)).split())


def possible_titles(text: str) -> Iterator[list[str]]:
    """Candidate titles in a text, as links may spell them: what begins with a capital or digit, longest first."""
    words = list(_WORD.finditer(text))
    for place, word in enumerate(words):
        if not word[0][0].islower():
            ends = [one.end() for one in words[place : place + _LONGEST]]
            yield [plain(text[word.start() : end]) for end in reversed(ends) if end - word.start() >= _SHORTEST]


class Table:
    """hash → runs of passages."""

    def __init__(self, path: Path, seals: Seals = unsealed) -> None:
        self._entries = mapped(path, ENTRY)
        self._blocks = Blocks(path, seals(path.name), self._entries.view(np.uint8))

    def runs(self, name: str) -> list[range]:
        """The runs of passages under this name (or under one with the same hash)."""
        key = hashed(name)
        place = bisect_left(range(len(self._entries)), key, key=self._hash)
        runs: list[range] = []
        while place < len(self._entries) and self._hash(place) == key:
            entry = self._entries[place]
            runs.append(range(int(entry["first"]), int(entry["first"]) + int(entry["count"])))
            place += 1
        return runs

    def known(self, names: list[str]) -> set[str]:
        """Those of the names that are in the table, or may be."""
        if len(self._entries) > _SMALL:
            return {name for name in names if self.runs(name)}
        return {names[place] for place in self.among(np.array([hashed(name) for name in names], np.uint64))}

    def _hash(self, place: int) -> int:
        self._blocks.check(place * ENTRY.itemsize, (place + 1) * ENTRY.itemsize)
        return int(self._entries[place]["hash"])

    def left(self, gone: NDArray[np.int64]) -> Hashes:
        """The hashes that have a passage which is not among these, sorted numbers of passages."""
        first, count = self._entries["first"].astype(np.int64), self._entries["count"].astype(np.int64)
        lost = np.searchsorted(gone, first + count) - np.searchsorted(gone, first)
        return self._entries["hash"][lost < count]

    def among(self, hashes: Hashes) -> list[int]:
        """Which of these hashes are in the table, by their positions."""
        if not len(self._entries):
            return []
        self._blocks.check(0, self._entries.nbytes)
        column = self._entries["hash"]
        places = np.minimum(np.searchsorted(column, hashes), len(column) - 1)
        return np.flatnonzero(column[places] == hashes).tolist()


def column(arrivals: Path, name: str, rows: int) -> Hashes:
    """One kind of hashes in passage order, read block by block: the file holds three times as much."""
    found = np.empty(rows, np.uint64)
    with arrivals.open("rb") as file:
        for start in range(0, rows, _BLOCK):
            block = np.fromfile(file, ARRIVAL, min(_BLOCK, rows - start))
            found[start : start + len(block)] = block[name]
    return found


def write_tables(folder: Path, arrivals: Path, rows: int) -> None:
    """The three tables, from the file of hashes in passage order."""
    _write(folder / TABLES["id"], column(arrivals, "id", rows))
    for field in ("document", "title"):
        hashes = column(arrivals, field, rows)
        fresh = np.ones(len(hashes), dtype=bool)
        fresh[1:] = hashes[1:] != hashes[:-1]
        firsts = np.flatnonzero(fresh).astype(np.uint32)
        _write(folder / TABLES[field], hashes[firsts], firsts, len(hashes))


def _write(path: Path, hashes: Hashes, firsts: NDArray[np.uint32] | None = None, rows: int = 0) -> None:
    """Entries sorted by hash, a range of hashes at a time, so that memory does not grow with the table.

    `firsts` are the passages where runs begin, of `rows` in all; without them every hash is a run of its own.
    """
    ends = None if firsts is None else np.append(firsts[1:], np.uint32(rows))
    parts = max(1, -(-len(hashes) // _BLOCK))
    with path.open("wb") as file:
        for part in range(parts):
            inside = hashes >= np.uint64((part << 64) // parts)
            if part + 1 < parts:
                inside &= hashes < np.uint64((part + 1 << 64) // parts)
            places = np.flatnonzero(inside)
            places = places[np.argsort(hashes[places], kind="stable")]
            table = np.empty(len(places), ENTRY)
            table["hash"] = hashes[places]
            table["first"] = places if firsts is None else firsts[places]
            table["count"] = 1 if firsts is None or ends is None else ends[places] - firsts[places]
            table.tofile(file)


class Seen:
    """Which ids have come, in eight bytes each: sorted runs that are merged when they are alike in size."""

    def __init__(self, known: Hashes | None = None) -> None:
        self._runs: list[Hashes] = [] if known is None or not len(known) else [np.sort(known)]

    def add(self, hashes: Hashes) -> int | None:
        """Take in a batch; the position of the first id that came before, or None."""
        order = np.argsort(hashes, kind="stable")
        fresh = hashes[order]
        twice = np.flatnonzero(fresh[1:] == fresh[:-1])
        if len(twice):
            return int(order[twice[0] + 1])
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, fresh), len(run) - 1)
            again = np.flatnonzero(run[places] == fresh)
            if len(again):
                return int(order[again[0]])
        while self._runs and len(self._runs[-1]) <= 2 * len(fresh):
            fresh = np.sort(np.concatenate([self._runs.pop(), fresh]))
        self._runs.append(fresh)
        return None
