"""Text from outside can be written anywhere, whatever it holds."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.core.unicode_safety import Pieces, encodable
from wellread.engine import Engine
from wellread.errors import SourceError
from wellread.events import Notice, to_json
from wellread.models.scripted import ScriptedModel
from wellread.protocols import Source
from wellread.replay.runs import recorded, replayed
from wellread.settings import Settings
from wellread.trace.timeline import load, page
from wellread.types import Completion, Hit, Passage, ToolCall

ANYTHING = st.text(st.characters(categories=("Cs", "Lu", "So", "Cc")))


@given(ANYTHING)
def test_any_text_can_be_written_and_good_text_stays(text: str) -> None:
    mended = encodable(text)
    assert mended.encode().decode() == mended
    assert "\0" not in mended
    assert encodable(mended) is mended
    stored = sqlite3.connect(":memory:").execute("SELECT ?, length(?)", (mended, mended)).fetchone()
    assert stored == (mended, len(mended))


@given(st.lists(ANYTHING))
def test_pieces_add_up_to_the_whole(parts: list[str]) -> None:
    pieces = Pieces()
    assert "".join([*map(pieces.feed, parts), pieces.rest()]) == encodable("".join(parts))


def test_halves_that_come_apart_are_one_character_again() -> None:
    pieces = Pieces()
    assert [pieces.feed("a\ud83d"), pieces.feed("\ude00b"), pieces.rest()] == ["a", "😀b", ""]
    assert encodable("a\ud83d\ude00b") == "a😀b"


def test_names_of_files_that_are_not_utf8_stay_apart() -> None:
    one, two = b"caf\xe9.txt".decode("utf-8", "surrogateescape"), b"caf\xe8.txt".decode("utf-8", "surrogateescape")
    assert (encodable(one), encodable(two)) == (r"caf\xe9.txt", r"caf\xe8.txt")


def test_values_are_mended_when_they_are_made() -> None:
    call = ToolCall("1", "sea\udfffrch", {"que\ud800ry": ["a\0b", {"x": "\udc00"}], "none": None})
    said = Completion("\ud800", tool_calls=(call,))
    for value in (said, Hit("\ud800", "T", snippet="\0"), Passage("1", "\udfff", links=("\ud800",)), Notice("\ud800")):
        json.dumps(to_json(value), ensure_ascii=False).encode()
    assert call.arguments == {"que\ufffdry": ["ab", {"x": "\ufffd"}], "none": None}
    assert str(SourceError("s", "its own words: \ud800")) == "s: its own words: \ufffd"


def test_a_plugins_own_fields_are_mended_too() -> None:
    @dataclass(frozen=True)
    class Plain(Hit):
        more: str = ""

    @dataclass(frozen=True, slots=True)
    class Slotted(Hit):
        more: str = ""

    for kind in (Plain, Slotted):
        assert kind("1", more="é\ud800").more == "é\ufffd"


@pytest.mark.anyio
async def test_a_recording_of_such_words_replays_to_the_same_events(tmp_path: Path) -> None:
    words = "Saturn \ud83d\ude00 has \ud800 moons \0. [1]"

    def says(prompt: object) -> str:
        return words if "</search_query>" not in prompt.stop else "<search_query>moons \udfff</search_query>"  # type: ignore[attr-defined]

    class Broken(Source):
        name = "bro\ud800ken"
        hint = ""

        async def search(self, query: object) -> list[Hit]:
            return [Hit("1", title="Saturn \ud800", text="Saturn has 146 moons \udc12.")]

    file = tmp_path / "run.jsonl"
    engine = Engine(Settings(effort="low"), model=ScriptedModel(says, piece=1), source=Broken())
    live = [
        to_json(event)
        async for event in recorded(engine, file, "How many moons?", strategy="iterative", params={"max_searches": 1})
    ]
    assert live[-1]["answer"]["answer"].startswith("Saturn 😀 has \ufffd moons .")  # type: ignore[index]
    assert [to_json(event) async for event in replayed(file)] == live
    page(load(file)).encode()
