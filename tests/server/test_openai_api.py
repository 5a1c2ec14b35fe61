"""The OpenAI-compatible endpoint, with the official client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from tests.server.stage import TOKEN, Live, engine, quoting, running

pytestmark = pytest.mark.slow

QUESTION = [{"role": "user", "content": "How many moons has Saturn?"}]


@pytest.fixture
def client(live: Live) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0) as one:
        yield one


def test_models_are_strategies(client: openai.OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert names[0] == "wellread"
    assert {"wellread/iterative", "wellread/quote", "wellread/react"} <= set(names)


def test_a_whole_answer_with_citations(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(model="wellread/iterative", messages=QUESTION)  # type: ignore[arg-type]
    message = reply.choices[0].message
    assert reply.choices[0].finish_reason == "stop"
    assert message.content is not None
    assert message.content.startswith("Saturn has 146 moons. [1]")
    assert "**Sources**\n\n- [1] [Saturn](<https://planets.example/saturn>): “Saturn has 146 moons.”" in message.content
    assert message.annotations
    cited = message.annotations[0].url_citation
    assert message.content[cited.start_index : cited.end_index] == "[1]"
    assert (cited.title, cited.url) == ("Saturn", "https://planets.example/saturn")
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens > 0


def test_a_streamed_answer_is_the_same(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="wellread", messages=QUESTION)  # type: ignore[arg-type]
    chunks = list(
        client.chat.completions.create(model="wellread", messages=QUESTION, stream=True, stream_options={"include_usage": True})  # type: ignore[arg-type]
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    marked = str(whole.choices[0].message.content)
    assert text == f"{marked.replace('[1] ⚠', '[1]')}: “It likes cheese. [1]”"  # the marks are known when it has been sent
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage is not None
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-2].choices[0].delta.annotations[0]["type"] == "url_citation"  # type: ignore[attr-defined]
    assert len(chunks) > 6
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_conversation_is_heard(folder: Path) -> None:
    of = engine()
    with running(of, folder, token=TOKEN) as live:
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Tell me about Jupiter."}]},
            {"role": "assistant", "content": "Jupiter is the largest planet."},
            *QUESTION,
        ]
        with openai.OpenAI(base_url=f"{live.url}/v1", api_key=TOKEN, max_retries=0) as client:
            client.chat.completions.create(model="wellread", messages=messages, temperature=0.3)  # type: ignore[arg-type]
        said = "\n".join(message.text for prompt in of.kit.model().prompts for message in prompt.messages)  # type: ignore[attr-defined]
        assert "Jupiter is the largest planet." in said
        with (
            openai.OpenAI(base_url=f"{live.url}/v1", api_key="wrong", max_retries=0) as stranger,
            pytest.raises(openai.AuthenticationError),
        ):
            stranger.models.list()


def test_wrong_requests_are_errors_in_the_right_shape(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="there are: wellread, wellread/auto") as refused:
        client.chat.completions.create(model="wellread/nonsense", messages=QUESTION)  # type: ignore[arg-type]
    assert (refused.value.param, refused.value.code) == ("model", "model_not_found")
    with pytest.raises(openai.BadRequestError, match="last message"):
        client.chat.completions.create(model="wellread", messages=[{"role": "assistant", "content": "x"}])
    with pytest.raises(openai.BadRequestError, match="n must be 1"):
        client.chat.completions.create(model="wellread", messages=QUESTION, n=2)  # type: ignore[arg-type]
    with pytest.raises(openai.UnprocessableEntityError):
        client.chat.completions.create(model="wellread", messages=[])
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="wellread", input="x")


def test_a_program_that_insists_on_a_name_gets_the_default_where_the_operator_says_so(folder: Path) -> None:
    with (
        running(engine(), folder, unknown_models="default") as live,
        openai.OpenAI(base_url=f"{live.url}/v1", api_key="x", max_retries=0) as client,
    ):
        reply = client.chat.completions.create(model="gpt-4o", messages=QUESTION)  # type: ignore[arg-type]
        assert "146 moons" in (reply.choices[0].message.content or "")
        assert "146 moons" in client.responses.create(model="gpt-4o", input="How many moons has Saturn?").output_text


def test_a_failing_model_is_an_error(folder: Path) -> None:
    from wellread.errors import ModelBusy

    of = engine(hits=())  # nothing to quote in its stead
    of.kit.model().script = lambda prompt: ModelBusy("scripted", "try later")  # type: ignore[attr-defined]
    with running(of, folder) as live, openai.OpenAI(base_url=f"{live.url}/v1", api_key="x", max_retries=0) as client:
        with pytest.raises(openai.InternalServerError, match="try later"):
            client.chat.completions.create(model="wellread", messages=QUESTION)  # type: ignore[arg-type]
        with pytest.raises(openai.APIError, match="try later"):
            list(client.chat.completions.create(model="wellread", messages=QUESTION, stream=True))  # type: ignore[arg-type]


def test_nothing_found_is_said_in_words(library: Live) -> None:
    with openai.OpenAI(base_url=f"{library.url}/v1", api_key="x", max_retries=0) as client:
        asked = [{"role": "user", "content": "What did Zorblax the Unseen eat on Quuxday?"}]
        reply = client.chat.completions.create(model="wellread/quote", messages=asked)  # type: ignore[arg-type]
        assert (reply.choices[0].message.content or "").startswith("No answer was found")


def test_sources_are_models_and_can_be_named(tmp_path: Path) -> None:
    with running(quoting(), tmp_path) as live, live.client() as client:
        assert "wellread/library" in [one["id"] for one in client.get("/v1/models").json()["data"]]
        asked = {"messages": [{"role": "user", "content": "Who wrote Hamlet?"}]}
        for more in ({"model": "wellread/library"}, {"model": "wellread/quote", "sources": ["library"]}):
            said = client.post("/v1/chat/completions", json={**asked, **more}).json()
            assert "Shakespeare" in said["choices"][0]["message"]["content"]
        assert client.post("/v1/chat/completions", json={**asked, "sources": ["files:/etc"]}).status_code == 400
