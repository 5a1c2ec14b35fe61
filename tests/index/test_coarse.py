"""Stage 1: codes, lists and the modes, against plain counting."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.index import coarse, lists, manifest
from wellread.index.build import BuildOptions, build
from wellread.index.coarse import cut, hamming, likeness, smallest
from wellread.index.feed import Batch
from wellread.index.quantize import calibrate, check, code_bytes, pad_codes, to_bytes, to_codes
from wellread.index.rows import RowFile
from wellread.index.seal import problems
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Passage

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class VectorFeed:
    embedder, origin = "vectors", "vectors"

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = vectors
        self.dimensions = vectors.shape[1]
        self.scale = calibrate(vectors)

    async def batches(self, skip: int, scale: np.ndarray | None) -> AsyncIterator[Batch]:
        for start in range(skip, len(self.vectors), 1000):
            part = self.vectors[start : start + 1000]
            names = [Passage(f"p{start + i}", "text") for i in range(len(part))]
            yield Batch(names, to_bytes(part, self.scale), to_codes(part))


class MoreVectors(VectorFeed):
    """Vectors for an index that has its scale already."""

    def __init__(self, vectors: np.ndarray, prefix: str) -> None:
        super().__init__(vectors)
        self.prefix = prefix

    async def batches(self, skip: int, scale: np.ndarray | None) -> AsyncIterator[Batch]:
        assert scale is not None
        names = [Passage(f"{self.prefix}{i}", "text") for i in range(len(self.vectors))]
        yield Batch(names, to_bytes(self.vectors, scale), to_codes(self.vectors))


def clustered(rows: int, dim: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((60, dim))
    vectors = centres[rng.integers(0, 60, rows)] + 0.7 * rng.standard_normal((rows, dim))
    return check(vectors.astype(np.float32), dim)


@pytest.fixture(scope="module")
async def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lists")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "FROM_ROWS", 5_000)
        await build(folder, VectorFeed(clustered(12_000, 100)), BuildOptions(words=False))
    return folder


@pytest.fixture
def index(made: Path, monkeypatch: pytest.MonkeyPatch) -> LocalIndex:
    monkeypatch.setattr("wellread.index.search.SMALL", 0)
    return LocalIndex.open(made)


async def test_exact_mode_is_the_plain_hamming_scan(index: LocalIndex) -> None:
    vectors, query = clustered(12_000, 100), clustered(1, 100, seed=5)[0]
    distances = (np.unpackbits(to_codes(vectors) ^ to_codes(query[None, :]), axis=1)).sum(axis=1)
    found = index.segments[0].coarse.candidates(query, 50, "exact", index.pool)
    assert len(set(found.tolist())) == 50
    assert sorted(distances[found]) == sorted(distances)[:50]


@pytest.mark.parametrize("mode", ["default", "exact", "thorough"])
async def test_every_mode_finds_most_of_the_nearest(index: LocalIndex, mode: str) -> None:
    vectors, queries = clustered(12_000, 100), clustered(20, 100, seed=5)
    got = 0
    for query in queries:
        truth = set(np.argsort(-(vectors @ query))[:100].tolist())
        found = index.by_meaning(query, 100, SearchOptions(mode=mode))  # type: ignore[arg-type]
        got += len(truth & set(found[0].tolist()))
        scores = found[1].tolist()
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == pytest.approx(float((vectors @ query).max()), abs=0.02)
    assert got / 2000 > {"default": 0.9, "exact": 0.6, "thorough": 0.97}[mode]


def parts_of(index: LocalIndex) -> dict[str, np.ndarray]:
    with np.load(index.segments[0].folder / lists.LISTS) as parts:
        return dict(parts)


async def test_lists_hold_every_row_once_with_its_own_sketch(index: LocalIndex) -> None:
    segment = index.segments[0]
    assert segment.entry.lists == lists.lists_for(12_000)
    assert np.array_equal(segment.coarse.stored(range(12_000)), to_codes(clustered(12_000, 100)))
    parts = parts_of(index)
    made = lists.Lists(parts["projection"], parts["centres"], parts["spread"], parts["steps"])
    scale = np.asarray(index.manifest.scale, np.float32)
    labels, sketches = made.scaled(scale).encode(np.asarray(segment.rows.matrix))
    order = np.fromfile(segment.folder / lists.ORDER, np.uint32)
    assert sorted(order.tolist()) == list(range(12_000))
    assert np.array_equal(labels[order], np.repeat(np.arange(made.count), np.diff(parts["ends"], prepend=0)))
    stored = np.concatenate(list(np.fromfile(segment.folder / lists.SKETCH, np.uint8).reshape(2, 12_000, 8)), axis=1)
    # Sums in another order may turn a number that is nearly zero: a few bits in a million.
    assert np.unpackbits(stored ^ sketches[order]).mean() < 1e-4


def test_second_bits_divide_each_side_in_two() -> None:
    made = lists.Lists(np.eye(8, dtype=np.float32), np.zeros((1, 8), np.float32), np.ones(1, np.float32), np.ones(8, np.float32))
    points = np.array([[-2, -0.5, 0.5, 2, -3, 3, -0.1, 0.1]], np.float32)
    first, second = np.unpackbits(made.sketches(points, np.zeros(1, np.uint32)).reshape(2, 1), axis=1)
    assert (2 * first + second).tolist() == [0, 1, 2, 3, 0, 3, 1, 2]


@pytest.mark.parametrize("everything", [False, True])
async def test_candidates_are_those_of_the_rule_written_out(
    index: LocalIndex, monkeypatch: pytest.MonkeyPatch, everything: bool
) -> None:
    monkeypatch.setattr(coarse, "_KEPT", 600)
    monkeypatch.setattr(coarse, "_KEPT_PER_CANDIDATE", 2)
    monkeypatch.setattr(coarse, "_READ", 50)
    for share in ("_KEPT_SHARE", "_READ_SHARE", "_READ_OF_FEW"):
        monkeypatch.setattr(coarse, share, 1.0)
    parts = parts_of(index)
    order = np.fromfile(index.segments[0].folder / lists.ORDER, np.uint32)
    bits = np.unpackbits(np.fromfile(index.segments[0].folder / lists.SKETCH, np.uint8).reshape(2, 12_000, 8), axis=2)
    for query in clustered(5, 100, seed=8):
        wanted = written_out(parts, bits, query, 150, everything)
        found = index.segments[0].coarse.sketches.candidates(query, 150, everything, index.pool)  # type: ignore[union-attr]
        assert len(set(found.tolist())) == 150
        # The query is cut into six bits a number: only what nearly ties at the border may differ.
        assert len(set(order[wanted].tolist()) & set(found.tolist())) >= 145


def written_out(parts: dict[str, np.ndarray], bits: np.ndarray, query: np.ndarray, count: int, everything: bool) -> np.ndarray:
    """The rule of sketches, row by row in numpy."""
    centres, rows, width = parts["centres"], bits.shape[1], bits.shape[2]
    labels = np.searchsorted(parts["ends"], np.arange(rows), side="right")
    point = query @ parts["projection"]
    near = centres @ point
    rest = point - (near / (centres**2).sum(axis=1))[:, None] * centres
    reach = coarse._TRUST * parts["spread"] * np.linalg.norm(rest, axis=1)
    apart = ((rest > 0)[labels] != bits[0]).sum(axis=1)
    likeness = near[labels] + reach[labels] * np.cos(np.pi * apart / width)
    kept = max(600 * (4 if everything else 1), 2 * count)
    seen = np.linspace(0, rows - 1, min(rows, lists._WITNESSES)).astype(int)
    sizes = np.diff(parts["ends"], prepend=0)
    ranked = np.argsort(-near, kind="stable")
    budget = rows if everything else 50 * rows**0.5
    read = ranked[: int(np.searchsorted(np.cumsum(sizes[ranked]), budget)) + 1]
    edge = np.sort(likeness[seen[np.isin(labels[seen], read)]])[::-1][int(len(seen) * kept / rows)]
    ratio = (edge - near) / reach
    limits = np.where(ratio > 1, 0, np.floor(np.arccos(np.clip(ratio, -1, 1)) / np.pi * width) + 1)
    places = np.flatnonzero(np.isin(labels, read) & (apart < limits[labels]))
    assert kept / 4 < len(places) < 2 * kept
    values = (2.0 * bits[0][places] + bits[1][places]) * parts["steps"]
    scores = near[labels[places]] + values @ point
    return places[np.argsort(-scores)[:count]]


@given(st.integers(0, 1000), st.sampled_from([64, 128, 256]))
def test_a_cut_query_sums_by_distances(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(width).astype(np.float32)
    bits = rng.integers(0, 2, (20, width), dtype=np.uint8)
    cuts, shares = cut(weights)
    sums = shares @ hamming(cuts, np.packbits(bits, axis=1)).astype(np.float32)
    error = (sums - sums.mean()) - (bits @ weights - (bits @ weights).mean())
    assert np.abs(error).max() < 0.02 * width**0.5 * np.abs(weights).max()


async def test_an_index_with_sketches_verifies_and_grows(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    from wellread.index.build import add

    shutil.copytree(made, tmp_path / "i")
    assert list(problems(tmp_path / "i")) == []

    monkeypatch.setattr(lists, "FROM_ROWS", 5_000)
    monkeypatch.setattr("wellread.index.search.SMALL", 0)
    for below in (0, 100_000):  # as a segment of its own; then all written again together
        monkeypatch.setattr("wellread.index.build.MERGE_BELOW", below)
        fresh = clustered(30, 100, seed=20 + below)
        await add(tmp_path / "i", MoreVectors(fresh, f"after {below}: "))
        index = LocalIndex.open(tmp_path / "i")
        row = index.by_meaning(fresh[7], 1)[0][0]
        assert index.passage(row).id == f"after {below}: 7"
        assert list(problems(tmp_path / "i")) == []
    assert [segment.rows for segment in index.manifest.segments] == [12_060]
    assert index.manifest.segments[0].lists > 0


class Stopped(Exception):
    pass


async def test_lists_that_were_interrupted_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "FROM_ROWS", 2_000)
    feed = VectorFeed(clustered(3_000, 100))
    await build(tmp_path / "whole", feed, BuildOptions(words=False))

    def stop(*_: object) -> None:
        raise Stopped

    for step in ("sort_sketches", "_finish"):
        with monkeypatch.context() as patch:
            patch.setattr(lists, step, stop)
            with pytest.raises(Stopped):
                await build(tmp_path / "torn", feed, BuildOptions(words=False, resume=True))
    await build(tmp_path / "torn", feed, BuildOptions(words=False, resume=True))
    sums = [LocalIndex.open(tmp_path / name).manifest.segments[0].files for name in ("whole", "torn")]
    assert sums[0] == sums[1]
    assert lists.SKETCH in sums[0]


async def test_a_large_index_of_the_older_format_is_refused(made: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    content = manifest.load(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "FORMAT", 1)
        manifest.save(tmp_path, content)
    with pytest.raises(manifest.IndexFault, match=r"older wellread .* build it again"):
        manifest.load(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "FORMAT", 1)
        manifest.save(tmp_path, replace(content, segments=tuple(replace(s, lists=0) for s in content.segments)))
    assert manifest.load(tmp_path).format == 1


async def test_vectors_that_are_all_alike_can_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "FROM_ROWS", 100)
    monkeypatch.setattr("wellread.index.search.SMALL", 0)
    vectors = np.repeat(clustered(1, 70), 500, axis=0)
    await build(tmp_path, VectorFeed(vectors), BuildOptions(words=False))
    index = LocalIndex.open(tmp_path)
    for mode in ("default", "thorough"):
        assert len(index.by_meaning(vectors[0], 100, SearchOptions(mode=mode))[0]) == 100  # type: ignore[arg-type]


def test_narrow_vectors_have_no_lists(tmp_path: Path) -> None:
    clustered(50, lists.NARROWEST).astype(np.int8).tofile(tmp_path / "rows")
    made = lists.train(RowFile(tmp_path / "rows", 50, lists.NARROWEST), np.ones(lists.NARROWEST, np.float32))
    assert made.projection.shape == (lists.NARROWEST, lists.NARROWEST)


async def test_many_readers_at_once(index: LocalIndex) -> None:
    queries = clustered(40, 100, seed=5)
    alone = np.array([index.by_meaning(query, 10) for query in queries])
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: index.by_meaning(query, 10), queries))
    assert np.array_equal(alone, together)


def test_likeness_sums_the_dimensions_whose_bit_is_set() -> None:
    vectors, query = clustered(50, 100), clustered(1, 100, seed=3)[0]
    scores = likeness(*cut(query), to_codes(vectors), np.arange(50)[::-1])
    apart = scores - ((vectors > 0) * query).sum(axis=1)[::-1]
    assert np.ptp(apart) < np.ptp(scores) / 10  # up to a constant; each number is rounded to one of 64


def test_bytes_keep_vectors_nearly_as_they_are() -> None:
    vectors = clustered(500, 96)
    scale = calibrate(vectors[:200])
    back = check(to_bytes(vectors, scale).astype(np.float32) * scale, 96)
    assert (back * vectors).sum(axis=1).min() > 0.999


@pytest.mark.parametrize("dimensions", [1, 8, 63, 64, 65, 100, 384, 1024])
def test_codes_are_whole_words(dimensions: int) -> None:
    codes = to_codes(np.ones((2, dimensions), np.float32))
    assert codes.shape == (2, code_bytes(dimensions))
    assert codes.shape[1] % 8 == 0
    assert np.unpackbits(codes).sum() == 2 * dimensions
    assert np.array_equal(pad_codes(codes, dimensions), codes)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=300), st.integers(1, 50))
def test_smallest_is_a_partial_sort(values: list[int], count: int) -> None:
    array = np.array(values, np.int32)
    chosen = smallest(array, count)
    assert len(set(chosen.tolist())) == min(count, len(values))
    assert sorted(array[chosen]) == sorted(values)[:count]


def test_one_thread_is_given_back() -> None:
    from wellread.index import lists

    switch = lists._switch()
    if switch is None:
        pytest.skip("this numpy has another BLAS")
    before = switch[0]()
    with lists.one_thread():
        assert switch[0]() == 1
    assert switch[0]() == before
