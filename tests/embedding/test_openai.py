"""The embedder for compatible servers, against a real one on loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

import numpy as np
import pytest
from tests.embedding.servers import DIMENSIONS, EmbeddingServer, Reply, embeddings, unit

from wellread.embedding.openai import OFFICIAL, OpenAIEmbedder, base_address, from_spec, read_vectors
from wellread.errors import EmbedderError, UsageError
from wellread.net.payload import Payload
from wellread.parts import Parts
from wellread.plugins import parse_spec
from wellread.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
TEXTS = ["one", "two, which is longer", "", "three"]
EXPECTED = np.stack([unit(text or " ") for text in TEXTS])


def built(spec: str, environ: Mapping[str, str] | None = None) -> OpenAIEmbedder:
    return from_spec(parse_spec(spec), Parts(Settings(), environ=environ or {}))


def failure(status: int, message: str = "because", code: str | None = None, **headers: str) -> Reply:
    return Reply(status, {"error": {"message": message, "type": "some_error", "code": code}}, headers)


async def test_vectors_come_back_in_order_and_normalised(server: EmbeddingServer) -> None:
    embedder = built(f"openai:some-model@{server.url}")
    vectors = await embedder.embed(TEXTS, kind="passage")
    np.testing.assert_allclose(vectors, EXPECTED, atol=1e-6)
    assert vectors.dtype == np.float32
    assert embedder.dimensions == DIMENSIONS
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.key is None
    assert set(request.body) == {"model", "input"}
    assert request.body["model"] == "some-model"
    await embedder.aclose()


async def test_base64(server: EmbeddingServer) -> None:
    embedder = built(f"openai:m@{server.url}/v1?encoding=base64")
    np.testing.assert_allclose(await embedder.embed(TEXTS, kind="passage"), EXPECTED, atol=1e-6)
    assert server.requests[0].body["encoding_format"] == "base64"
    await embedder.aclose()


async def test_batches_are_of_like_length_and_bounded(server: EmbeddingServer) -> None:
    embedder = built(f"openai:m@{server.url}?batch=3&max_characters=50")
    texts = ["x" * length for length in (9, 1, 70, 3, 60, 5, 2)]
    vectors = await embedder.embed(texts, kind="passage")
    np.testing.assert_allclose(vectors, np.stack([unit(text[:50]) for text in texts]), atol=1e-6)
    sizes = sorted([len(text) for text in request.body["input"]] for request in server.requests)
    assert sizes == [[1, 2, 3], [5, 9, 50], [50]]
    await embedder.aclose()


async def test_no_more_requests_at_once_than_allowed(server: EmbeddingServer) -> None:
    running, most = [0], [0]

    def answer(body: dict[str, Any]) -> object:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.05)
        running[0] -= 1
        return embeddings(body)

    server.answer = answer
    embedder = built(f"openai:m@{server.url}?batch=1&requests=2")
    await embedder.embed(["a", "b", "c", "d", "e", "f"], kind="passage")
    assert most[0] == 2
    await embedder.aclose()


async def test_nothing_asks_nothing(server: EmbeddingServer) -> None:
    assert (await built(f"openai:m@{server.url}").embed([], kind="query")).shape == (0, 0)
    assert (await built(f"openai:m@{server.url}?dimensions=5").embed([], kind="query")).shape == (0, 5)
    assert server.requests == []


async def test_prompts_and_broken_characters(server: EmbeddingServer) -> None:
    embedder = built(f"openai:intfloat/e5-small@{server.url}")
    await embedder.embed(["half \ud83d"], kind="query")
    await embedder.embed(["a"], kind="passage")
    other = built(f"openai:intfloat/e5-small@{server.url}?query_prompt=find:%20")
    await other.embed(["a"], kind="query")
    assert [request.body["input"] for request in server.requests] == [["query: half \ufffd"], ["passage: a"], ["find: a"]]
    assert other.name == f"openai:intfloat/e5-small@{server.url}/v1?query_prompt=find%3A%20"
    assert built(other.name).name == other.name
    for each in (embedder, other):
        await each.aclose()


async def test_dimensions_can_be_asked_for(server: EmbeddingServer) -> None:
    embedder = built(f"openai:m@{server.url}?dimensions={DIMENSIONS}")
    await embedder.embed(["a"], kind="query")
    assert server.requests[0].body["dimensions"] == DIMENSIONS
    assert embedder.name.endswith(f"?dimensions={DIMENSIONS}")
    await embedder.aclose()


def test_dimensions_before_the_first_text(server: EmbeddingServer) -> None:
    embedder = built(f"openai:m@{server.url}")
    assert [embedder.dimensions, embedder.dimensions] == [DIMENSIONS, DIMENSIONS]
    assert len(server.requests) == 1
    assert built("openai:text-embedding-3-large", {"OPENAI_API_KEY": "k"}).dimensions == 3072
    with pytest.raises(EmbedderError, match="cannot be reached"):
        _ = built("openai:m@http://127.0.0.1:9").dimensions


async def test_the_key_of_openai_goes_to_no_other_server(server: EmbeddingServer) -> None:
    environ = {"OPENAI_API_KEY": "sk-openai", "MY_KEY": "sk-mine"}
    for option, expected in (("", None), ("?key_env=MY_KEY", "Bearer sk-mine")):
        embedder = built(f"openai:m@{server.url}{option}", environ)
        await embedder.embed(["a"], kind="query")
        assert server.requests[-1].key == expected
        assert "sk-" not in embedder.name
        await embedder.aclose()
    configured = built("openai:m", {**environ, "OPENAI_BASE_URL": f"{server.url}/v1/"})
    await configured.embed(["a"], kind="query")
    assert server.requests[-1].key == "Bearer sk-openai"
    await configured.aclose()


async def test_a_refused_key_is_not_tried_again_nor_shown(server: EmbeddingServer) -> None:
    server.script = [failure(401, "Incorrect API key provided: sk-secret.")]
    embedder = built(f"openai:m@{server.url}?key_env=K", {"K": "sk-secret"})
    with pytest.raises(EmbedderError, match=r"Incorrect API key provided: \*\*\*\. \(HTTP 401\); is K right\?") as caught:
        await embedder.embed(["a"], kind="query")
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == 1
    await embedder.aclose()


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_failures_that_pass(server: EmbeddingServer, status: int) -> None:
    server.script = [failure(status), failure(status)]
    embedder = built(f"openai:m@{server.url}")
    np.testing.assert_allclose(await embedder.embed(TEXTS, kind="passage"), EXPECTED, atol=1e-6)
    assert len(server.requests) == 3
    await embedder.aclose()


async def test_failures_that_do_not_pass(server: EmbeddingServer) -> None:
    server.script = [failure(500, "out of\nmemory")] * 5
    embedder = built(f"openai:m@{server.url}?attempts=2")
    with pytest.raises(EmbedderError, match=r"out of memory \(HTTP 500\)"):
        await embedder.embed(["a"], kind="query")
    assert len(server.requests) == 2
    await embedder.aclose()


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_retry_after_is_obeyed(server: EmbeddingServer, form: str) -> None:
    wait = "1.0" if form == "seconds" else formatdate(time.time() + 2, usegmt=True)
    server.script = [failure(429, **{"retry-after": wait})]
    embedder = built(f"openai:m@{server.url}")
    await embedder.embed(["a"], kind="query")
    assert server.requests[1].at - server.requests[0].at >= 0.95
    await embedder.aclose()


async def test_a_long_retry_after_is_reported_instead(server: EmbeddingServer) -> None:
    server.script = [failure(429, "slow down", **{"retry-after": "3600"})]
    embedder = built(f"openai:m@{server.url}")
    with pytest.raises(EmbedderError, match=r"slow down \(HTTP 429\) \(come back in 3600 s\)"):
        await embedder.embed(["a"], kind="query")
    await embedder.aclose()


async def test_an_empty_account_is_not_tried_again(server: EmbeddingServer) -> None:
    server.script = [failure(429, "You exceeded your current quota", code="insufficient_quota")]
    embedder = built(f"openai:m@{server.url}")
    with pytest.raises(EmbedderError, match="exceeded your current quota"):
        await embedder.embed(["a"], kind="query")
    assert len(server.requests) == 1
    await embedder.aclose()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "2 texts were sent and 1 vectors came back"),
        (lambda data: data * 2, "2 texts were sent and 4 vectors"),
        (lambda data: [data[0], data[0]], "2 texts were sent and 2 vectors"),
        (lambda data: [data[0], {**data[1], "embedding": [1.0]}], "expected, not of"),
        (lambda data: [data[0], {**data[1], "embedding": [0.0] * DIMENSIONS}], "zero or not finite"),
        (lambda data: [data[0], {**data[1], "embedding": [float("nan")] * DIMENSIONS}], "zero or not finite"),
        (lambda data: [data[0], {**data[1], "embedding": "%%%"}], "not made of numbers"),
        (lambda data: [data[0], {**data[1], "embedding": ["x"]}], "not made of numbers"),
        (lambda data: [data[0], {**data[1], "embedding": []}], "not a list of numbers"),
        (lambda _: None, "not a list of embeddings"),
        (lambda _: [1, 2], "not a list of embeddings"),
    ],
)
async def test_replies_that_make_no_sense(server: EmbeddingServer, change: Any, message: str) -> None:
    server.answer = lambda body: {"data": change(embeddings(body)["data"])}
    embedder = built(f"openai:m@{server.url}")
    with pytest.raises(EmbedderError, match=message) as caught:
        await embedder.embed(["a", "b"], kind="query")
    assert str(caught.value).startswith(f"embedder m at {server.url}/v1: ")
    await embedder.aclose()


async def test_dimensions_that_change(server: EmbeddingServer) -> None:
    embedder = built(f"openai:m@{server.url}")
    await embedder.embed(["a"], kind="query")
    server.answer = lambda body: {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    with pytest.raises(EmbedderError, match=f"vectors of {DIMENSIONS} dimensions were expected, not of 2"):
        await embedder.embed(["a"], kind="query")
    await embedder.aclose()


async def test_what_is_not_json(server: EmbeddingServer) -> None:
    server.script = [Reply(200, b"<html>"), Reply(404, b"<h1>no such page</h1>")]
    embedder = built(f"openai:m@{server.url}")
    with pytest.raises(EmbedderError, match="did not answer with JSON"):
        await embedder.embed(["a"], kind="query")
    with pytest.raises(EmbedderError, match="answered with HTTP 404"):
        await embedder.embed(["a"], kind="query")
    await embedder.aclose()


async def test_nobody_listens() -> None:
    embedder = built("openai:m@http://user:secret@127.0.0.1:9?attempts=1")
    with pytest.raises(EmbedderError, match=r"^embedder m at http://127.0.0.1:9/v1: 127.0.0.1 cannot be reached"):
        await embedder.embed(["a"], kind="query")
    assert "secret" not in embedder.name
    await embedder.aclose()


async def test_a_slow_server_times_out(server: EmbeddingServer) -> None:
    server.delay = 2
    embedder = built(f"openai:m@{server.url}?timeout=0.2&attempts=2")
    with pytest.raises(EmbedderError, match=r"no answer within 0\.2 s"):
        await embedder.embed(["a"], kind="query")
    assert len(server.requests) == 2  # slowness may pass
    await embedder.aclose()


async def test_a_cancelled_call_hangs_up(server: EmbeddingServer) -> None:
    server.delay = 10
    embedder = built(f"openai:m@{server.url}")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await embedder.embed(["a"], kind="query")
    assert await asyncio.to_thread(server.closed_early.wait, 5)
    await embedder.aclose()


async def test_one_failing_request_stops_the_others(server: EmbeddingServer) -> None:
    server.script = [failure(400, "too long")]
    embedder = built(f"openai:m@{server.url}?batch=1&requests=1")
    with pytest.raises(EmbedderError, match=r"too long \(HTTP 400\)"):
        await embedder.embed(["a"] * 20, kind="query")
    assert len(server.requests) < 20
    await embedder.aclose()


def test_one_embedder_in_several_event_loops(server: EmbeddingServer) -> None:
    embedder = built(f"openai:m@{server.url}")

    async def once() -> np.ndarray:
        vectors = await embedder.embed(["a"], kind="query")
        await embedder.aclose()
        return vectors

    np.testing.assert_array_equal(asyncio.run(once()), asyncio.run(once()))


async def test_one_text_instead_of_several_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="sequence of texts"):
        await built("openai:m@http://127.0.0.1:9").embed("text", kind="query")


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("https://host/openai/v1/embeddings", "https://host/openai/v1"),
        (OFFICIAL, OFFICIAL),
    ],
)
def test_addresses(given: str, base: str) -> None:
    assert base_address(given) == base


@pytest.mark.parametrize("spec", ["openai", "openai:@http://x", "openai:m@ftp://x", "openai:m@", "openai:m@http://:80"])
def test_wrong_addresses(spec: str) -> None:
    with pytest.raises(UsageError, match="embedder openai"):
        built(spec, {"OPENAI_API_KEY": "k"})


@pytest.mark.parametrize("option", ["batch=0", "timeout=0", "dimensions=-1", "encoding=hex", "sise=3"])
def test_wrong_options(option: str) -> None:
    with pytest.raises(UsageError):
        built(f"openai:m@http://x?{option}")


def test_a_missing_key_names_its_variable() -> None:
    with pytest.raises(EmbedderError, match="set OPENAI_API_KEY to your key"):
        built("openai:text-embedding-3-small")
    with pytest.raises(EmbedderError, match="set NOPE to your key"):
        built("openai:m@http://x?key_env=NOPE")


def test_the_name_of_openais_own() -> None:
    assert built("openai:text-embedding-3-small", {"OPENAI_API_KEY": "k"}).name == "openai:text-embedding-3-small"


def test_an_index_may_be_missing() -> None:
    reply = Payload({"data": [{"embedding": [3, 4]}, {"embedding": [0, 2]}]})
    np.testing.assert_allclose(read_vectors(reply, 2, None), [[0.6, 0.8], [0, 1]])
