"""One suite over every language model: what a strategy may rely on, whoever is behind the seam."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.models.bench import anthropic_at, ollama_at, openai_at
from tests.wire import anthropic as anthropic_wire
from tests.wire import openai as openai_wire
from tests.wire.server import Request, Response, WireServer, left_over

from wellread.models.chat import from_pydantic_ai
from wellread.models.scripted import ScriptedModel
from wellread.protocols import Model, Priced
from wellread.types import Completion, Message, Prompt

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
REPLY = "<think>Which one?</think>The capital is Paris. END It has two million people."
WORDS = re.findall(r"\s*\S+", REPLY)

Enter = Callable[[AsyncExitStack], Awaitable[Model]]


async def _wired(stack: AsyncExitStack, answer: Callable[[Request], Response], make: Callable[[str], Any]) -> Model:
    server = await stack.enter_async_context(WireServer(answer))
    model = make(server.url)
    stack.push_async_callback(model.aclose)
    return model


async def openai_model(stack: AsyncExitStack) -> Model:
    return await _wired(stack, openai_wire.chat(lambda _: REPLY), openai_at)


async def openai_ignoring_stops(stack: AsyncExitStack) -> Model:
    return await _wired(stack, openai_wire.chat(lambda _: REPLY, stops=False), openai_at)


async def ollama_model(stack: AsyncExitStack) -> Model:
    return await _wired(stack, openai_wire.chat(lambda _: REPLY), ollama_at)


async def anthropic_model(stack: AsyncExitStack) -> Model:
    def answer(request: Request) -> Response:
        stops = request.json.get("stop_sequences") or []
        text = REPLY.split(stops[0])[0] if stops else REPLY
        return anthropic_wire.said(*re.findall(r"\s*\S+", text), reason="stop_sequence" if stops else "end_turn")

    return await _wired(stack, answer, anthropic_at)


async def scripted_model(stack: AsyncExitStack) -> Model:
    del stack
    return ScriptedModel(lambda _: REPLY)


async def function_model(stack: AsyncExitStack) -> Model:
    del stack

    async def say(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        del messages, info
        for word in WORDS:
            yield word

    return from_pydantic_ai(FunctionModel(stream_function=say))


ALL = [openai_model, openai_ignoring_stops, ollama_model, anthropic_model, scripted_model, function_model]


@pytest.fixture(params=ALL, ids=lambda enter: enter.__name__)
async def model(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    async with AsyncExitStack() as stack:
        yield await cast("Enter", request.param)(stack)


def prompt(**fields: Any) -> Prompt:
    return Prompt((Message("system", "Be brief."), Message("user", "What is the capital of France?")), **fields)


async def test_it_is_a_model(model: Model) -> None:
    assert isinstance(model, Model)
    assert model.name
    assert model.capabilities.context_tokens is None or model.capabilities.context_tokens > 1000


async def test_pieces_first_and_one_completion_last(model: Model) -> None:
    *pieces, done = [item async for item in model.stream(prompt())]
    assert isinstance(done, Completion)
    assert all(isinstance(piece, str) and piece for piece in pieces)
    assert "".join(cast("list[str]", pieces)) == done.text == "The capital is Paris. END It has two million people."
    assert done.finish == "end"
    assert done.input_tokens > 0
    assert done.output_tokens > 0


async def test_stop_sequences_are_kept_to_and_never_shown(model: Model) -> None:
    *pieces, done = [item async for item in model.stream(prompt(stop=("END",)))]
    assert isinstance(done, Completion)
    assert "".join(cast("list[str]", pieces)) == done.text
    assert done.text.strip() == "The capital is Paris."


async def test_a_partial_answer_at_the_end_is_never_an_error(model: Model) -> None:
    asked = prompt()
    partial = Prompt((*asked.messages, Message("assistant", "The capital ")))
    *_, done = [item async for item in model.stream(partial)]
    assert isinstance(done, Completion)
    assert done.text


async def test_many_calls_at_once_and_leaving_early(model: Model) -> None:
    before = asyncio.all_tasks()

    async def first() -> object:
        stream = cast("Any", model.stream(prompt()))
        item = await anext(stream)
        await stream.aclose()
        return item

    assert set(await asyncio.gather(*(first() for _ in range(8)))) <= {"The", "The cap", "The capital"}
    assert left_over(before) == set()


async def test_tokens_are_counted_upwards(model: Model) -> None:
    assert model.count_tokens("") == 0
    assert model.count_tokens("a few ordinary words here") >= 5


async def test_a_price_is_known_or_unknown_and_never_a_guess(model: Model) -> None:
    *_, done = [item async for item in model.stream(prompt())]
    assert isinstance(done, Completion)
    assert isinstance(model, Priced)
    assert model.price(done.input_tokens, done.output_tokens) == done.cost
