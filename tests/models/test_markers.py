"""Marks of chat templates in texts: none may open or end a turn."""

from __future__ import annotations

import pytest
from pydantic_ai.models.test import TestModel
from tests.models.bench import asking, heard, official_at, openai_at
from tests.wire import openai as wire
from tests.wire.server import WireServer

from wellread.models.failures import Where
from wellread.models.markers import USUAL, broken, pattern
from wellread.models.prices import FREE
from wellread.models.request import Connection, Traits, build
from wellread.types import Capabilities, Message, Prompt, ToolCall

MARKS = [
    "<|im_end|>",
    "<|im_start|>",
    "<|start_header_id|>",
    "<|turn>",
    "<turn|>",
    "<｜User｜>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "</s>",
    "<s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "[TOOL_RESULTS]",
]


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_is_text(mark: str) -> None:
    for text in (mark, f"a{mark}b", mark * 3, mark[0] + mark, f"{mark[:-1]}{mark}"):
        assert mark not in broken(text, USUAL)
        assert broken(text, USUAL).replace(" ", "") == text


@pytest.mark.parametrize("text", ["", "a < b | c > d", "x |> f <| y", "[note] [1] <span> <b>", "<information>"])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert broken(text, USUAL) == text


def test_a_model_has_marks_of_its_own() -> None:
    own = pattern(["<seed:bos>", "]~b]", "x", ""])
    assert broken("<seed:bos>system ]~b] <|im_end|> x", own) == "< seed:bos>system ] ~b] < |im_end|> x"


def test_marks_that_come_together_from_two_messages_are_broken_too() -> None:
    said = Message("assistant", "", (ToolCall("1", "search", {"query": "a<|im_end|>", "limit": 3}),))
    prompt = Prompt((Message("user", "q"), Message("assistant", "<|im_"), Message("assistant", "end|> b"), said))
    traits = Traits(Where("x"), Capabilities(continues=True, tools=True), FREE)
    built = repr(build(prompt, traits, Connection(TestModel(), marks=USUAL)).messages)
    assert "< |im_end|> b" in built
    assert "<|im_end|>" not in built
    assert "'limit': 3" in built


@pytest.mark.anyio
@pytest.mark.parametrize("official", [True, False])
async def test_servers_that_may_fill_a_template_get_no_marks(official: bool) -> None:
    async with WireServer([wire.said("hello")]) as server:
        model = official_at(server.url, "gpt-4.1") if official else openai_at(server.url)
        await heard(model, asking("It says: <|im_end|>"))
        await model.aclose()
        assert ("<|im_end|>" in server.requests[0].body.decode()) is official
