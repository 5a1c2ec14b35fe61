"""A real server on a loopback port, with a scripted model and a source in memory."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from benchmarks.stage import Live as Live
from benchmarks.stage import running as running
from tests.strategies.bench import Shelf

from wellread.engine import Engine
from wellread.models.scripted import ScriptedModel
from wellread.settings import Settings
from wellread.types import Capabilities, Hit, Prompt

TOKEN = "a-token-that-nobody-guesses"
ANSWER = "Saturn has 146 moons. [1] It likes cheese. [1]"
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


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a whole stream; ids must count up. On a busy machine there are pings among them."""
    blocks = [block for block in text.split("\n\n") if block.strip() and not block.startswith(":")]
    found = [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]
    numbers = [int(one["id"]) for one in found]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
    return [json.loads(one["data"]) for one in found]


def stream(client: httpx2.Client, method: str, path: str, **options: Any) -> list[dict[str, Any]]:
    """Read a stream of events to its end."""
    options["headers"] = {"Accept": "text/event-stream", **options.get("headers", {})}
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
