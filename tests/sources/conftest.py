"""Sources built the way the engine builds them, closed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from tests.sources.kit import TestKit
from tests.wire import searches
from tests.wire.loopback import Answer, Loopback

from wellread import plugins
from wellread.protocols import Closing, Source

KEYS = dict.fromkeys(("NEWSAPI_KEY", "TAVILY_API_KEY", "BRAVE_API_KEY", "SLACK_TOKEN"), searches.KEY)
Build = Callable[..., Source]
Serve = Callable[[Answer], Loopback]


@pytest.fixture
async def build() -> AsyncIterator[Build]:
    """`build("newsapi?base=…")`, with the stand-ins' keys unless others are given."""
    made: list[Source] = []

    def make(spec: str, **kit: object) -> Source:
        parsed = plugins.parse_spec(spec)
        source = plugins.load("sources", parsed.name)(parsed, TestKit(**{"environ": KEYS, **kit}))
        made.append(source)
        return source

    yield make
    for source in made:
        if isinstance(source, Closing):
            await source.aclose()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(answer)`: a stand-in on loopback until the test ends."""
    running: list[object] = []

    def start(answer: Answer) -> Loopback:
        context = Loopback(answer).serving()
        running.append(context)
        return context.__enter__()

    yield start
    for context in running:
        context.__exit__(None, None, None)
