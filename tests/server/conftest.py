from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from tests.server.stage import Live, engine, quoting, running
from tests.services.postgres import Cluster, cluster, programs


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


@pytest.fixture(scope="session")
def postgres(need: Callable[[bool, str], None]) -> Iterator[Cluster]:
    """A cluster of PostgreSQL for as many databases as there are tests."""
    need(programs() is not None, "postgresql")
    with cluster() as made:
        yield made


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.service)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A place for a history, in each of the engines."""
    if request.param == "sqlite":
        return tmp_path / "history.sqlite"
    return request.getfixturevalue("postgres").database()
