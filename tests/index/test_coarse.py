"""Stage 1: codes, lists and the modes, against plain counting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.index import lists
from wellread.index.build import BuildOptions, build
from wellread.index.coarse import merged, shares, smallest
from wellread.index.feed import Batch
from wellread.index.quantize import calibrate, check, code_bytes, pad_codes, to_bytes, to_codes, to_floats
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Passage

pytestmark = pytest.mark.anyio


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
    monkeypatch.setattr("wellread.index.segment.SMALL", 0)
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
        got += len(truth & {row for row, _ in found})
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == pytest.approx(float((vectors @ query).max()), abs=0.02)
    assert got / 2000 > {"default": 0.9, "exact": 0.6, "thorough": 0.97}[mode]


async def test_lists_hold_every_row_once_under_its_own_code(index: LocalIndex) -> None:
    segment = index.segments[0]
    assert segment.entry.lists >= 64
    stored = segment.coarse.stored(range(12_000))
    assert np.array_equal(stored, to_codes(clustered(12_000, 100)))


async def test_many_readers_at_once(index: LocalIndex) -> None:
    queries = clustered(40, 100, seed=5)
    alone = [index.by_meaning(query, 10) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: index.by_meaning(query, 10), queries))
    assert alone == together


def test_bit_scores_sum_the_dimensions_whose_bit_is_set(tmp_path: Path) -> None:
    from wellread.index.coarse import CODES, Coarse

    vectors, query = clustered(50, 100), clustered(1, 100, seed=3)[0]
    to_codes(vectors).tofile(tmp_path / CODES)
    scores = Coarse(tmp_path, 50, 0, 100).bit_scores(query, np.arange(50))
    assert scores == pytest.approx(((vectors > 0) * query).sum(axis=1), abs=1e-5)


def test_bytes_keep_vectors_nearly_as_they_are() -> None:
    vectors = clustered(500, 96)
    scale = calibrate(vectors[:200])
    back = check(to_floats(to_bytes(vectors, scale), scale), 96)
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


@given(st.lists(st.integers(0, 20), max_size=20), st.integers(1, 4))
def test_shares_cover_the_spans_once(lengths: list[int], parts: int) -> None:
    ends = np.cumsum(lengths).tolist() if lengths else []
    spans = merged([(end - length, end) for end, length in zip(ends, lengths, strict=True)][::2])
    jobs = shares(spans, parts)
    covered = sorted(place for job in jobs for start, end, _ in job for place in range(start, end))
    assert covered == [place for start, end in spans for place in range(start, end)]
    slots = sorted(slot for job in jobs for start, end, at in job for slot in range(at, at + end - start))
    assert slots == list(range(len(covered)))


def test_one_thread_is_given_back() -> None:
    from wellread.index import blas

    switch = blas._switch()
    if switch is None:
        pytest.skip("this numpy has another BLAS")
    before = switch[0]()
    with blas.one_thread():
        assert switch[0]() == 1
    assert switch[0]() == before
