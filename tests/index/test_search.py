from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.index.embedders import WordEmbedder

from wellread.errors import DamagedFile, IndexFault
from wellread.index.build import BuildOptions, build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.index.rows import ROWS, Rows
from wellread.index.search import LocalIndex, SearchOptions
from wellread.types import Passage

pytestmark = pytest.mark.anyio

PASSAGES = [
    Passage(
        "titan#0", "Titan is the largest moon of Saturn.", "Titan (moon)", "library:titan", document="titan", links=("Saturn",)
    ),
    Passage("saturn#0", "Saturn has bright rings.", "Saturn", "library:saturn", document="saturn", links=("Titan (moon)", "Sun")),
    Passage("saturn#1", "Saturday is named after it; café owners rest.", "Saturn", "library:saturn", document="saturn"),
    Passage("mars#0", "Mars is red because of rust.", "Mars", published="2024-01-02", document="mars"),
]


async def make(folder: Path, passages: list[Passage] = PASSAGES, **options: bool) -> LocalIndex:
    feed = EmbeddingFeed(lambda: streamed(passages), WordEmbedder(), "four passages")
    await build(folder, feed, BuildOptions(**options))
    return LocalIndex.open(folder)


async def test_finds_by_words_and_by_meaning(tmp_path: Path) -> None:
    index = await make(tmp_path)
    embedder = WordEmbedder()
    for options in (SearchOptions(), SearchOptions(words=False), SearchOptions(meaning=False)):
        hits = await index.search("Which moon of Saturn is the largest?", embedder, 3, options)
        assert hits[0].id == "titan#0"
        assert hits[0].text == "Titan is the largest moon of Saturn."
        assert hits[0].document == "titan"
        assert hits[0].links == ("Saturn",)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == pytest.approx(1.0)


async def test_passages_come_back_unchanged(tmp_path: Path) -> None:
    odd = [Passage("x", 'Line\none "quoted" \u2028 \x00 café 東京 \ud800', "T\t", None, document=None, links=("A", "B"))]
    index = await make(tmp_path, PASSAGES + odd)
    assert [index.passage(row) for row in range(4)] == PASSAGES
    assert index.passage(4).text == odd[0].text
    assert index.passage(4).links == ("A", "B")


async def test_documents_and_titles_are_found_by_name(tmp_path: Path) -> None:
    index = await make(tmp_path)
    assert [hit.id for hit in index.passages("saturn")] == ["saturn#0", "saturn#1"]
    assert [hit.id for hit in index.find_title("titan (MOON)")] == ["titan#0"]
    assert index.find_title("Pluto") == []
    assert not index.passages("pluto")
    assert index.find_id("mars#0") == [3]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00\x01",
        '"',
        "a AND",
        "(((",
        "title:saturn^9",
        "*",
        "?" * 500,
        "the of and",
        "café " * 30_000,
        "\ud800",
        "ÜBER",
    ],
)
async def test_any_text_can_be_asked(tmp_path: Path, text: str) -> None:
    index = await make(tmp_path)
    hits = await index.search(text, WordEmbedder(), 2)
    assert len(hits) <= 2


async def test_accents_and_case_do_not_matter_to_words(tmp_path: Path) -> None:
    index = await make(tmp_path)
    hits = await index.search("CAFE owner", None, 5)
    assert [hit.id for hit in hits] == ["saturn#1"]


def everything(folder: Path) -> list[Path]:
    return [folder, *sorted(folder.rglob("*"))]


def allow_writing(folder: Path, allowed: bool) -> None:
    for path in everything(folder):
        path.chmod((0o755 if path.is_dir() else 0o644) if allowed else (0o555 if path.is_dir() else 0o444))


async def test_opens_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    await make(tmp_path)
    before = everything(tmp_path)
    allow_writing(tmp_path, False)
    try:
        hits = await LocalIndex.open(tmp_path).search("red rust", WordEmbedder(), 1)
    finally:
        allow_writing(tmp_path, True)
    assert hits[0].id == "mars#0"
    assert everything(tmp_path) == before  # not even a lock file


async def test_another_embedder_is_refused(tmp_path: Path) -> None:
    index = await make(tmp_path)
    with pytest.raises(IndexFault, match=r"built with the embedder words-64 .* other"):
        await index.search("moon", WordEmbedder(name="other"))
    with pytest.raises(IndexFault, match="64 dimensions"):
        await index.search("moon", WordEmbedder(dimensions=32))


async def test_no_faiss_for_a_small_index(tmp_path: Path) -> None:
    index = await make(tmp_path)
    code = (
        "import sys, asyncio; from wellread.index.search import LocalIndex; from tests.index.embedders import WordEmbedder\n"
        f"i = LocalIndex.open({str(index.folder)!r}); assert asyncio.run(i.search('moon', WordEmbedder(), 1))\n"
        "assert not {'faiss', 'pyarrow'} & set(sys.modules)"
    )
    run_python(code)


def run_python(code: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


async def test_what_is_not_an_index_says_so(tmp_path: Path) -> None:
    with pytest.raises(IndexFault, match="is not an index"):
        LocalIndex.open(tmp_path / "nothing")
    index = await make(tmp_path / "i")
    (tmp_path / "i" / "manifest.json").write_text("{")
    with pytest.raises(DamagedFile, match="damaged"):
        LocalIndex.open(index.folder)
    (tmp_path / "i" / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(IndexFault, match="upgrade wellread"):
        LocalIndex.open(index.folder)


async def test_damaged_files_are_named(tmp_path: Path) -> None:
    index = await make(tmp_path)
    segment = index.folder / "segments" / index.manifest.segments[0].name
    for path in sorted(path for path in segment.rglob("*") if path.is_file() and path.stat().st_size > 1):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DamagedFile, match=f"{path.name} has {len(whole) // 2} bytes instead of {len(whole)}"):
            LocalIndex.open(tmp_path)
        path.write_bytes(whole)
    LocalIndex.open(tmp_path)
    (segment / "texts.jsonl").unlink()
    with pytest.raises(DamagedFile, match=r"texts\.jsonl is missing"):
        LocalIndex.open(tmp_path)


@pytest.mark.parametrize("dimensions", [24, 384])
def test_the_score_of_a_row_does_not_depend_on_the_rows_beside_it(
    tmp_path: Path, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards have other neighbours than one index, and must score alike to the last bit."""
    monkeypatch.setattr("wellread.index.rows._LARGE", 0)  # several threads read
    chance = np.random.default_rng(3)
    stored = chance.integers(-127, 128, (1500, dimensions), np.int8)
    stored.tofile(tmp_path / ROWS)
    rows, query = Rows(tmp_path / ROWS, 1500, dimensions), chance.standard_normal(dimensions).astype(np.float32)
    everything = rows.all_scores(query)
    with ThreadPoolExecutor(4) as readers:
        for some in ([7], [1499, 0, 513], list(range(3, 1500, 7))):
            picked = np.array(some, np.int64)
            assert np.array_equal(rows.scores(query, picked), everything[picked])
            assert np.array_equal(rows.scores(query, picked, readers), everything[picked])


async def test_as_many_candidates_are_read_again_as_the_multiplier_says(tmp_path: Path) -> None:
    index = await make(tmp_path, [Passage(str(n), f"word{n} thing{n % 7} other{n % 11}") for n in range(2000)])
    vector = (await WordEmbedder().embed(["thing3 word31 other5"], kind="query"))[0]
    few, many = (
        index.by_meaning(vector, 10, SearchOptions(mode="exact", similarity_search_rescore_multiplier=times))
        for times in (1, 100)
    )
    assert set(few[0].tolist()) != set(many[0].tolist())
    assert few[1].sum() < many[1].sum()
