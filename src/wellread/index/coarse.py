"""Vector search, stage 1: candidates from one bit a dimension in a memory map (Hamming distance), all cores on a single query.

    exact      the published recipe: Hamming distance to every code, the nearest go to stage 2
    default    Hamming distance to every code; the nearest tenfold are scored again with the query at full precision
               against their bits (which costs no further reading), the best go to stage 2
    thorough   the same with more candidates

A large segment has sketches, half as large as the codes, which stand in for them in the last two:

1. The lists whose centres are most like the query, and the signs of what each of these leaves over of the query.
2. From a sample of their places: the likeness that a few ten thousand rows reach. For each list that is a distance in bits,
   since likeness = likeness to the centre + what the angle between the two rests says.
3. Their first bits are read; what is near enough is kept.
4. The kept are scored with both bits and the query at (nearly) full precision; the best go to stage 2.

What the second look at the bits is worth: docs/log/index.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from wellread.core.processors import available_processors
from wellread.core.values import frozen
from wellread.errors import DamagedFile, optional
from wellread.index.blocks import Blocks, Seals, mapped, unsealed
from wellread.index.lists import LISTS, ORDER, SKETCH
from wellread.index.quantize import Codes, Floats, code_bytes, to_codes
from wellread.index.rows import Numbers

Part: TypeAlias = tuple[Numbers, NDArray[Any]]  # places, with a number for each
CODES = "codes.bin"
_WIDE = 1024  # dimensions at which the recipe's number of candidates was chosen
_SECOND_LOOK = 10  # candidates scored with the full query, for each that goes on
_THOROUGH = 4  # times the candidates
_PIECE = 1 << 20  # rows whose distances are held at once
THREADS = available_processors()
_READ = 1_600  # rows whose first bits are read: this times the square root of all rows
_READ_SHARE = 0.3  # of all rows, at most, and
_READ_OF_FEW = 1e-4  # of them for each square root of all rows: fewer rows lie in fewer lists,
_READ_PER_KEPT = 4  # unless so many are kept that more must be read
_LONG = 8_192  # rows of a list that takes longer to scan than it takes Python to go on to the next
_KEPT = 30_000  # rows scored with both bits, or this share of all rows where that is less,
_KEPT_SHARE = 0.0075
_KEPT_PER_CANDIDATE = 25  # or more when many candidates are wanted
_SECOND_BITS = 10  # rows whose second bits are looked at, for each candidate that is wanted
_TRUST = 0.7  # of what an angle in bits says: it is a guess from some hundred signs
_BLOCK = 4_096  # rows scored at once
_LEVELS = 6  # bits of a query's number in step 4
_WITNESSED = 50  # places of the sample beyond the limit: enough to say where it lies


@frozen
class Aim:
    """A query as the lists see it."""

    lists: Numbers  # those that are read
    near: Floats  # likeness to the centre of each
    codes: Codes  # signs of the query's rest at each
    reach: Floats  # likeness that a row's rest can add at most
    cuts: Codes  # the query's numbers, cut into bits
    shares: Floats  # what a bit that differs from each cut adds to the likeness


class Sketches:
    """The sketches of one segment, from memory maps."""

    def __init__(self, folder: Path, rows: int, seals: Seals = unsealed) -> None:
        Blocks(folder / LISTS, seals(LISTS)).check_all()
        with np.load(folder / LISTS) as parts:
            self._projection: Floats = np.ascontiguousarray(parts["projection"].T)
            self._centres: Floats = parts["centres"]
            self._spread: Floats = parts["spread"]
            self._steps: Floats = parts["steps"]
            ends: Numbers = parts["ends"]
            self._witnesses: NDArray[np.uint64] = parts["witnesses"].view(np.uint64)
            self._witness_lists: Numbers = parts["witness_lists"]
        self._sizes = np.diff(ends, prepend=0)
        self._starts: Numbers = ends - self._sizes
        self._squares: Floats = np.maximum((self._centres * self._centres).sum(axis=1), 1e-12)
        self._checked = np.zeros(len(ends), bool)  # lists whose first bits were compared with their sums
        self._bits = self._centres.shape[1]
        self._width = self._bits // 8
        self._unlike = -np.cos(np.linspace(0, math.pi, self._bits + 1, dtype=np.float32))  # what so many bits say of an angle
        self._rows = rows
        path = folder / SKETCH
        if path.stat().st_size != 2 * rows * self._width or int(ends[-1]) != rows:
            raise DamagedFile(f"{path} is damaged: its size does not fit {rows} rows (run: wellread index verify)")
        self.planes: Codes = mapped(path, np.uint8, (2, rows, self._width), "MADV_HUGEPAGE")  # a scan waits less for addresses
        self._order = mapped(folder / ORDER, np.uint32, (rows,))
        self._plane_blocks = Blocks(path, seals(SKETCH), self.planes.reshape(-1))
        self._order_blocks = Blocks(folder / ORDER, seals(ORDER), self._order.view(np.uint8))

    def candidates(self, query: Floats, count: int, everything: bool, pool: ThreadPoolExecutor) -> Numbers:
        """The rows whose sketches are most like the query. `everything`: every list is read and more is kept."""
        kept = max(min(_KEPT, int(_KEPT_SHARE * self._rows)) * (4 if everything else 1), _KEPT_PER_CANDIDATE * count)
        root = math.sqrt(self._rows)
        most = max(min(_READ * root, self._rows * min(_READ_SHARE, _READ_OF_FEW * root)), _READ_PER_KEPT * kept)
        aim = self._aim(query, self._rows if everything else most)
        limits = self._limits(aim, kept)
        # Threads that scan short lists wait for each other's Python most of the time: one alone is faster then.
        threads = THREADS if self._sizes[aim.lists].sum() >= _LONG * len(aim.lists) else 1

        def read(part: int) -> Part:
            return self._read(aim, limits, np.flatnonzero(limits)[part::threads], kept)

        def best(part: int) -> Part:
            return self._best(aim, places[part::threads], near[part::threads], count, threads)

        places, near = _joined(pool, read, threads)
        chosen, _ = _most_like(*_joined(pool, best, threads), count)
        self._order_blocks.check_rows(chosen, self._order.itemsize)
        return self._order[chosen].astype(np.int64)

    def _aim(self, query: Floats, rows: float) -> Aim:
        # Row by row: a product of matrices wakes BLAS's threads, which go on spinning on the cores that are to scan.
        point: Floats = np.vecdot(self._projection, query)
        near: Floats = np.vecdot(self._centres, point)
        order = np.argsort(-near)
        lists = np.sort(order[: int(np.searchsorted(np.cumsum(self._sizes[order]), rows)) + 1])
        near = near[lists]
        share = near / self._squares[lists]
        codes = np.packbits(share[:, None] * self._centres[lists] < point, axis=1)
        rest = np.sqrt(np.maximum((point * point).sum() - near * share, 1e-12))
        return Aim(lists, near, codes, np.maximum(_TRUST * self._spread[lists] * rest, 1e-9), *cut(point * self._steps))

    def _limits(self, aim: Aim, kept: int) -> Numbers:
        """For each list the distance in bits below which about `kept` rows lie in all."""
        step = max(1, len(self._witnesses) * kept // self._rows // _WITNESSED)
        place = np.full(len(self._centres), -1)
        place[aim.lists] = np.arange(len(aim.lists))
        lists = place.take(self._witness_lists[::step])
        beyond = int(len(lists) * kept / self._rows)
        read = np.flatnonzero(lists >= 0)
        if beyond >= len(read):
            return np.full(len(aim.lists), self._bits + 1)
        lists = lists[read]
        codes: NDArray[np.uint64] = aim.codes.view(np.uint64).take(lists, axis=0)
        words: NDArray[np.uint8] = np.bitwise_count(codes ^ self._witnesses.take(read * step, axis=0))
        apart = np.zeros(len(lists), np.intp)
        for column in range(words.shape[1]):  # a sum along so short an axis takes five times as long
            apart += words[:, column]
        likeness = aim.near.take(lists) - aim.reach.take(lists) * self._unlike.take(apart)
        limit = float(np.partition(likeness, len(read) - 1 - beyond)[len(read) - 1 - beyond])
        # A little more, since rounding must not leave out the last.
        return np.searchsorted(self._unlike, (aim.near - limit) / aim.reach + 1e-6, side="right")

    def _read(self, aim: Aim, limits: Numbers, chosen: Numbers, kept: int) -> Part:
        """Places near enough in these of the lists, with the likeness of their centres.

        Addresses instead of arrays, and few steps in the loop: between two scans no other thread can run Python.
        """
        with optional("searching so large an index", "scale"):
            import faiss

        names = cast("Any", faiss)  # faiss makes its names at run time
        match = cast("Callable[..., int]", names.match_hamming_thres)
        as_bytes, as_pairs = names.cast_integer_to_uint8_ptr, names.cast_integer_to_idx_t_ptr
        lists, limits = aim.lists[chosen], limits[chosen]
        sizes = self._sizes[lists]
        for fresh in lists[~self._checked[lists]].tolist():
            self._plane_blocks.check(
                int(self._starts[fresh]) * self._width, int(self._starts[fresh] + self._sizes[fresh]) * self._width
            )
            self._checked[fresh] = True
        room = kept + int(sizes.max(initial=0))
        pairs, distances = np.empty((room, 2), np.int64), np.empty(room, np.int32)
        width, out, ignored = self._width, pairs.ctypes.data, names.swig_ptr(distances)
        queries = (aim.codes.ctypes.data + chosen * width).tolist()
        planes = (self.planes.ctypes.data + self._starts[lists] * width).tolist()
        counts: list[int] = []
        parts: list[Numbers] = []
        used = 0
        for query, plane, size, limit in zip(queries, planes, sizes.tolist(), limits.tolist(), strict=True):
            if used + size > room:
                parts.append(pairs[:used, 1].copy())
                used = 0
            found = match(as_bytes(query), as_bytes(plane), 1, size, limit, width, as_pairs(out + used * 16), ignored)
            counts.append(found)
            used += found
        parts.append(pairs[:used, 1])
        return np.concatenate(parts) + np.repeat(self._starts[lists], counts), np.repeat(aim.near[chosen], counts)

    def _best(self, aim: Aim, places: Numbers, near: Floats, count: int, of: int) -> Part:
        """The places, of a part of all, whose both bits are most like the query, with their likeness (up to a constant)."""
        scores = near + likeness(aim.cuts, 2 * aim.shares, self.planes[0], places)
        places, scores = _most_like(places, scores, max(count, _SECOND_BITS * count // of))  # the first bits say most
        self._plane_blocks.check_rows(places, self._width, self._rows * self._width)
        return _most_like(places, scores + likeness(aim.cuts, aim.shares, self.planes[1], places), count)


def _most_like(places: Numbers, scores: Floats, count: int) -> Part:
    if len(places) <= count:
        return places, scores
    chosen = np.argpartition(-scores, count - 1)[:count]
    return places[chosen], scores[chosen]


def _joined(pool: ThreadPoolExecutor, job: Callable[[int], Part], parts: int) -> Part:
    """What a job finds in all parts. The first is done here: a thread that waits only has to be woken again."""
    others = [pool.submit(job, part) for part in range(1, parts)]
    places, values = zip(job(0), *(other.result() for other in others), strict=True)
    return np.concatenate(places), np.concatenate(values)


def cut(weights: Floats) -> tuple[Codes, Floats]:
    """Numbers cut into bits, so that their sum over the bits of a row is (up to a constant) a sum of Hamming distances. The bits
    stand for halves of powers of two, added or taken away: then it does not matter how many bits a row has."""
    most = max(float(np.abs(weights).max()), 1e-12)
    step = 2 * most / (2**_LEVELS - 1)
    levels = np.rint((weights + most) / step).astype(np.uint8)
    shares = np.array([-step / 2 * 2**bit for bit in range(_LEVELS)], np.float32)
    return to_codes(levels >> np.arange(_LEVELS, dtype=np.uint8)[:, None] & 1), shares


def likeness(cuts: Codes, shares: Floats, codes: Codes, places: Numbers) -> Floats:
    """The sum of the numbers that were `cut` over the bits of some codes, up to a constant; block by block, so that everything
    stays in a core's cache."""
    found = np.empty(len(places), np.float32)
    for start in range(0, len(places), _BLOCK):
        rows = codes.take(places[start : start + _BLOCK], axis=0, mode="clip")
        np.einsum("i,ij->j", shares, hamming(cuts, rows).astype(np.float32), out=found[start : start + _BLOCK])
    return found


def hamming(queries: Codes, codes: Codes) -> NDArray[np.int32]:
    """Distances of each query to each code, in this thread: by faiss where it is installed."""
    queries, codes = np.ascontiguousarray(queries), np.ascontiguousarray(codes)
    out = np.empty((len(queries), len(codes)), np.int32)
    try:
        import faiss
    except ImportError:
        out[:] = 0
        whole = np.uint64 if codes.shape[1] % 8 == 0 else np.uint8
        for row, query in zip(out, queries.view(whole), strict=True):
            for column, bits in enumerate(query):  # a sum along so short an axis takes five times as long
                row += np.bitwise_count(codes.view(whole)[:, column] ^ bits)
        return out
    any_faiss = cast("Any", faiss)
    pointer = any_faiss.swig_ptr
    any_faiss.hammings(pointer(queries), pointer(codes), len(queries), len(codes), codes.shape[1], pointer(out))
    return out


Mode: TypeAlias = Literal["default", "exact", "thorough"]


class Coarse:
    """The codes of one segment, in the order of its rows."""

    def __init__(self, folder: Path, rows: int, lists: int, dimensions: int, seals: Seals = unsealed) -> None:
        self._folder = folder
        self._seals = seals
        self._lists = lists
        self._dimensions = dimensions
        self.width = code_bytes(dimensions)
        path = folder / CODES
        self.codes: Codes = mapped(path, np.uint8, (rows, self.width))
        self._blocks = Blocks(path, seals(CODES), self.codes.reshape(-1))

    @cached_property
    def sketches(self) -> Sketches | None:
        return Sketches(self._folder, len(self.codes), self._seals) if self._lists else None

    def candidates(self, query: Floats, count: int, mode: Mode, pool: ThreadPoolExecutor) -> Numbers:
        """Rows worth a closer look, in no particular order."""
        if mode == "exact":
            return self._near(to_codes(query[None, :]), count, pool)
        # One bit of a narrow vector says less: as many bytes are read in stage 2 as the recipe reads at 1024 dimensions.
        count = count * max(1, round(_WIDE / self._dimensions)) * (_THOROUGH if mode == "thorough" else 1)
        if self.sketches is not None:
            return self.sketches.candidates(query, count, mode == "thorough", pool)
        places = self._near(to_codes(query[None, :]), count * _SECOND_LOOK, pool)
        if len(places) > count:
            self._blocks.check_rows(places, self.width)
            scores = likeness(*cut(query), self.codes, places)
            places = places[np.argpartition(-scores, count - 1)[:count]]
        return places

    def stored(self, rows: Sequence[int]) -> Codes:
        """The codes of some rows, for copying them."""
        self._blocks.check_rows(np.array(rows, np.int64), self.width)
        return np.array(self.codes[list(rows)])

    def _near(self, code: Codes, count: int, pool: ThreadPoolExecutor) -> Numbers:
        """Places with the smallest Hamming distances, nearest first, equal ones in their order."""
        pieces = max(THREADS, -(-len(self.codes) // _PIECE))

        def part(piece: int) -> Part:
            start, end = (len(self.codes) * border // pieces for border in (piece, piece + 1))
            self._blocks.check(start * self.width, end * self.width)
            distances = hamming(code, self.codes[start:end])[0]
            chosen = smallest(distances, count)
            return chosen + start, distances[chosen]

        places, distances = _joined(pool, part, pieces)
        return places[np.argsort(distances, kind="stable")[:count]]


def smallest(values: NDArray[np.int32], count: int) -> Numbers:
    """Positions of the `count` smallest values, equal ones in order. A sample gives a limit that lets few more through."""
    if len(values) <= count:
        return np.arange(len(values))
    sample = values[:: max(1, len(values) // 32_768)]
    wanted = min(len(sample) - 1, int(len(sample) * count / len(values) * 1.2) + 16)
    chosen = np.flatnonzero(values <= np.partition(sample, wanted)[wanted])
    if len(chosen) < count:
        chosen = np.arange(len(values))
    # Numbers of 16 bits are sorted in a seventh of the time; no distance is larger.
    return chosen[np.argsort(values[chosen].astype(np.uint16), kind="stable")[:count]]
