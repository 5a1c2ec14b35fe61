from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from tests.embedding.servers import EmbeddingServer
from tests.embedding.tiny import tiny_model

from wellread.embedding.onnx import OnnxEmbedder, Options


class Forgetful(dict[Any, Any]):
    """Keeps nothing: who compares what was computed twice wants it computed twice."""

    def __ior__(self, other: Any) -> Self:
        return self


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    """The one in the package as it is shipped, loaded once; `test_arithmetic` has its other forms."""
    made = OnnxEmbedder(options=Options(threads=2, arithmetic="block"))
    made.load()
    made._kept = Forgetful()  # pyright: ignore[reportPrivateUsage]
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """`folder(…)` writes a tiny model; see `tiny_model`."""

    def write(name: str = "tiny", **how: object) -> Path:
        return tiny_model(tmp_path / name, **how)  # pyright: ignore[reportArgumentType]

    return write


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running
