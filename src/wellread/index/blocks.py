"""Checksums of a file's blocks, so that a reader can trust what it reads without reading all of it.

A block's sum is its 64-bit words times odd numbers, added up: a change of one word always shows, any other all but always, and
numpy adds up gigabytes a second. A block is compared when it is first read; the reader remembers which ones it has seen.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wellread.errors import DamagedFile, os_errors

Sums: TypeAlias = NDArray[np.uint64]
Data: TypeAlias = NDArray[np.uint8]
Seals: TypeAlias = Callable[[str], Path | None]  # from the name of a file to where its sums lie

BLOCK = 4096  # bytes: the page that a disk reads anyway
_AT_ONCE = 512  # blocks added up at once: about the size of a processor's cache
_WORDS = BLOCK // 8
_SHIFT = BLOCK.bit_length() - 1  # a shift is several times as fast as a division


def unsealed(_: str) -> Path | None:
    """Nothing is compared."""
    return None


def _odd_numbers() -> Sums:
    """The same on every machine: the splitmix64 sequence, made odd."""
    state = np.arange(1, _WORDS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))) | np.uint64(1)


_WEIGHTS = _odd_numbers()


def added_up(data: Data) -> Sums:
    """The sums of whole blocks; a last one that is not whole counts as if zeros followed."""
    whole = len(data) // BLOCK * BLOCK
    sums = np.einsum("ij,j->i", data[:whole].view(np.uint64).reshape(-1, _WORDS), _WEIGHTS)
    if whole == len(data):
        return sums
    last = np.zeros(BLOCK, np.uint8)
    last[: len(data) - whole] = data[whole:]
    return np.append(sums, last.view(np.uint64) @ _WEIGHTS)


def sums_of(path: Path) -> Sums:
    """The sums of a file's blocks, read from end to end."""
    found = [added_up(part) for part in _parts(path)]
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _parts(path: Path) -> Iterator[Data]:
    with path.open("rb") as file:
        while part := file.read(_AT_ONCE * BLOCK):
            yield np.frombuffer(part, np.uint8)


def mapped(path: Path, kind: Any, shape: tuple[int, ...] | None = None, advice: str = "") -> NDArray[Any]:
    """A file in a memory map as an array: all of it, or what a shape takes, which must be there. `advice` is for the system,
    where it knows it: slower without, not wrong. A plain array over the map: slices of np.memmap cost microseconds each."""
    with os_errors(DamagedFile, f"{path} is damaged"), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else None
    width, whole = np.dtype(kind).itemsize, shape is None
    shape = shape if shape is not None else (size // width,)
    if size < math.prod(shape) * width or (whole and size % width):
        raise DamagedFile(f"{path} is damaged: its size does not fit {shape[0]} rows (run: wellread index verify)")
    if data is None:
        return np.zeros(shape, kind)
    if advice and hasattr(mmap, advice):
        with suppress(OSError):
            data.madvise(getattr(mmap, advice))
    return np.frombuffer(data, kind, math.prod(shape)).reshape(shape)


class Blocks:
    """The blocks of one file. Without sums nothing is compared."""

    def __init__(self, path: Path, sums: Path | None, data: Data | None = None) -> None:
        self.path = path
        self._data = data
        self._sums: Sums | None = None
        if sums is not None and path.stat().st_size:
            self._sums = mapped(sums, np.uint64, advice="MADV_WILLNEED")  # few, and asked for here and there
            if len(self._sums) != -(-path.stat().st_size // BLOCK):
                raise DamagedFile(f"{sums} is damaged: its size does not fit (run: wellread index verify)")
            self._seen = np.zeros(len(self._sums), bool)

    def check(self, start: int, stop: int) -> None:
        """Bytes that follow each other are about to be read."""
        if self._sums is None or stop <= start:
            return
        first, last = start // BLOCK, (stop - 1) // BLOCK
        if last - first < 2:
            if not (self._seen[first] and self._seen[last]):
                self._compare(np.arange(first, last + 1))
            return
        fresh = np.flatnonzero(~self._seen[first : last + 1])
        if len(fresh):
            self._compare(fresh + first)

    def check_rows(self, rows: NDArray[np.int64], width: int, start: int = 0) -> None:
        """Rows of `width` bytes here and there are about to be read, of a table that begins at `start`."""
        if self._sums is None:
            return
        places = rows * width + start
        within = BLOCK % width == 0 and start % width == 0  # then no row lies in two blocks
        for step in (0,) if within else (*range(0, width, BLOCK), width - 1):
            blocks = (places + step) >> _SHIFT
            blocks = blocks[~self._seen[blocks]]
            if len(blocks):
                self._compare(np.unique(blocks))

    def known(self, rows: NDArray[np.int64], width: int) -> bool:
        """Whether all that these rows lie in was read before."""
        return self._sums is not None and bool(self._seen[rows * width >> _SHIFT].all())

    def check_all(self) -> None:
        """Everything, read from the file: it does not count as this process's memory then."""
        for _ in self.checking():
            pass

    def checking(self) -> Iterator[int]:
        """The same bit by bit; yields how many bytes were read."""
        if self._sums is None or self._seen.all():
            return
        at = 0
        for part in _parts(self.path):
            found = added_up(part)
            self._agree(np.arange(at, at + len(found)), found)
            at += len(found)
            yield len(part)

    def _compare(self, blocks: NDArray[np.int64]) -> None:
        data = self._data if self._data is not None else np.memmap(self.path, np.uint8, "r")
        whole = data[: len(data) // BLOCK * BLOCK].view(np.uint64).reshape(-1, _WORDS)
        if len(blocks) and blocks[-1] == len(whole):  # the last one, which is not whole
            self._agree(blocks[-1:], added_up(data[len(whole) * BLOCK :]))
            blocks = blocks[:-1]
        for start in range(0, len(blocks), _AT_ONCE):
            part = blocks[start : start + _AT_ONCE]
            self._agree(part, np.einsum("ij,j->i", whole[part], _WEIGHTS))

    def _agree(self, blocks: NDArray[np.int64], found: Sums) -> None:
        assert self._sums is not None
        known = self._sums[blocks]
        wrong = np.flatnonzero(known != found)
        if len(wrong):
            place = int(blocks[wrong[0]]) * BLOCK
            raise DamagedFile(f"{self.path} is damaged: its content has changed near byte {place} (run: wellread index verify)")
        self._seen[blocks] = True
