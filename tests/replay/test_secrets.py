"""Keys never land in a recording, wherever they come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from tests.replay.test_all_strategies import as_json
from tests.strategies.bench import Shelf
from tests.strategies.test_all import HITS, QUESTION, say

from wellread.engine import Engine
from wellread.models.scripted import ScriptedModel
from wellread.replay.record import Covers
from wellread.replay.runs import recorded, replayed
from wellread.settings import Settings

pytestmark = pytest.mark.anyio
KEY = "sk-proj-0123456789abcdefGHIJ"


async def test_a_key_that_everything_repeats_is_nowhere_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that echoes the key in its results, settings that hold it, prompts that repeat it: not in the file."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    hits = [replace(hit, text=f"Authorization: Bearer {KEY}. {hit.text}") for hit in HITS]
    path = tmp_path / "run.jsonl"
    model = ScriptedModel(say)
    settings = Settings(params={"iterative": {"examples": f"use {KEY}"}})
    async with Engine(settings, model=model, source=Shelf(hits)) as engine:
        then = [e async for e in recorded(engine, path, QUESTION, strategy="iterative", params={"protocol": "text"})]
    text = path.read_text(encoding="utf-8")
    assert KEY not in text
    assert KEY[:12] not in text
    monkeypatch.delenv("OPENAI_API_KEY")
    now = [event async for event in replayed(path)]
    covered = KEY.replace(KEY, "•" * len(KEY))
    assert as_json(now) == [_covered(event, covered) for event in as_json(then)]


def _covered(value: Any, cover: str) -> Any:
    if isinstance(value, str):
        return value.replace(KEY, cover)
    if isinstance(value, dict):
        return {key: _covered(item, cover) for key, item in cast("dict[str, Any]", value).items()}
    return [_covered(item, cover) for item in cast("list[Any]", value)] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "spec",
    [
        "openai:gpt@https://me:hunter2hunter2@proxy.example/v1",
        "brave?base=https%3A%2F%2Fme%3Ahunter2hunter2%40proxy.example",
        "searxng:http://127.0.0.1:8080?token=abcdef123456",
        "datasette:https://d.example?api_key=abcdef123456&table=x",
        "tavily:tvly-abcdef1234567890",
    ],
)
def test_keys_in_specs_are_covered_there_and_elsewhere(spec: str) -> None:
    covers = Covers({}, {"sources": [spec]})
    written = str(covers.setting({"sources": [spec]}))
    for secret in ("hunter2hunter2", "abcdef123456", "tvly-abcdef1234567890"):
        assert secret not in written
        if secret in spec:
            said = covers.line({"error": f"the service refused {spec}, hunter2hunter2 and bWU6aHVudGVyMmh1bnRlcjI="})
            assert secret not in said
            assert ("hunter" in spec) == ("bWU6" not in said)


def test_ordinary_text_and_short_values_stay() -> None:
    covers = Covers({"MY_TOKEN": "the", "AUTHOR": "Jane Austen", "HOME": "/home/jane"}, {"sources": ["library"]})
    assert covers.text("the key of the house, /home/jane") == "the key of the house, /home/jane"
    assert covers.setting("index:notes?mode=exact") == "index:notes?mode=exact"
