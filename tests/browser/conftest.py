"""Chromium, driven for real. Every page is watched: no script error, no refused resource, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.server.stage import Live, engine, quoting, running

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
LOUD = ("error", "warning")
LONG = "Saturn has 146 moons. [1] It likes cheese. [1] " + "Titan is the largest of them. [1] " * 12


@pytest.fixture(scope="module")  # Playwright's event loop must not outlive these tests
def browser(need: Callable[[bool, str], None]) -> Iterator[Browser]:
    need(CHROMIUM.exists(), "chromium")
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
        yield one
        one.close()


@pytest.fixture(scope="module")
def library(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The first minute: no model, the library in the package."""
    with running(quoting(), tmp_path_factory.mktemp("library")) as server:
        yield server


@pytest.fixture(scope="module")
def slow(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A model that takes a few seconds for its words."""
    with running(engine(answer=LONG.strip(), delay=0.04), tmp_path_factory.mktemp("slow")) as server:
        yield server


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """`visit(server, "/path")` opens a page in a context of its own, or of the one given."""
    contexts: list[BrowserContext] = []
    troubles: list[str] = []
    excused: list[str] = []

    def open(
        server: Live, path: str = "/", *, context: BrowserContext | None = None, expected: str = "none", **options: Any
    ) -> Page:
        if context is None:
            context = browser.new_context(**{"viewport": {"width": 1200, "height": 820}, **options})
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: troubles.append(f"script: {error}"))
        page.on("console", lambda message: troubles.append(message.text) if message.type in LOUD else None)
        page.on("request", lambda request: troubles.append(request.url) if not request.url.startswith(server.url) else None)
        page.goto(server.url + path)
        excused.append(expected)
        return page

    yield open
    for context in contexts:
        context.close()
    assert not [trouble for trouble in troubles if not any(words in trouble for words in excused)]
