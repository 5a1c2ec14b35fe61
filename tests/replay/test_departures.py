"""A replay shows exactly where a run leaves its recording; damaged and partial recordings are said to be so."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.replay.test_all_strategies import as_json
from tests.strategies.bench import Shelf
from tests.strategies.test_all import HITS, PARAMS, QUESTION, say

from wellread.engine import Engine
from wellread.errors import DamagedFile, ReplayMismatch, SourceBusy, UsageError, WrongKey
from wellread.events import Answered, Event, Notice
from wellread.models.scripted import ScriptedModel
from wellread.prompts import render
from wellread.replay.runs import first_difference, recorded, replayed
from wellread.settings import Settings
from wellread.types import Completion, Fault, Prompt

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def record(path: Path, strategy: str = "iterative", **options: Any) -> list[Event]:
    model = options.pop("model", None) or ScriptedModel(say)
    shelf = options.pop("shelf", None) or Shelf(HITS)
    async with Engine(Settings(**options.pop("settings", {})), model=model, source=shelf, fallback=shelf) as engine:
        params = {**PARAMS.get(strategy, {}), **options.pop("params", {})}
        return [event async for event in recorded(engine, path, QUESTION, strategy=strategy, params=params, **options)]


async def replay(path: Path, **options: Any) -> list[Event]:
    return [event async for event in replayed(path, **options)]


@pytest.fixture
def change_prompt(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Change one character of a prompt."""

    def change(name: str, old: str, new: str) -> None:
        template, variables = render._load(name)
        assert old in template
        known = render._load

        def load(asked: str) -> tuple[str, frozenset[str]]:
            return (template.replace(old, new, 1), variables) if asked == name else known(asked)

        monkeypatch.setattr(render, "_load", load)

    return change


@pytest.mark.parametrize(
    ("strategy", "prompt", "role"),
    [("iterative", "answer", "answer"), ("fanout", "fanout-queries", "queries"), ("digest", "summary", "summary")],
)
async def test_one_changed_character_of_a_prompt_is_located(
    strategy: str, prompt: str, role: str, tmp_path: Path, change_prompt: Any
) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, strategy)
    word = next(word for word in render._load(prompt)[0].split()[5:] if "{{" not in word)  # a variable's name is never asked
    change_prompt(prompt, word, word[:-1] + "#")
    with pytest.raises(ReplayMismatch) as caught:
        await replay(path, patience=1)
    assert "model scripted, stream) departs from the recording at messages[0].text, character" in str(caught.value)
    assert f"{word[:-1]}#" in str(caught.value)
    changed = [line for line in caught.value.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert len(changed) == 2
    assert word in changed[0]
    assert f"{word[:-1]}#" in changed[1]


async def test_another_parameter_or_question_departs_at_the_first_event(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, "fanout")
    with pytest.raises(ReplayMismatch, match=r"event 1 \(started\) departs .* at params.top_k: '5' was reported, now it is '3'"):
        await replay(path, params={"top_k": 3})
    with pytest.raises(ReplayMismatch, match=r"at question, character 10"):
        await replay(path, question="When was Barbie released?")
    with pytest.raises(ReplayMismatch, match="at strategy, character 1"):
        await replay(path, strategy="digest")


async def test_a_program_that_says_something_else_departs_at_that_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    then = await record(path, "corrective")
    monkeypatch.setattr(
        "wellread.strategies.corrective.Corrective.decide", lambda self, grades, **_: ("correct", "because I say so")
    )
    seen: list[Event] = []

    async def collect() -> None:
        async for event in replayed(path, patience=1):
            seen.append(event)

    with pytest.raises(ReplayMismatch, match=r"\(decided\) departs from the recording at why"):
        await collect()
    assert as_json(seen) == as_json(then[: len(seen)])


async def test_a_run_that_asks_for_less_is_not_left_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    await record(path, "fanout", shelf=Shelf(HITS, delay=0.01))

    async def skip(self: Any, run: Any, haul: Any) -> None:
        haul.hypothesis = haul.question

    monkeypatch.setattr("wellread.strategies.fanout.Fanout._hypothesis", skip)
    with pytest.raises(ReplayMismatch):
        await asyncio.wait_for(replay(path, patience=0.2), 10)


async def test_a_query_that_took_too_long_does_so_again(tmp_path: Path) -> None:
    class Slow(Shelf):
        async def search(self, query: Any) -> Any:
            await asyncio.sleep(5 if query.text == "released" else 0)
            return await super().search(query)

    path = tmp_path / "run.jsonl"
    then = await record(path, "fanout", shelf=Slow(HITS), params={"query_seconds": 0.3})
    assert any(isinstance(event, Notice) and "took longer" in event.message for event in then)
    assert as_json(await asyncio.wait_for(replay(path), 5)) == as_json(then)


async def test_a_run_that_was_left_replays_as_far_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen: list[Event] = []
    async with Engine(Settings(), model=ScriptedModel(say, delay=0.001), source=Shelf(HITS)) as engine:
        run = recorded(engine, path, QUESTION, strategy="iterative", params={"protocol": "text"})
        async with aclosing(run) as stream:
            async for event in stream:
                seen.append(event)
                if len(seen) == 5:
                    break
    assert as_json(await replay(path, patience=1)) == as_json(seen)


async def test_a_packed_recording_replays_too(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    then = await record(path, "react")
    assert gzip.decompress(path.read_bytes()).startswith(b'{"wellread recording": 2')
    assert as_json(await replay(path)) == as_json(then)


async def test_a_chat_replays_with_its_history(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    model = ScriptedModel(lambda prompt: QUESTION if "Follow-up:" in prompt.messages[-1].text else say(prompt))
    then = await record(path, model=model, history=[("Who made Oppenheimer?", "Nolan.")])
    assert as_json(await replay(path)) == as_json(then)


async def test_what_a_source_could_not_find_yet_replays(tmp_path: Path) -> None:
    shelf = Shelf(HITS)
    shelf.unfinished = ("60 passages of shelf are found by their words alone so far",)
    then = await record(tmp_path / "run.jsonl", shelf=shelf)
    assert isinstance(then[-1], Answered)
    assert then[-1].answer.notes == shelf.unfinished
    assert as_json(await replay(tmp_path / "run.jsonl")) == as_json(then)


async def test_broken_streams_and_refused_keys_replay(tmp_path: Path) -> None:
    class Broken(ScriptedModel):
        async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
            yield "Oppen"
            raise WrongKey("scripted", "the key is refused")

    path = tmp_path / "run.jsonl"
    then = await record(path, model=Broken(say))
    now = await replay(path)
    assert as_json(now) == as_json(then)
    assert isinstance(now[-1], Answered)
    assert now[-1].answer.notes == ("the model failed, so this is quoted: scripted: the key is refused",)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not a recording"),
        ('{"event": "started"}\n', "is not a recording"),
        ('{"wellread recording": 99}\n', "format 99"),
        ('{"wellread recording": 2, "question": "q"}\n{"call":', "damaged at line 2"),
        ('{"wellread recording": 2, "question": "q"}\n{"reply": 3}\n', "damaged"),
        ('{"wellread recording": 2, "question": "q"}\n', "ends before its run began"),
    ],
)
async def test_a_damaged_recording_says_so(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DamagedFile, match=words):
        await replay(path)
    with pytest.raises(UsageError, match="no such recording"):
        await replay(tmp_path / "nowhere.jsonl")


def test_errors_come_back_with_their_facts() -> None:
    class Odd(ValueError):
        pass

    busy = Fault.of(SourceBusy("news", "later", 3.5)).error()
    assert isinstance(busy, SourceBusy)
    assert (str(busy), busy.retry_after, busy.source) == ("news: later", 3.5, "news")
    odd = Fault.of(Odd("what")).error()
    assert (type(odd).__name__, str(odd)) == ("Odd", "what")
    assert isinstance(Fault("ImportError", "no module").error(), ImportError)


def test_the_first_difference_has_a_place() -> None:
    assert first_difference({"a": [1, {"b": "xyz"}]}, {"a": [1, {"b": "xYz"}]}) == ("a[1].b, character 2", "xyz", "xYz")
    assert first_difference({"a": [1]}, {"a": [1, 2]})[0] == "the length of a"
    assert first_difference({"a": 1}, {}) == ("a", "1", "null")
