"""What holds for every test: no network but loopback, no keys, no settings of the person who runs them."""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.services.servers"]  # real servers as fixtures, for any test
KEYS = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "NEWSAPI_KEY",
    "NEWS_API_KEY",
    "TAVILY_API_KEY",
    "BRAVE_API_KEY",
    "BRAVE_SEARCH_API_KEY",
    "SLACK_TOKEN",
    "SLACK_USER_TOKEN",
    "ELASTICSEARCH_API_KEY",
)


# Loaded by name once, it watches this process; on the path of every Python that a test starts, it watches that one too.
WATCH = str(Path(__file__).parent / "watch")
sys.path.insert(0, WATCH)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [WATCH, os.environ.get("PYTHONPATH")]))
importlib.import_module("sitecustomize" if "sitecustomize" not in sys.modules else "tests.watch.sitecustomize")

# A busy machine is slow at drawing examples, too.
settings.register_profile("patient", suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a machine may be busy
settings.register_profile("brief", settings.get_profile("patient"), max_examples=25)  # `make quick`
settings.load_profile("patient")


HOMES = itertools.count()


class _Patient:
    """`sys` for `threading`: Python 3.11 refuses a thread its trace function, which measuring coverage needs, while another
    thread installs its own, and the thread is lost with all that waits for it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def settrace(self, function: Any) -> None:
        for _ in range(1000):
            try:
                return sys.settrace(function)
            except RuntimeError:
                time.sleep(0.001)
        return sys.settrace(function)


threading._sys = _Patient()  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end: no look for garbage goes through it, now or later."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each test has an empty home and no settings."""
    home = tmp_path_factory.getbasetemp() / f"home{next(HOMES)}"  # `mktemp` would look at all homes there are
    home.mkdir()
    for name in list(os.environ):
        if name.startswith("WELLREAD_") and name != "WELLREAD_REQUIRE_SERVICES":
            monkeypatch.delenv(name)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # nothing listens on the discard port
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")  # not the one of who runs them
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(scope="session")
def need() -> Callable[[bool, str], None]:
    """`need(found, "mediawiki")`: skip without a service, or fail where all services must be there."""

    def check(found: bool, what: str) -> None:
        if found:
            return
        message = f"{what} is not installed"
        if os.environ.get("WELLREAD_REQUIRE_SERVICES"):
            pytest.fail(message)
        pytest.skip(message)

    return check


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real questions and passages beside the project; tests that need it are skipped without."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the data beside the project is not there")
    return folder
