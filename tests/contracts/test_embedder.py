"""What every embedder keeps. A new one is a line in `EMBEDDERS`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest
from tests.embedding.servers import EmbeddingServer
from tests.embedding.tiny import tiny_model

from wellread.parts import Parts
from wellread.protocols import Closing, Embedder
from wellread.settings import Settings

pytestmark = pytest.mark.anyio
TEXTS = ["red", "", "a much longer text about green and blue " * 30, "🎉 ünïcödé", "half a pair \udfff", "red"]

EMBEDDERS: dict[str, Callable[[Path, EmbeddingServer], str]] = {
    "the one in the package": lambda folder, server: "onnx?threads=1",
    "onnx folder": lambda folder, server: f"onnx:{tiny_model(folder)}",
    "openai": lambda folder, server: f"openai:some-model@{server.url}?batch=2",
    "openai base64": lambda folder, server: f"openai:some-model@{server.url}?encoding=base64",
}


@pytest.fixture(params=list(EMBEDDERS))
async def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Embedder]:
    with EmbeddingServer() as server:
        made = Parts(Settings(), environ={}).embedder(EMBEDDERS[request.param](tmp_path / "model", server))
        yield made
        if isinstance(made, Closing):
            await made.aclose()


async def test_keeps_the_contract(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    for kind in ("query", "passage"):
        vectors = await embedder.embed(TEXTS, kind=kind)
        assert vectors.shape == (len(TEXTS), embedder.dimensions)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(vectors[0], vectors[-1], atol=1e-5)
    assert (await embedder.embed([], kind="query")).shape == (0, embedder.dimensions)


async def test_rows_follow_the_texts(embedder: Embedder) -> None:
    there = await embedder.embed(TEXTS, kind="passage")
    back = await embedder.embed(TEXTS[::-1], kind="passage")
    assert (there * back[::-1]).sum(axis=1).min() > 0.999


async def test_many_calls_at_once(embedder: Embedder) -> None:
    several = await asyncio.gather(*(embedder.embed(TEXTS[:2], kind="query") for _ in range(6)))
    for vectors in several:
        np.testing.assert_allclose(vectors, several[0], atol=1e-5)


async def test_its_name_builds_the_same_again(embedder: Embedder) -> None:
    again = Parts(Settings(), environ={}).embedder(embedder.name)
    assert again.name == embedder.name
    np.testing.assert_allclose(await again.embed(["red"], kind="query"), await embedder.embed(["red"], kind="query"), atol=1e-5)
    if isinstance(again, Closing):
        await again.aclose()
