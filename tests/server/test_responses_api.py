"""The Responses API, with the official client; what goes over the wire is held against the client's own types."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from tests.server.stage import TOKEN, Live, ask, engine, finished, running, until

from wellread.types import Hit

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

QUESTION = "How many moons has Saturn?"
TEXT = "Saturn has 146 moons. [1] It likes cheese. [1]"
EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def connected(live: Live, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{live.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(live: Live) -> Iterator[openai.OpenAI]:
    with connected(live) as one:
        yield one


def wire(live: Live, **body: Any) -> list[dict[str, Any]]:
    """The events of a stream as they were sent; the line `event:` names what is in `data:`."""
    found = []
    with live.client() as client:
        reply = client.post("/v1/responses", json={"input": QUESTION, "stream": True, **body})
    assert reply.headers["content-type"].startswith("text/event-stream")
    for block in reply.text.strip().split("\n\n"):
        event, data = block.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert event == f"event: {found[-1]['type']}"
    return found


def heard(of: Any) -> str:
    return "\n".join(message.text for prompt in of.kit.model().prompts for message in prompt.messages)


@pytest.mark.parametrize("store", [True, False])
def test_a_whole_answer_with_citations(client: openai.OpenAI, store: bool) -> None:
    reply = client.responses.create(model="wellread/iterative", input=QUESTION, store=store)
    assert (reply.object, reply.status, reply.model, reply.error) == ("response", "completed", "wellread/iterative", None)
    assert reply.output_text.startswith(TEXT)
    assert "- [1] [Saturn](<https://planets.example/saturn>): “Saturn has 146 moons.”" in reply.output_text
    (message,) = reply.output
    assert message.type == "message"
    (part,) = message.content
    assert part.type == "output_text"
    assert len(part.annotations) == 2
    for cited in part.annotations:
        assert cited.type == "url_citation"
        assert part.text[cited.start_index : cited.end_index] == "[1]"
        assert (cited.title, cited.url) == ("Saturn", "https://planets.example/saturn")
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.input_tokens + reply.usage.output_tokens > 0
    Response.model_validate(reply.model_dump())


@pytest.mark.parametrize("store", [True, False])
def test_a_stream_has_every_event_in_its_place(live: Live, store: bool) -> None:
    sent = wire(live, store=store)
    for event in sent:
        EVENTS.validate_python(event)
    assert [event["sequence_number"] for event in sent] == list(range(len(sent)))
    order = [event["type"].removeprefix("response.") for event in sent]
    deltas = order.count("output_text.delta")
    assert deltas > 4
    assert order == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *["output_text.delta"] * deltas,
        *["output_text.annotation.added"] * 2,
        *("output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    text = "".join(event["delta"] for event in sent if event["type"].endswith("text.delta"))
    last = sent[-1]["response"]
    assert last["output"] == [sent[-2]["item"]]
    assert last["output"][0]["content"] == [sent[-3]["part"]]
    assert sent[-3]["part"]["text"] == sent[-4]["text"] == text
    assert sent[-3]["part"]["annotations"] == [event["annotation"] for event in sent[-6:-4]]
    assert (sent[0]["response"]["status"], last["status"]) == ("in_progress", "completed")
    assert len({event["response"]["id"] for event in sent if "response" in event}) == 1
    assert len({event["item_id"] for event in sent if "item_id" in event} | {last["output"][0]["id"]}) == 1


def test_the_client_puts_a_stream_together(client: openai.OpenAI) -> None:
    asked: Any = {"model": "wellread", "input": QUESTION, "extra_body": {"marks": "none"}}  # which come behind a stream
    whole = client.responses.create(**asked)
    raw = list(client.responses.create(**asked, stream=True))
    assert raw[-1].type == "response.completed"
    assert raw[-1].response.output_text == whole.output_text
    with client.responses.stream(**asked) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert snapshots[-1] == final.output_text == whole.output_text
    assert final.output[0].content[0].annotations == whole.output[0].content[0].annotations  # type: ignore[union-attr]


async def test_the_asynchronous_client_too(live: Live) -> None:
    async with openai.AsyncOpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0) as client:
        plain: Any = {"marks": "none"}
        whole = await client.responses.create(model="wellread", input=QUESTION, extra_body=plain)
        kinds = [event.type async for event in await client.responses.create(model="wellread", input=QUESTION, stream=True)]
        async with client.responses.stream(model="wellread", input=QUESTION, extra_body=plain) as stream:
            final = await stream.get_final_response()
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert final.output_text == whole.output_text


def test_the_messages_are_heard_and_the_rest_left_aside(folder: Path) -> None:
    of = engine()
    items: list[Any] = [
        {"role": "developer", "content": "Speak like a pirate."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tell me about Jupiter."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm, big."}]},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Jupiter is the largest planet.", "annotations": []}],
        },
        {"type": "function_call_output", "call_id": "c", "output": "forty-two", "content": 7},
        {"role": "user", "content": QUESTION},
    ]
    with running(of, folder) as live, connected(live) as client:
        reply = client.responses.create(
            model="wellread",
            input=items,
            instructions="Answer in verse.",
            temperature=1.5,
            max_output_tokens=16,
            tools=[{"type": "web_search"}],
            metadata={"a": "b"},
        )
    assert reply.output_text.startswith("Understood as: ")  # as this model rewrites every follow-up: with its answer
    assert f"\n\n{TEXT}" in reply.output_text
    assert "Tell me about Jupiter." in heard(of)
    assert "Jupiter is the largest planet." in heard(of)
    for word in ("pirate", "verse", "Hm, big", "forty-two"):
        assert word not in heard(of)
    assert (reply.instructions, reply.temperature, reply.max_output_tokens, reply.tools) == (None, None, None, [])


def test_one_response_follows_another(folder: Path) -> None:
    of = engine()
    told: list[Any] = [
        {"role": "user", "content": "Tell me about Jupiter."},
        {"role": "assistant", "content": "Jupiter is the largest planet."},
        {"role": "user", "content": QUESTION},
    ]
    with running(of, folder) as live, connected(live) as client:
        first = client.responses.create(model="wellread", input=told)
        of.kit.model().prompts.clear()  # type: ignore[attr-defined]
        second = client.responses.create(model="wellread", input="And who found it?", previous_response_id=first.id)
        assert second.previous_response_id == first.id
        for words in ("Jupiter is the largest planet.", QUESTION, "Saturn has 146 moons. [1]"):
            assert words in heard(of)
        with live.client() as plain:
            kept = plain.get(f"/api/runs/{second.id.removeprefix('resp_')}").json()
            assert (kept["state"], kept["parent"]) == ("done", first.id.removeprefix("resp_"))
            page = ask(plain)
            finished(plain, page)
        third = client.responses.create(model="wellread", input="And when?", previous_response_id=f"resp_{page}")
        assert third.status == "completed"


def test_what_is_stored_can_be_had_again_and_forgotten(folder: Path) -> None:
    with running(engine(), folder) as live, connected(live) as client:
        first = client.responses.create(model="wellread/iterative", input=QUESTION)
        second = client.responses.create(model="wellread/iterative", input=QUESTION, previous_response_id=first.id)
        again = client.responses.retrieve(second.id)
        changing = {"completed_at"}
        assert again.model_dump(exclude=changing) == second.model_dump(exclude=changing)
        with pytest.raises(openai.BadRequestError, match="does not stream"):
            client.responses.retrieve(second.id, stream=True)
        client.responses.delete(second.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.retrieve(second.id)
        assert client.responses.retrieve(first.id).output_text == first.output_text
    with running(engine(delay=5.0), folder) as live, connected(live) as client:
        stream = client.responses.create(model="wellread", input=QUESTION, stream=True)
        opened = next(stream)
        assert opened.type == "response.created"
        going_on = client.responses.retrieve(opened.response.id)
        assert (going_on.status, going_on.output) == ("in_progress", [])
        client.responses.delete(opened.response.id)
        assert [event.type for event in stream][-1] == "response.failed"
        assert client.responses.retrieve(first.id).status == "completed"


def test_what_is_not_stored_is_not_kept(folder: Path) -> None:
    with running(engine(), folder) as live, connected(live) as client, live.client() as plain:
        passing = client.responses.create(model="wellread", input=QUESTION, store=False)
        list(client.responses.create(model="wellread", input=QUESTION, store=False, stream=True))
        assert plain.get("/api/runs").json() == {"runs": []}
        with pytest.raises(openai.BadRequestError, match="there is no response") as refused:
            client.responses.create(model="wellread", input="x", previous_response_id=passing.id)
        assert (refused.value.param, refused.value.code) == ("previous_response_id", "previous_response_not_found")


def test_wrong_requests_are_errors_in_the_right_shape(client: openai.OpenAI, live: Live) -> None:
    wrong: list[tuple[dict[str, Any], str | None]] = [
        ({"input": "x", "background": True}, "background"),
        ({"input": "x", "conversation": "conv_1"}, "conversation"),
        ({"input": "x", "previous_response_id": "../../etc"}, "previous_response_id"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input"),
        ({"input": [{"role": "assistant", "content": "x"}]}, None),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:x"}]}]}, None),
        ({"input": "  "}, None),
        ({"input": "x", "model": "gpt-5"}, "model"),
    ]
    for body, param in wrong:
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError) as refused:
                client.post("/responses", cast_to=object, body={**body, "stream": stream})
            assert (refused.value.type, refused.value.param) == ("invalid_request_error", param)
    with live.client() as plain:
        for body in ({}, {"input": []}, {"input": 7}, {"input": [{"role": "pirate", "content": "x"}]}, {"input": [7]}):
            reply = plain.post("/v1/responses", json=body)
            assert (reply.status_code, reply.json()["error"]["type"]) == (422, "invalid_request_error")
            assert "input" in reply.json()["error"]["message"]
    for name in ("resp_AAAAAAAAAAAA", "resp_../../etc", "x"):
        for do in (client.responses.retrieve, client.responses.delete):
            with pytest.raises(openai.NotFoundError):
                do(name)


def test_the_wall_speaks_the_same_dialect(folder: Path) -> None:
    with running(engine(), folder, token=TOKEN) as live:
        with (
            connected(live, "wrong") as stranger,
            pytest.raises(openai.AuthenticationError, match="a token is needed") as refused,
        ):
            stranger.responses.create(model="wellread", input=QUESTION)
        assert refused.value.type == "invalid_request_error"
        with connected(live, TOKEN) as friend:
            assert friend.responses.create(model="wellread", input=QUESTION).status == "completed"
        with live.client(headers={"Authorization": f"Bearer {TOKEN}"}) as plain:
            for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 421)):
                reply = plain.post("/v1/responses", json={"input": QUESTION}, headers=headers)
                assert reply.status_code == status
                assert reply.json()["error"]["message"]
            large = plain.post("/v1/responses", json={"input": "x" * 300_000})
            assert (large.status_code, large.json()["error"]["type"]) == (413, "invalid_request_error")


@pytest.mark.parametrize("store", [True, False])
def test_a_limit_makes_a_response_incomplete(folder: Path, store: bool) -> None:
    with running(engine(max_searches=0), folder) as live, connected(live) as client:
        raised: Any = {"max_searches": 50, "max_tokens": 10**9, "max_seconds": 10**6}
        reply = client.responses.create(model="wellread", input=QUESTION, store=store, extra_body=raised)
        sent = wire(live, store=store)
    assert (reply.status, reply.error) == ("incomplete", None)
    assert reply.incomplete_details is not None
    assert reply.incomplete_details.reason == "max_output_tokens"
    assert "limit on searches" in reply.incomplete_details.message  # type: ignore[attr-defined]
    assert reply.output[0].status == "incomplete"  # type: ignore[union-attr]
    assert reply.output_text
    for event in sent:
        EVENTS.validate_python(event)
    assert sent[-1]["type"] == "response.incomplete"
    assert sent[-1]["response"]["output"][0]["content"][0]["text"] == reply.output_text


@pytest.mark.parametrize("store", [True, False])
def test_a_failing_model_is_an_error(folder: Path, store: bool) -> None:
    from wellread.errors import ModelBusy

    of = engine(hits=())  # nothing to quote in its stead
    of.kit.model().script = lambda prompt: ModelBusy("scripted", "try later")  # type: ignore[attr-defined]
    with running(of, folder) as live, connected(live) as client:
        with pytest.raises(openai.InternalServerError, match="try later") as failed:
            client.responses.create(model="wellread", input=QUESTION, store=store)
        assert (failed.value.status_code, failed.value.type) == (502, "server_error")
        body = Response.model_validate(failed.value.response.json())
        assert (body.status, body.error is not None and body.error.code) == ("failed", "server_error")
        sent = wire(live, store=store)
    assert [event["type"] for event in sent] == ["response.created", "response.in_progress", "response.failed"]
    EVENTS.validate_python(sent[-1])
    assert "try later" in sent[-1]["response"]["error"]["message"]


def test_a_response_that_someone_stops_has_failed(folder: Path) -> None:
    with running(engine(delay=0.1), folder) as live, connected(live) as client, live.client() as plain:
        seen = []
        for event in client.responses.create(model="wellread", input=QUESTION, stream=True):
            if event.type == "response.created":
                name = event.response.id
                with pytest.raises(openai.BadRequestError, match="still being written"):
                    client.responses.create(model="wellread", input="x", previous_response_id=name)
            if event.type == "response.output_text.delta" and not any(one.type == event.type for one in seen):
                plain.delete(f"/api/runs/{name.removeprefix('resp_')}")
            seen.append(event)
        assert seen[-1].type == "response.failed"
        assert seen[-1].response.error is not None
        assert seen[-1].response.error.message == "the run was stopped"
        assert seen[-2].type == "response.output_item.done"
        assert seen[-2].item.status == "incomplete"  # type: ignore[union-attr]
        until(lambda: live.service.gate.running == 0)
        kept = client.responses.retrieve(name)
        assert (kept.status, kept.error is not None and kept.error.message) == ("failed", "the run was stopped")


def test_a_stopping_server_says_so(folder: Path) -> None:
    with running(engine(delay=5.0), folder) as live, connected(live) as client:
        stream = client.responses.create(model="wellread", input=QUESTION, stream=True)
        assert next(stream).type == "response.created"
        loop = live.service.history._flusher.get_loop()  # type: ignore[union-attr]
        asyncio.run_coroutine_threadsafe(live.service.runs.drain(0.1), loop)
        last = list(stream)[-1]
        assert last.type == "response.failed"
        assert last.response.error is not None
        assert last.response.error.message == "the server is stopping"
        with pytest.raises(openai.InternalServerError, match="stopping") as refused:
            client.responses.create(model="wellread", input=QUESTION)
        assert (refused.value.status_code, refused.value.response.headers["retry-after"]) == (503, "5")


def test_numbers_in_quotes_are_not_citations(folder: Path) -> None:
    hits = [Hit("a", "Saturn[1] has 146 moons[2] according to a count.", "Saturn", "https://a.example", source="shelf")]
    with running(engine(answer="Saturn has 146 moons. [1]", hits=hits), folder) as live, connected(live) as client:
        reply = client.responses.create(model="wellread", input=QUESTION)
        assert "Saturn[1] has" in reply.output_text
        annotations = reply.output[0].content[0].annotations  # type: ignore[union-attr]
        assert [one.start_index for one in annotations] == [reply.output_text.index(" [1]") + 1]  # type: ignore[union-attr]


def test_nothing_found_is_said_in_words(library: Live) -> None:
    with connected(library) as client:
        reply = client.responses.create(model="wellread/quote", input="What did Zorblax the Unseen eat on Quuxday?")
        assert reply.status == "completed"
        assert reply.output_text.startswith("No answer was found")
        last = list(client.responses.create(model="wellread/quote", input="Who discovered Titan?", stream=True))[-1]
        assert last.type == "response.completed"
        assert "Huygens" in last.response.output_text
