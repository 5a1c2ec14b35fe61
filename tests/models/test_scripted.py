"""The fakes that other tests build on, and pydantic-ai's own through the seam."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
)
from pydantic_ai.models.test import TestModel
from tests.models.bench import asking, heard

from wellread.errors import BrokenStream, ModelError
from wellread.models.chat import from_pydantic_ai
from wellread.models.scripted import ScriptedModel
from wellread.protocols import Model
from wellread.types import Capabilities, Completion, Message, Prompt, Tool, ToolCall

pytestmark = pytest.mark.anyio


async def test_lines_are_said_in_order_and_prompts_kept() -> None:
    model = ScriptedModel(["one", lambda prompt: prompt.messages[-1].text.upper(), Completion("three", input_tokens=9)])
    assert isinstance(model, Model)
    assert (await heard(model, asking("a")))[1].text == "one"
    assert (await heard(model, asking("b")))[1].text == "B"
    assert (await heard(model, asking("c")))[1].input_tokens == 9
    assert [prompt.messages[-1].text for prompt in model.prompts] == ["a", "b", "c"]
    with pytest.raises(AssertionError, match="call 4"):
        await heard(model, asking("d"))


async def test_it_stops_where_a_model_would() -> None:
    pieces, done = await heard(ScriptedModel(["<think>x</think><q>a b c d e</q> and more"]), asking(stop=("</q>",)))
    assert "".join(pieces) == done.text == "<q>a b c d e"
    assert (done.finish, done.stopped_at) == ("stop", "</q>")
    assert len(pieces) > 1


async def test_it_fails_and_calls_tools_on_demand() -> None:
    call = ToolCall("1", "search", {"query": "x"})
    model = ScriptedModel([BrokenStream("m", "gone"), Completion("", tool_calls=(call,))])
    with pytest.raises(BrokenStream):
        await heard(model, asking())
    _, done = await heard(model, asking())
    assert (done.finish, done.tool_calls) == ("tools", (call,))


async def test_it_knows_when_it_was_left() -> None:
    model = ScriptedModel(["a long reply"], delay=0.01)
    stream = cast("Any", model.stream(asking()))
    await anext(stream)
    await stream.aclose()
    assert model.closed == 1


async def say(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    del messages, info
    for piece in ("<thi", "nk>hm</think>\nLook: <q>a", " b</", "q> x"):
        yield piece


async def test_a_function_model_is_a_model() -> None:
    model = from_pydantic_ai(FunctionModel(stream_function=say))
    assert isinstance(model, Model)
    pieces, done = await heard(model, asking(stop=("</q>",)))
    assert "".join(pieces) == done.text == "Look: <q>a b"
    assert (done.stopped_at, done.cost) == ("</q>", None)


async def test_a_function_model_sees_what_was_asked() -> None:
    seen: dict[str, Any] = {}

    async def look(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        seen.update(messages=messages, info=info)
        yield {0: DeltaToolCall("search", '{"query": "x"}', tool_call_id="7")}

    tool = Tool("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})
    model = from_pydantic_ai(FunctionModel(stream_function=look), Capabilities(tools=True))
    prompt = Prompt((Message("system", "S"), Message("user", "U")), stop=("X",), max_tokens=5, temperature=0.25, tools=(tool,))
    _, done = await heard(model, prompt)
    assert done.tool_calls == (ToolCall("7", "search", {"query": "x"}),)
    assert [part.content for part in seen["messages"][0].parts] == ["S", "U"]
    settings = seen["info"].model_settings
    assert (settings["stop_sequences"], settings["max_tokens"], settings["temperature"]) == (["X"], 5, 0.25)
    assert [offered.name for offered in seen["info"].function_tools] == ["search"]


async def test_thinking_parts_never_show() -> None:
    async def think(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaThinkingCalls]:
        del messages, info
        yield {0: DeltaThinkingPart(content="secret")}
        yield "Paris"

    pieces, done = await heard(from_pydantic_ai(FunctionModel(stream_function=think)), asking())
    assert (pieces, done.text) == (["Paris"], "Paris")


async def test_an_error_inside_becomes_ours() -> None:
    async def fail(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        del messages, info
        yield "Once"
        raise ValueError("broken pipe")

    stream = from_pydantic_ai(FunctionModel(stream_function=fail)).stream(asking())
    assert await anext(stream) == "Once"
    with pytest.raises(ModelError, match="broken pipe"):
        await anext(stream)


async def test_the_test_model_works_too() -> None:
    _, done = await heard(from_pydantic_ai(TestModel(custom_output_text="all is well")), asking())
    assert done.text == "all is well"


async def test_calls_can_run_side_by_side() -> None:
    model = from_pydantic_ai(FunctionModel(stream_function=say))
    done = await asyncio.gather(*(heard(model, asking()) for _ in range(20)))
    assert {completion.text for _, completion in done} == {"Look: <q>a b</q> x"}
