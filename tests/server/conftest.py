from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.server.stage import Live, engine, quoting, running


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server with a model that answers at once."""
    with running(engine(), tmp_path_factory.mktemp("live")) as server:
        yield server


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server without a model: the library, quoted."""
    with running(quoting(), tmp_path_factory.mktemp("library")) as server:
        yield server


@pytest.fixture
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client() as one:
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
