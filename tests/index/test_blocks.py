"""A segment that is too large to be compared as a whole is compared block by block, when a block is first read."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from tests.index.embedders import WordEmbedder

from wellread.errors import DamagedFile, IndexFault
from wellread.index import blocks, lists, manifest, seal
from wellread.index.blocks import BLOCK, Blocks
from wellread.index.build import BuildOptions, build, remove
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.index.seal import problems
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Passage

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WORDS = ("lighthouse", "harbour", "granite", "copper", "meadow", "violin", "comet", "glacier", "lantern", "orchard", "river")
QUESTIONS = ("lighthouse by the harbour", "copper violin", "a comet over the glacier")


def feed(count: int) -> EmbeddingFeed:
    chance = random.Random(7)
    texts = [" ".join(chance.choices(WORDS, k=12)) for _ in range(count)]
    passages = [Passage(f"p{n}", f"{text} number {n}.", f"{text[:20]} {n}") for n, text in enumerate(texts)]
    return EmbeddingFeed(lambda: streamed(passages), WordEmbedder(), "words")


@pytest.fixture(scope="module")
async def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that a large index has: lists, sketches, words, tables, forgotten passages."""
    folder = tmp_path_factory.mktemp("large")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "CHECKED_WHOLE", 0)
        patch.setattr(lists, "FROM_ROWS", 2_000)
        await build(folder / "index", feed(3_000), BuildOptions())
        remove(folder / "index", ["p17"])
    return folder / "index"


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "CHECKED_WHOLE", 0)
    monkeypatch.setattr("wellread.index.search.SMALL", 0)


async def results(folder: Path) -> list[object]:
    """All ways to look something up."""
    index, found = LocalIndex.open(folder), list[object]()
    try:
        for question in QUESTIONS:
            for mode in ("default", "exact", "thorough"):
                found.append(await index.search(question, WordEmbedder(), 10, SearchOptions(mode=mode)))
        found.append([list(index.passages(f"p{number}")) for number in range(0, 3_000, 500)])
        found.append(index.find_title(index.passage(5).title))
        found.append(index.find_id("p2999"))
        return found
    finally:
        index.close()


def replace(path: Path, content: bytes) -> None:
    """A new file in the place of one: a thread that still reads the old one must not find it cut short."""
    fresh = path.with_name(path.name + ".fresh")
    fresh.write_bytes(content)
    fresh.replace(path)


async def test_every_file_of_a_large_segment_has_sums(large: Path) -> None:
    (segment,) = manifest.load(large).segments
    assert segment.lists
    plain = {name for name in segment.files if not name.startswith(manifest.SUMS)}
    assert {"rows.i8", "codes.bin", "texts.jsonl", "sketch.bin", "words/meta.json"} <= plain
    assert {name.removeprefix(manifest.SUMS) for name in segment.files} == {name for name in plain if segment.files[name].bytes}
    assert list(problems(large)) == []


async def test_of_200_flipped_bits_each_is_noticed_or_changes_nothing(large: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(large, folder)
    right = await results(folder)
    chance = random.Random(19)
    parts = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    noticed = 0
    for _ in range(200):
        path = chance.choice(parts)
        whole = path.read_bytes()
        place, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        replace(path, whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        try:
            assert await results(folder) == right, f"{path.relative_to(folder)}, byte {place}, bit {bit}"
        except (DamagedFile, IndexFault):
            noticed += 1
        replace(path, whole)
    assert noticed > 100  # the others lie where nothing was read
    assert await results(folder) == right


async def test_vectors_that_come_later_are_sealed_when_they_are_complete(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    await build(folder, feed(300), BuildOptions(vectors=False))
    (growing,) = manifest.load(folder).segments
    assert "sums/texts.jsonl" in growing.files
    await build(folder, feed(300), BuildOptions())
    (segment,) = manifest.load(folder).segments
    assert segment.vectors == 300
    assert "sums/rows.i8" in segment.files
    assert list(problems(folder)) == []


async def test_words_are_watched_in_the_background_where_there_are_many(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seal, "_AWAITED", 0)
    folder = tmp_path / "index"
    shutil.copytree(large, folder)
    (postings,) = folder.glob("segments/*/words/*.idx")
    whole = bytearray(postings.read_bytes())
    whole[len(whole) // 2] ^= 16
    postings.write_bytes(whole)
    index = LocalIndex.open(folder)
    noticed, deadline = "", time.monotonic() + 60
    while not noticed and time.monotonic() < deadline:
        try:
            index.by_words("lighthouse", 3)
        except DamagedFile as problem:
            noticed = str(problem)
    index.close()
    assert "has changed" in noticed


@pytest.mark.parametrize("size", [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 600 * BLOCK + 5])
def test_a_change_anywhere_is_seen_and_only_there(size: int, tmp_path: Path) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    path, sums = tmp_path / "data", tmp_path / "sums"
    path.write_bytes(data.tobytes())
    sums.write_bytes(blocks.sums_of(path).tobytes())
    Blocks(path, sums, data).check_all()
    for place in {0, size // 2, size - 1}:
        changed = data.copy()
        changed[place] ^= 1
        with pytest.raises(DamagedFile):
            Blocks(path, sums, changed).check(place, place + 1)
        with pytest.raises(DamagedFile):
            Blocks(path, sums, changed).check_rows(np.array([place]), 1)
        if size > 2 * BLOCK:
            Blocks(path, sums, changed).check((place + BLOCK) % size, (place + BLOCK) % size + 1)
