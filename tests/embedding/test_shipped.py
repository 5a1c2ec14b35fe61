"""The embedder in the package, on real sentences and on all kinds of text."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellread.embedding.onnx import OnnxEmbedder, Options, verify
from wellread.protocols import Embedder, trained
from wellread.questions.languages import NAMES

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
REFERENCE = np.load(Path(__file__).parent / "reference.npz")
SENTENCES = [str(sentence) for sentence in REFERENCE["sentences"]]
VARIED = [
    "Why is the sky blue?",
    "",
    "naïve Ångström 東京 Москва 🎉🎉",
    " ".join(SENTENCES[:5]),
    "a",
    " ".join(SENTENCES[:40]),
    "x" * 500,
    "The Danube flows through ten countries, more than any other river.",
]


async def test_is_close_to_the_float32_model(embedder: OnnxEmbedder) -> None:
    assert len(SENTENCES) == 200
    vectors = await embedder.embed(SENTENCES, kind="passage")
    cosines = (vectors * REFERENCE["vectors"].astype(np.float32)).sum(axis=1)
    assert cosines.min() >= 0.98  # the bar
    assert cosines.mean() >= 0.998  # what this quantisation reaches; less means that something broke


async def test_shape_type_and_length(embedder: OnnxEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    vectors = await embedder.embed(VARIED, kind="query")
    assert vectors.shape == (len(VARIED), embedder.dimensions) == (len(VARIED), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.name == "onnx:all-minilm-l6-v2"


async def test_nothing_gives_no_rows(embedder: OnnxEmbedder) -> None:
    assert (await embedder.embed([], kind="query")).shape == (0, 384)


async def test_a_vector_does_not_depend_on_its_batch(embedder: OnnxEmbedder) -> None:
    together = await embedder.embed(VARIED, kind="passage")
    backwards = await embedder.embed(VARIED[::-1], kind="passage")
    large = OnnxEmbedder(options=Options(threads=1, batch_tokens=8192, arithmetic="block")).embed_now(VARIED, kind="passage")
    alone = np.concatenate([embedder.embed_now([text], kind="passage") for text in VARIED])
    for other in (backwards[::-1], large, alone):
        assert (together * other).sum(axis=1).min() > 0.999


def test_what_was_asked_for_lately_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, many = OnnxEmbedder(options=Options(threads=1)), "x" * 2001
    first = fresh.embed_now(["a question", "a sentence", "a question", many], kind="passage")
    computed: list[int] = []
    original = fresh.load().vectors

    def counted(batch: list[list[int]]) -> object:
        computed.append(len(batch))
        return original(batch)

    monkeypatch.setattr(fresh.load(), "vectors", counted)
    again = fresh.embed_now([many, "a sentence", "a question", "another"], kind="passage")
    assert sum(computed) == 2  # what is long is not kept
    np.testing.assert_array_equal(again[[2, 1, 2]], first[:3])
    np.testing.assert_array_equal(again[3], fresh.embed_now(["another"], kind="query")[0])


async def test_meaning_is_nearer_than_words(embedder: OnnxEmbedder) -> None:
    question = await embedder.embed(["Who invented the telephone?"], kind="query")
    passages = ["Bell patented a device that carries speech over a wire in 1876.", "The telephone box on our street is red."]
    near, far = (await embedder.embed([*passages, "Bananas are rich in potassium."], kind="passage"))[[0, 2]] @ question[0]
    assert near > far + 0.3


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=80))
def test_any_text_has_a_unit_vector(embedder: OnnxEmbedder, text: str) -> None:
    vectors = embedder.embed_now([text], kind="passage")
    assert abs(float(np.linalg.norm(vectors)) - 1) < 1e-5


def test_broken_and_strange_characters(embedder: OnnxEmbedder) -> None:
    texts = ["half a pair \ud800 here", "\x00\x07 control", "\u202e right to left", "é" * 3000, "\n\n\t "]
    assert np.isfinite(embedder.embed_now(texts, kind="passage")).all()


def test_a_huge_text_is_cut_before_it_costs(embedder: OnnxEmbedder) -> None:
    text = " ".join(SENTENCES)
    huge = text * (5_000_000 // len(text) + 1)
    start = time.perf_counter()
    vector = embedder.embed_now([huge], kind="passage")
    assert time.perf_counter() - start < 5
    np.testing.assert_allclose(vector, embedder.embed_now([text], kind="passage"), atol=1e-5)


def test_one_text_instead_of_several_is_a_mistake(embedder: OnnxEmbedder) -> None:
    with pytest.raises(TypeError, match="sequence of texts"):
        embedder.embed_now("not a list", kind="query")


async def test_a_cancelled_call_stops_its_work(embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, done, begun = embedder.load("passage"), [0], asyncio.Event()
    original, loop = runtime.vectors, asyncio.get_running_loop()

    def counted(batch: list[list[int]]) -> object:
        done[0] += 1
        loop.call_soon_threadsafe(begun.set)
        return original(batch)

    monkeypatch.setattr(runtime, "vectors", counted)
    task = asyncio.create_task(embedder.embed(SENTENCES * 5, kind="passage"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.5)  # the batch under way ends
    stopped_at = done[0]
    await asyncio.sleep(0.5)
    assert done[0] == stopped_at < 10


async def test_the_event_loop_goes_on(embedder: OnnxEmbedder) -> None:
    gaps: list[float] = []

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.005)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    ticking = asyncio.create_task(tick())
    start = time.perf_counter()
    await embedder.embed([" ".join(SENTENCES[:20])] * 6, kind="passage")
    took = time.perf_counter() - start
    ticking.cancel()
    # Busy machines delay any process; work in the loop would show as one gap of the whole time.
    assert max(gaps) < took / 3


def test_many_threads_get_the_same_vectors(embedder: OnnxEmbedder) -> None:
    expected = embedder.embed_now(SENTENCES[:8], kind="passage")
    with ThreadPoolExecutor(4) as pool:
        again = [pool.submit(embedder.embed_now, SENTENCES[:8], kind="passage") for _ in range(6)]
        for found in again:
            np.testing.assert_allclose(found.result(), expected, atol=1e-5)


def test_threads_that_load_at_once_load_one_model() -> None:
    fresh = OnnxEmbedder(options=Options(threads=1))
    with ThreadPoolExecutor(4) as pool:
        assert len({id(loading.result()) for loading in [pool.submit(fresh.load) for _ in range(4)]}) == 1


def test_checksums_of_the_package_are_right() -> None:
    verify()


def test_importing_loads_no_library() -> None:
    code = (
        "import sys, wellread.embedding.onnx as o, wellread.embedding.openai; e = o.OnnxEmbedder(); assert e.dimensions == 384; "
        "print([m for m in ('numpy', 'onnxruntime', 'tokenizers', 'httpx2', 'stamina', 'huggingface_hub') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_is_not_asked_in_other_letters() -> None:
    """It has no words of these: `trained` leaves it out of searches (docs/log/languages.md)."""
    assert trained(OnnxEmbedder(), None) is not None
    unknown = {code for code in NAMES if trained(OnnxEmbedder(), code) is None}
    assert unknown == {"ar", "el", "fa", "he", "hi", "ja", "ko", "ru", "th", "uk", "zh"}
    another = OnnxEmbedder(Path("another"))
    assert trained(another, "th") is another
