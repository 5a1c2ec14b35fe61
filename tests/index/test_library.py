"""The library in the wheel is what its articles and the build say, and is searched well enough."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.index.embedders import postings

from wellread.embedding.onnx import OnnxEmbedder, Options
from wellread.index.search import LocalIndex, SearchOptions
from wellread.sources.index import library_path

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).parents[2] / "scripts" / "build_library.py"
    spec = importlib.util.spec_from_file_location("build_library", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shipped() -> LocalIndex:
    return LocalIndex.open(library_path())


def floats(index: LocalIndex) -> np.ndarray:
    rows = index.segments[0].rows.matrix.astype(np.float32) * np.asarray(index.manifest.scale, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.slow
async def test_a_rebuild_gives_the_same_library(script: ModuleType, shipped: LocalIndex, tmp_path: Path) -> None:
    await script.build_library(tmp_path, OnnxEmbedder(options=Options(arithmetic="block")))
    rebuilt = LocalIndex.open(tmp_path / "index")
    ours, theirs = shipped.segments[0], rebuilt.segments[0]
    for name in ("texts.jsonl", "offsets.u64", "ids.tab", "documents.tab", "titles.tab"):
        assert ours.entry.files[name] == theirs.entry.files[name], f"{name}: run scripts/build_library.py"
    assert list(postings(ours.words)) == list(postings(theirs.words))
    # Another processor may round an int8 model's sums otherwise: the same vectors, not the same bits.
    assert (floats(shipped) * floats(rebuilt)).sum(axis=1).min() > 0.98
    flipped = np.unpackbits(ours.coarse.codes ^ theirs.coarse.codes, axis=1).mean()
    assert flipped < 0.03
    questions = library_path().parent / "questions.jsonl"
    assert questions.read_text() == (tmp_path / "questions.jsonl").read_text()


async def test_gold_passages_are_found(shipped: LocalIndex) -> None:
    embedder = OnnxEmbedder()
    found, asked = Counter[str](), Counter[str]()
    for line in (library_path().parent / "questions.jsonl").read_text().splitlines():
        question = json.loads(line)
        if question["gold"]:
            hits = await shipped.search(question["question"], embedder, 5)
            found[question["type"]] += set(question["gold"]) <= {hit.id for hit in hits}
            asked[question["type"]] += 1
    assert asked["one-step"] >= 60
    assert asked["two-step"] >= 40
    assert found["one-step"] / asked["one-step"] >= 0.95
    assert found["two-step"] / asked["two-step"] >= 0.75


def test_every_link_leads_somewhere(shipped: LocalIndex) -> None:
    for row in range(shipped.manifest.rows):
        for title in shipped.passage(row).links:
            assert shipped.find_title(title), f"{shipped.passage(row).id} links to {title!r}"


def test_articles_are_split_evenly(script: ModuleType) -> None:
    short, long = "word " * 60, "word " * 130
    assert script.grouped([short, short]) == [[short, short]]
    assert script.grouped([short, short, long]) == [[short, short], [long]]
    assert script.grouped([long * 3]) == [[long * 3]]  # one paragraph is never cut
    assert script.shown("[[A (b)|the A]] and [[C]]") == "the A and C"


async def test_words_alone_need_no_embedder(shipped: LocalIndex) -> None:
    hits = await shipped.search("largest moon of Saturn", None, 3, SearchOptions(meaning=False))
    assert any("Titan" in (hit.text or "") for hit in hits)
