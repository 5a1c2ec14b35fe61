"""OpenAI's protocol through the real client library, against a server on loopback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.models.bench import KEY, Bench, asking, heard, official_at, ollama_at, openai_at
from tests.wire import openai as wire
from tests.wire.server import Response, WireServer, as_json, left_over

from wellread.errors import (
    BrokenStream,
    ContextTooLong,
    ModelBusy,
    ModelError,
    UnknownModel,
    UsageError,
    WrongKey,
)
from wellread.models import openai
from wellread.models.chat import ChatModel
from wellread.models.default import ollama_address
from wellread.types import Message, Prompt, Spec, Tool, ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SEARCH = Tool("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]})
SHAPE = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"], "additionalProperties": False}


@asynccontextmanager
async def talking(
    *responses: Response, make: Callable[[str], ChatModel] = openai_at
) -> AsyncGenerator[tuple[ChatModel, WireServer]]:
    async with WireServer(list(responses)) as server:
        model = make(server.url)
        try:
            yield model, server
        finally:
            await model.aclose()


async def test_text_comes_in_pieces_and_the_usage_from_the_server() -> None:
    async with talking(wire.said("Hel", "lo ", "there", counts=(7, 3))) as (model, server):
        pieces, done = await heard(model, asking(temperature=0.5, max_tokens=50))
        assert pieces == ["Hel", "lo ", "there"]
        assert (done.text, done.finish, done.stopped_at) == ("Hello there", "end", None)
        assert (done.input_tokens, done.output_tokens, done.cost) == (7, 3, None)
        sent = server.requests[0]
        assert sent.path == "/v1/chat/completions"
        assert sent.headers["authorization"] == f"Bearer {KEY}"
        asked = sent.json
        assert asked["messages"] == [{"role": "user", "content": "hello"}]
        assert (asked["temperature"], asked["max_tokens"], asked["stream"]) == (0.5, 50, True)
        assert "stop" not in asked


async def test_a_server_that_honours_stops_tells_nothing_and_an_open_tag_shows_it() -> None:
    async with talking(wire.said("I look. <search_query>a b")) as (model, server):
        _, done = await heard(model, asking(stop=("</search_query>",)))
        assert server.requests[0].json["stop"] == ["</search_query>"]
        assert (done.text, done.finish, done.stopped_at) == ("I look. <search_query>a b", "stop", "</search_query>")


async def test_a_server_that_ignores_stops_is_cut_and_let_go() -> None:
    reply = wire.said("<q>a b</", "q> and ", 30.0, "never")
    async with talking(reply) as (model, server):
        begun = time.monotonic()
        pieces, done = await heard(model, asking("x" * 400, stop=("</q>",)))
        assert "".join(pieces) == done.text == "<q>a b"
        assert (done.finish, done.stopped_at) == ("stop", "</q>")
        assert done.input_tokens >= 100  # estimated: the figures were still to come
        assert done.output_tokens >= 2
        await server.idle()
        assert server.left == 1
        assert time.monotonic() - begun < 5


async def test_a_refused_stop_parameter_is_left_out_from_then_on() -> None:
    refusal = wire.failed(400, "Unsupported parameter: 'stop' is not supported with this model.", code="unsupported_parameter")
    async with talking(refusal, wire.said("a STOP b")) as (model, server):
        for _ in range(2):
            _, done = await heard(model, asking(stop=("STOP",)))
            assert (done.text, done.stopped_at) == ("a ", "STOP")
        assert ["stop" in request.json for request in server.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("temperature does not support 0 with this model", "temperature"),
        ("Unknown parameter: max_tokens", "max_tokens"),
        ("response_format of type json_schema is not supported", "response_format"),
        ("tools are not supported by this model", "tools"),
    ],
)
async def test_other_refused_parameters_are_left_out(message: str, field: str) -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, {"tools": "true"})

    prompt = asking(max_tokens=9, schema=SHAPE if field != "tools" else None, tools=(SEARCH,) if field == "tools" else ())
    async with talking(wire.failed(400, message), wire.said("ok"), make=make) as (model, server):
        _, done = await heard(model, prompt)
        assert done.text == "ok"
        assert [field in request.json for request in server.requests] == [True, False]
        assert model.capabilities.schemas == (field != "response_format")
        assert model.capabilities.tools == (field != "tools")


async def test_a_server_that_does_not_know_stream_options_or_how_to_be_told_to_go_on() -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, {"continues": "true"})

    refusals = [wire.failed(400, "unknown field stream_options"), wire.failed(422, "continue_final_message: extra inputs")]
    prompt = Prompt((Message("user", "Count."), Message("assistant", "one,")))
    async with talking(*refusals, wire.said("two", counts=None), make=make) as (model, server):
        _, done = await heard(model, prompt)
        assert done.text == "two"
        asked = server.requests[-1].json
        assert asked["stream_options"] is None
        assert "continue_final_message" not in asked
        assert asked["messages"][-1]["role"] == "assistant"


async def test_more_stop_sequences_than_the_server_takes_are_cut_here() -> None:
    stops = ("A1", "B2", "C3", "D4", "E5", "\n\n")
    async with talking(wire.said("text E", "5 more")) as (model, server):
        _, done = await heard(model, asking(stop=stops))
        assert server.requests[0].json["stop"] == ["A1", "B2", "C3", "D4"]
        assert (done.text, done.stopped_at) == ("text ", "E5")


async def test_thinking_in_the_text_never_shows() -> None:
    async with talking(wire.said("<th", "ink>I wonder</th", "ink>\n\nParis", ".")) as (model, _):
        pieces, done = await heard(model, asking())
        assert "".join(pieces) == done.text == "Paris."


async def test_thinking_in_its_own_field_never_shows() -> None:
    parts = [wire.chunk({"role": "assistant", "reasoning_content": "hmm"}), wire.chunk({"content": "Paris"})]
    reply = Response([*parts, wire.chunk({}, "stop"), wire.DONE], headers=wire.SSE)
    async with talking(reply) as (model, _):
        assert (await heard(model, asking()))[1].text == "Paris"


async def test_thinking_that_the_template_opened_is_held_back_for_models_known_for_it() -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, name="deepseek-r1-distill")

    async with talking(wire.said("Well, ", "hm</think>", "\nParis"), make=make) as (model, _):
        pieces, done = await heard(model, asking())
        assert "".join(pieces) == done.text == "Paris"


async def test_thinking_without_a_beginning_is_dropped_and_expected_next_time() -> None:
    async with talking(wire.said("Well, ", "hm</think>", "\nParis")) as (model, _):
        assert (await heard(model, asking()))[1].text == "Paris"
        pieces, done = await heard(model, asking())
        assert "".join(pieces) == done.text == "Paris"


async def test_an_estimate_stands_in_for_usage_that_is_not_reported() -> None:
    async with talking(wire.said("one two three", counts=None)) as (model, _):
        _, done = await heard(model, asking("four five six seven"))
        assert done.input_tokens >= 4
        assert done.output_tokens >= 3


async def test_a_server_that_ignores_the_limit_is_stopped() -> None:
    async with talking(wire.said(*["word "] * 2000)) as (model, server):
        _, done = await heard(model, asking(max_tokens=10))
        assert done.finish == "length"
        assert len(done.text) < 1000
        await server.idle()


async def test_a_reply_cut_by_the_limit_says_so() -> None:
    async with talking(wire.said("and so", finish="length")) as (model, _):
        assert (await heard(model, asking()))[1].finish == "length"


async def test_tool_calls() -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, {"tools": "true"})

    async with talking(wire.called("search", '{"que', 'ry": "Paris"}', text="Let me see."), make=make) as (model, server):
        _, done = await heard(model, asking(tools=(SEARCH,)))
        assert done.finish == "tools"
        assert done.tool_calls == (ToolCall("call_1", "search", {"query": "Paris"}),)
        offered = server.requests[0].json["tools"][0]["function"]
        assert (offered["name"], offered["description"]) == ("search", "Searches.")
        call = Message("assistant", "Let me see.", tool_calls=done.tool_calls)
        result = Message("tool", "It is in France.", tool_call_id="call_1", tool_name="search")
        await heard(model, Prompt((Message("user", "Where?"), call, result), tools=(SEARCH,)))
        roles = [message["role"] for message in server.requests[1].json["messages"]]
        assert roles == ["user", "assistant", "tool"]
        assert server.requests[1].json["messages"][2]["tool_call_id"] == "call_1"


@pytest.mark.parametrize("arguments", ['{"query": "Paris",}', '{"query": "Paris"', "{'query': 'Paris'}"])
async def test_broken_arguments_of_a_tool_call_are_repaired(arguments: str) -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, {"tools": "true"})

    async with talking(wire.called("search", arguments), make=make) as (model, _):
        _, done = await heard(model, asking(tools=(SEARCH,)))
        assert done.tool_calls[0].arguments == {"query": "Paris"}


@pytest.mark.parametrize(
    "arguments", ['{"query": ' + "[" * 5000, '{"query": ' + "[" * 700 + "]" * 700 + "}", '{"query": "' + '\\" ' * 2000]
)
async def test_arguments_of_a_tool_call_that_cannot_be_repaired_in_a_moment_are_not(arguments: str) -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, {"tools": "true"})

    async with talking(wire.called("search", arguments), make=make) as (model, _):
        await heard(model, asking())  # the first reply loads what it needs
    async with talking(wire.called("search", arguments), make=make) as (model, _):
        begun = time.thread_time()
        _, done = await heard(model, asking(tools=(SEARCH,)))
        assert time.thread_time() - begun < 0.5
        assert done.tool_calls[0].name == "search"


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hmm " * 1000},
        {"content": "<think>" + "hmm " * 1000},
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "hmm " * 1000}}]},
    ],
)
async def test_what_is_not_shown_has_an_end_too_and_is_paid_for(delta: dict[str, Any]) -> None:
    endless = Response([wire.chunk(delta)] * 100, headers=wire.SSE)
    async with talking(endless) as (model, _):
        words, done = await heard(model, asking(max_tokens=50))
        assert (words, done.finish, done.tool_calls) == ([], "length", ())
        assert done.output_tokens > 20_000


@pytest.mark.filterwarnings("ignore")  # the client's own, on such figures
@pytest.mark.parametrize(("told", "counted"), [(-5, False), (10**30, False), (2.5, True), (7, True)])
async def test_figures_of_usage_are_whole_and_possible(told: Any, counted: bool) -> None:
    reply = Response([wire.chunk({"content": "a b c"}, "stop"), wire.usage(told, told), wire.DONE], headers=wire.SSE)
    async with talking(reply) as (model, _):
        _, done = await heard(model, asking())
        assert [type(done.input_tokens), type(done.output_tokens)] == [int, int]
        assert (done.output_tokens == int(told)) is counted
        assert 0 < done.output_tokens < 100


async def test_tools_are_not_offered_to_a_server_that_is_not_known_to_take_them() -> None:
    async with talking(wire.said("no")) as (model, server):
        await heard(model, asking(tools=(SEARCH,)))
        assert "tools" not in server.requests[0].json


async def test_a_schema_is_sent_where_the_server_takes_one() -> None:
    async with talking(wire.said('{"colour": "blue"}')) as (model, server):
        _, done = await heard(model, asking(schema=SHAPE))
        assert json.loads(done.text) == {"colour": "blue"}
        form = server.requests[0].json["response_format"]
        assert form["type"] == "json_schema"
        assert form["json_schema"]["schema"]["required"] == ["colour"]


async def test_a_refusal() -> None:
    refusal = Response(
        [wire.chunk({"role": "assistant", "refusal": "I cannot "}), wire.chunk({"refusal": "do that."}), wire.chunk({}, "stop")],
        headers=wire.SSE,
    )
    async with talking(refusal, wire.said("Well", finish="content_filter")) as (model, _):
        pieces, done = await heard(model, asking())
        assert (pieces, done.text, done.finish) == ([], "I cannot do that.", "refusal")
        assert (await heard(model, asking()))[1].finish == "refusal"


async def test_a_partial_answer_is_continued_where_the_server_can() -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, {"continues": "true"})

    prompt = Prompt((Message("system", "Be brief."), Message("user", "Count."), Message("assistant", "one, two, ")))
    async with talking(wire.said(" three"), make=make) as (model, server):
        pieces, done = await heard(model, prompt)
        asked = server.requests[0].json
        assert asked["messages"][-1] == {"role": "assistant", "content": "one, two,"}
        assert asked["continue_final_message"] is True
        assert asked["add_generation_prompt"] is False
        assert "".join(pieces) == done.text == "three"  # the space is in the prompt already


async def test_a_partial_answer_becomes_a_turn_where_the_server_cannot() -> None:
    prompt = Prompt((Message("user", "Count."), Message("assistant", "one, "), Message("assistant", "two")))
    async with talking(wire.said("three")) as (model, server):
        await heard(model, prompt)
        messages = server.requests[0].json["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        assert messages[1]["content"] == "one, two"
        assert "where your last message stopped" in messages[2]["content"]


async def test_turns_of_one_role_are_joined_and_empty_ones_left_out() -> None:
    prompt = Prompt(
        (Message("system", "A"), Message("system", "B"), Message("user", "C"), Message("user", ""), Message("user", "D"))
    )
    async with talking(wire.said("ok")) as (model, server):
        await heard(model, prompt)
        assert server.requests[0].json["messages"] == [
            {"role": "system", "content": "A\n\nB"},
            {"role": "user", "content": "C\n\nD"},
        ]


@pytest.mark.parametrize(
    ("response", "kind", "words"),
    [
        (wire.failed(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key"), WrongKey, "Incorrect API key"),
        (wire.failed(403, "Country not supported"), WrongKey, "Country not supported"),
        (wire.failed(404, "The model `m` does not exist", code="model_not_found"), UnknownModel, "does not exist"),
        (
            wire.failed(400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"),
            ContextTooLong,
            "4096",
        ),
        (
            wire.failed(400, "the request exceeds the available context size (2048 tokens)", kind="exceed_context_size_error"),
            ContextTooLong,
            "2048",
        ),
        (wire.failed(429, "You exceeded your current quota", code="insufficient_quota"), ModelError, "out of credit"),
        (wire.failed(400, "messages: something else is wrong"), ModelError, "something else is wrong"),
        (wire.failed(418, "I am a teapot"), ModelError, "teapot"),
    ],
)
async def test_errors_that_no_retry_would_help(response: Response, kind: type[ModelError], words: str) -> None:
    async with talking(response) as (model, server):
        with pytest.raises(kind, match=words) as caught:
            await heard(model, asking())
        assert len(server.requests) == 1
        assert KEY not in str(caught.value) + repr(caught.value) + repr(model) + repr(model.traits)
        assert caught.value.model == model.name


async def test_the_window_is_learned_from_the_error() -> None:
    refusal = wire.failed(400, "This model's maximum context length is 4096 tokens. However you asked for more.")
    async with talking(refusal) as (model, _):
        assert model.capabilities.context_tokens == 8192
        with pytest.raises(ContextTooLong):
            await heard(model, asking())
        assert model.capabilities.context_tokens == 4096


@pytest.mark.parametrize(
    "response",
    [
        wire.failed(429, "Rate limit reached", kind="rate_limit_error", retry_after_ms="60"),
        wire.failed(500, "The server had an error"),
        wire.failed(503, "The engine is currently overloaded"),
        Response([wire.chunk({"role": "assistant", "content": ""})], headers=wire.SSE, ending="cut"),
        Response([b"data: {not json\n\n"], headers=wire.SSE),
        Response([wire.event({"error": {"message": "overloaded", "type": "server_error", "code": None}})], headers=wire.SSE),
        Response([wire.chunk({"content": "<think>un"})], headers=wire.SSE),  # a clean end, but no finish reason
    ],
)
async def test_failures_before_the_first_word_are_tried_again(response: Response) -> None:
    async with talking(response, response, wire.said("ok")) as (model, server):
        begun = time.monotonic()
        pieces, done = await heard(model, asking())
        assert (pieces, done.text) == (["ok"], "ok")
        assert len(server.requests) == 3
        if response.status == 429:
            assert time.monotonic() - begun >= 0.12


async def test_attempts_that_break_off_are_counted() -> None:
    thought = Response([wire.chunk({"content": "<think>" + "so long " * 1000})], headers=wire.SSE)
    prompt = asking("hello " * 100)
    async with talking(wire.said("ok")) as (model, _):
        _, alone = await heard(model, prompt)
    async with talking(thought, wire.failed(500, "The server had an error"), thought, wire.said("ok")) as (model, _):
        _, done = await heard(model, prompt)
    assert done.input_tokens >= alone.input_tokens + 2 * model.count_tokens(prompt.messages[0].text)
    assert done.output_tokens >= alone.output_tokens + 2 * 2000
    async with talking(thought) as (model, server):
        with pytest.raises(BrokenStream) as caught:
            await heard(model, prompt)
        assert caught.value.input_tokens == len(server.requests) * model.count_tokens(prompt.messages[0].text)
        assert caught.value.output_tokens >= len(server.requests) * 2000


async def test_retries_end() -> None:
    async with talking(wire.failed(429, "Rate limit reached", retry_after_ms="5")) as (model, server):
        with pytest.raises(ModelBusy, match="Rate limit reached") as caught:
            await heard(model, asking())
        assert caught.value.retry_after == 0.005
        assert len(server.requests) == 4


async def test_a_long_pause_is_reported_at_once() -> None:
    async with talking(wire.failed(429, "Come back tomorrow", Retry_After="3600")) as (model, server):
        with pytest.raises(ModelBusy) as caught:
            await heard(model, asking())
        assert caught.value.retry_after == 3600
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "response",
    [
        Response([wire.chunk({"content": "Once upon"}), 0.01], headers=wire.SSE, ending="cut"),
        Response([wire.chunk({"content": "Once upon"})], headers=wire.SSE),  # ends cleanly without a finish reason
        Response([wire.chunk({"content": "Once upon"}), b"data: {not json\n\n"], headers=wire.SSE),
    ],
)
async def test_a_stream_that_breaks_after_words_is_an_error(response: Response) -> None:
    async with talking(response) as (model, server):
        stream = model.stream(asking())
        assert await anext(stream) == "Once upon"
        with pytest.raises(BrokenStream):
            await anext(stream)
        assert len(server.requests) == 1


async def test_a_server_that_is_not_there() -> None:
    async with WireServer([]) as server:
        url = server.url
    model = openai_at(url)
    begun = time.monotonic()
    with pytest.raises(ModelError, match="is the server running") as caught:
        await heard(model, asking())
    assert url in str(caught.value)
    assert time.monotonic() - begun < 5
    await model.aclose()


async def test_a_web_page_in_place_of_an_api() -> None:
    page = Response([b"<html>Hello</html>"], headers={"Content-Type": "text/html"})
    async with talking(page) as (model, _):
        model.traits = replace(model.traits, attempts=1)
        with pytest.raises(ModelError):
            await heard(model, asking())


async def test_the_first_words_arrive_while_the_model_still_speaks() -> None:
    async with talking(wire.said("first", 0.5, " last")) as (model, _):
        begun = time.monotonic()
        times = [time.monotonic() - begun async for _ in model.stream(asking())]
        assert times[0] + 0.3 < times[1]


async def test_leaving_the_stream_closes_the_connection_at_once() -> None:
    async with talking(wire.said("first", 60.0, " last")) as (model, server):
        before = asyncio.all_tasks()
        stream = model.stream(asking())
        assert await anext(stream) == "first"
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        await server.idle(1)
        assert server.left == 1
        assert left_over(before) == set()


@pytest.mark.parametrize("pause", ["before the first word", "between words", "between tries"])
async def test_cancelling_leaves_nothing_behind(pause: str) -> None:
    replies = {
        "before the first word": [wire.said(60.0, "late")],
        "between words": [wire.said("first", 60.0, "late")],
        "between tries": [wire.failed(429, "wait", Retry_After="20")],
    }
    async with talking(*replies[pause]) as (model, server):
        before = asyncio.all_tasks()
        task = asyncio.create_task(heard(model, asking()))
        await server.asked()
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.idle(1)
        assert left_over(before) == set()


def test_one_model_serves_one_event_loop_after_another() -> None:
    from tests.wire.server import serving

    with serving([wire.said("ok")]) as server:
        model = openai_at(server.url)

        async def once() -> str:
            try:
                return (await heard(model, asking()))[1].text
            finally:
                await model.aclose()

        assert [asyncio.run(once()), asyncio.run(once())] == ["ok", "ok"]


@pytest.mark.parametrize("name", ["gpt-4o-mini", "gpt-5-mini", "gpt-5.4-mini", "gpt-6-luna", "o3", "gpt-4.1"])
async def test_openai_models_are_asked_in_the_way_they_accept(name: str) -> None:
    def make(url: str) -> ChatModel:
        return official_at(url, name)

    async with talking(wire.said("ok", counts=(1000, 100), model=name), make=make) as (model, server):
        _, done = await heard(model, asking(max_tokens=100, stop=("X",)))
        asked = server.requests[0].json
        reasons = name in ("gpt-5-mini", "o3")
        assert ("temperature" in asked) == (not reasons)
        assert asked["max_completion_tokens"] == (100 + 4096 if reasons else 100)
        assert "max_tokens" not in asked
        assert done.cost is not None
        assert done.cost > 0
        assert (model.capabilities.context_tokens or 0) >= 100_000
        assert model.capabilities.tools
        assert model.capabilities.schemas
        assert not model.capabilities.continues


async def test_ollama_speaks_the_same_protocol_and_costs_nothing_here() -> None:
    async with talking(wire.said("hi"), make=ollama_at) as (model, server):
        _, done = await heard(model, asking(max_tokens=5))
        assert (done.text, done.cost) == ("hi", 0.0)
        assert server.requests[0].json["model"] == "qwen3:8b"
        assert server.requests[0].json["max_tokens"] == 5
        assert (model.name, model.capabilities.context_tokens) == ("ollama:qwen3:8b", 4096)


async def test_prices_can_be_given_for_a_server_of_unknown_price() -> None:
    def make(url: str) -> ChatModel:
        return openai_at(url, {"input_price": "2", "output_price": "10", "context": "32000"})

    async with talking(wire.said("ok", counts=(1000, 100)), make=make) as (model, _):
        _, done = await heard(model, asking())
        assert done.cost == pytest.approx(0.003)
        assert model.capabilities.context_tokens == 32000


def test_a_key_for_openai_goes_to_no_other_server() -> None:
    bench = Bench({"OPENAI_API_KEY": KEY})
    model = openai.from_spec(Spec("openai", "m@http://127.0.0.1:1/v1"), bench)  # pyright: ignore[reportArgumentType]
    assert isinstance(model, ChatModel)
    assert model.traits.where.secrets == ()


async def test_a_password_is_not_shown_however_a_server_says_it_again() -> None:
    def echo(request: Any) -> Response:
        return wire.failed(400, f"refused {request.headers['authorization']}, which is p@ss:word")

    async with WireServer(echo) as server:
        address = server.url.replace("://", "://user:p%40ss%3Aword@")
        model = openai.from_spec(Spec("openai", f"m@{address}/v1", {}), cast("Any", Bench({})))
        with pytest.raises(ModelError, match=r"refused \*\*\*, which is \*\*\*$"):
            await heard(model, asking())
        assert server.requests[0].headers["authorization"].startswith("Basic ")
        await cast("ChatModel", model).aclose()


def test_a_password_in_an_address_is_not_shown() -> None:
    spec = Spec("openai", "m@http://me:hush@127.0.0.1:1/v1")
    model = openai.from_spec(spec, Bench())  # pyright: ignore[reportArgumentType]
    assert model.name == "openai:m@http://127.0.0.1:1/v1"
    assert "hush" not in repr(model)


async def test_another_address_from_the_environment_gets_the_key() -> None:
    def make(url: str) -> ChatModel:
        environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1/"}
        return cast("ChatModel", openai.from_spec(Spec("openai", "m"), cast("Any", Bench(environ))))

    async with talking(wire.said("ok"), make=make) as (model, server):
        await heard(model, asking())
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert model.name == f"openai:m@{server.url}/v1"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"detail": [{"loc": ["body"], "msg": "messages is missing", "type": "missing"}]}, "messages is missing"),
        ({"detail": "no such thing"}, "no such thing"),
        ({"error": "flat words"}, "flat words"),
        ({"object": "error", "message": "vLLM's words"}, "vLLM's words"),
        ({"strange": 1}, "422"),
    ],
)
async def test_the_servers_own_words_are_found(body: object, words: str) -> None:
    async with talking(as_json(body, 422)) as (model, _):
        with pytest.raises(ModelError, match=words):
            await heard(model, asking())


async def test_a_context_error_in_the_stream() -> None:
    error = {"error": {"message": "too much", "type": "invalid_request_error", "code": "context_length_exceeded"}}
    async with talking(Response([wire.event(error)], headers=wire.SSE)) as (model, _):
        with pytest.raises(ContextTooLong, match="too much"):
            await heard(model, asking())


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        (Spec("openai", "gpt-4o"), WrongKey, "OPENAI_API_KEY"),
        (Spec("openai", "m@http://127.0.0.1:1/v1", {"key_env": "MY_KEY"}), WrongKey, "MY_KEY"),
        (Spec("openai"), UsageError, "needs a model"),
        (Spec("openai", "m", {"contxt": "1"}), UsageError, "context"),
    ],
)
def test_wrong_specs(spec: Spec, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        openai.from_spec(spec, Bench())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "argument",
    [
        "m@http://[",
        "m@http://[::1",
        "m@http://127.0.0.1:b/v1",
        "m@http://\x00/v1",
        "m@http://\u202eh/v1",
        "m@http://",
        "m@127.0.0.1:8080/v1",
        "m@htp://127.0.0.1:8080/v1",
        "m@file:///etc/passwd",
    ],
)
def test_what_is_no_address_is_told_and_nobody_else_is_asked_instead(argument: str) -> None:
    with pytest.raises(UsageError, match="needs the address of a server"):
        openai.from_spec(Spec("openai", argument, {}), cast("Any", Bench({"OPENAI_API_KEY": KEY})))


@pytest.mark.parametrize("host", ["ftp://x", "http://[", "http://127.0.0.1:b"])
def test_an_odd_place_for_ollama_is_the_usual_one(host: str) -> None:
    assert ollama_address({"OLLAMA_HOST": host}) == "http://127.0.0.1:11434"


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("wait", ["99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_pause_without_end_is_not_waited_for(status: int, wait: str) -> None:
    async with talking(wire.failed(status, "slow", retry_after=wait)) as (model, server), asyncio.timeout(5):
        with pytest.raises(ModelError, match="slow"):
            await heard(model, asking())
        assert len(server.requests) == 1


@pytest.mark.parametrize("wait", ["-5", "nan", "inf", "1e308", "0x10", "1, 2", "5" * 5000])
async def test_a_pause_that_is_none_is_not_believed(wait: str) -> None:
    async with talking(wire.failed(500, "slow", retry_after=wait), wire.said("ok")) as (model, _), asyncio.timeout(5):
        assert (await heard(model, asking()))[1].text == "ok"


@pytest.mark.parametrize("counts", [(1, 1), (0, 0)])
async def test_a_server_that_counts_next_to_nothing_is_not_believed(counts: tuple[int, int]) -> None:
    """The limits on tokens and cost go by what it says."""
    async with talking(wire.said("Mercury has no moons. " * 100, counts=counts)) as (model, _):
        _, done = await heard(model, asking("Does Mercury have moons? " * 100))
        assert done.input_tokens > 500
        assert done.output_tokens > 400
