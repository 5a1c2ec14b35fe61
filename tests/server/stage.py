"""A real server on a loopback port, with a scripted model and a source in memory."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
from tests.strategies.bench import Shelf

from wellread.engine import Engine
from wellread.models.scripted import ScriptedModel
from wellread.server import serving
from wellread.server.app import create_app
from wellread.server.options import ServerOptions
from wellread.server.service import Service
from wellread.settings import Settings
from wellread.types import Capabilities, Hit, Prompt

TOKEN = "a-token-that-nobody-guesses"
ANSWER = "Saturn has 146 moons. [1] It likes cheese. [1]"
SCHEMA: dict[str, Any] = {}
PLAIN = Capabilities(context_tokens=100_000, continues=True)
HITS = (
    Hit(
        "saturn",
        "Saturn has 146 moons. Titan is the largest of them.",
        "Saturn",
        "https://planets.example/saturn",
        source="shelf",
    ),
    Hit("titan", "Titan was discovered by Christiaan Huygens in 1655.", "Titan", "https://planets.example/titan", source="shelf"),
)


@dataclass
class Actor:
    """What the model says: one search, what it found, then an answer that names the question's number."""

    answer: str = ANSWER
    prompts: list[Prompt] = field(default_factory=list)

    def __call__(self, prompt: Prompt) -> str:
        self.prompts.append(prompt)
        if "</search_query>" in prompt.stop:
            searched = "<search_results>" in prompt.messages[-1].text
            return (
                "<information>Saturn has 146 moons. [1]</information>"
                if searched
                else "<search_query>moons of Saturn</search_query>"
            )
        said = "\n".join(message.text for message in prompt.messages)
        if "You check an answer" in said:
            return '{"not_carried": []}'  # lets everything pass, so it is not listened to
        number = re.search(r"item (\d+)", said)
        return f"Number {number[1]}: {self.answer}" if number else self.answer


def engine(
    *,
    answer: str = "Saturn has 146 moons. [1] It likes cheese. [1]",
    delay: float = 0.0,
    hits: Sequence[Hit] = HITS,
    **settings: Any,
) -> Engine:
    """An engine whose answers come word by word, `delay` seconds apart."""
    model = ScriptedModel(Actor(answer), capabilities=PLAIN, piece=8, delay=delay)
    return Engine(Settings(**{"strategy": "iterative", **settings}), model=model, source=Shelf(hits, everything=True))


def quoting(**settings: Any) -> Engine:
    """No model: quotes from the library in the package."""
    return Engine(Settings(model="none", effort="low", **settings))


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


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a whole stream; ids must count up. On a busy machine there are pings among them."""
    blocks = [block for block in text.split("\n\n") if block.strip() and not block.startswith(":")]
    found = [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]
    numbers = [int(one["id"]) for one in found]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
    return [json.loads(one["data"]) for one in found]


def stream(client: httpx2.Client, method: str, path: str, **options: Any) -> list[dict[str, Any]]:
    """Read a stream of events to its end."""
    with client.stream(method, path, **options) as reply:
        assert reply.status_code == 200, reply.read()
        return events_of("".join(reply.iter_text()))


def ask(client: httpx2.Client, question: str = "How many moons has Saturn?", **body: Any) -> str:
    """Begin a detached run."""
    reply = client.post("/api/runs", json={"question": question, **body})
    assert reply.status_code == 202, reply.text
    return reply.json()["id"]


def finished(client: httpx2.Client, run: str) -> Mapping[str, Any]:
    """Wait for the end of a run."""
    log = stream(client, "GET", f"/api/runs/{run}/events")
    assert log[-1]["event"] == "ended"
    return client.get(f"/api/runs/{run}").json()


def until(check: Any, seconds: float = 5.0) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.01)
