"""A real server on a loopback port, and a scripted model that plays the usual recipes' part: for benchmarks and tests."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2

from wellread.engine import Engine
from wellread.protocols import Source
from wellread.server import serving
from wellread.server.app import create_app
from wellread.server.options import ServerOptions
from wellread.server.service import Service
from wellread.types import Capabilities, Hit, Prompt, Query

PLAIN = Capabilities(context_tokens=100_000, continues=True)
SCHEMA: dict[str, Any] = {}


@dataclass(frozen=True)
class Shelf(Source):
    """A source that finds the same for every query, after a while."""

    hits: Sequence[Hit]
    delay: float = 0.0
    name: str = "shelf"
    hint: str = ""

    async def search(self, query: Query) -> Sequence[Hit]:
        await anyio.sleep(self.delay)
        return self.hits[: query.limit]


def script(answer: str) -> Callable[[Prompt], str]:
    """One search where it may search, no objection where it is asked for some, else the answer behind the question's number."""

    def say(prompt: Prompt) -> str:
        if "</search_query>" in prompt.stop:
            done = "<search_results>" in prompt.messages[-1].text
            return "<information>146 moons. [1]</information>" if done else "<search_query>moons</search_query>"
        said = "\n".join(message.text for message in prompt.messages)
        if "You check an answer" in said:
            return '{"not_carried": []}'
        number = re.search(r"item (\d+)", said)
        return f"Item {number[1]}. {answer}" if number else answer

    return say


@dataclass
class Live:
    url: str
    service: Service
    options: ServerOptions

    def client(self, **options: Any) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=30, trust_env=False, **options)


@contextmanager
def running(of: Engine, folder: Path, *, tidy: bool = False, **options: Any) -> Iterator[Live]:
    """Serve in a thread until the block ends; `tidy`: with the look for garbage at the start, a long one where tests are run."""
    chosen = replace(ServerOptions(port=0, history=str(folder / "history.sqlite"), stop_seconds=0.5), **options)
    app = create_app(engine=of, options=chosen)
    if SCHEMA:
        app.openapi = SCHEMA.copy  # the same for all, and a quarter of a second's work
    listening = serving.listen(chosen)
    server = serving.server(app, chosen)
    if not tidy:
        server._looks.begin = lambda: None
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        SCHEMA.update(app.openapi())
        yield Live(f"http://127.0.0.1:{listening.getsockname()[1]}", app.state.service, chosen)
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        assert not thread.is_alive(), "the server did not stop"
