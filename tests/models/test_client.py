"""Servers whose replies do not end, through the real client libraries: what they send is bounded, not only the time it takes."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

import pytest
from tests.models.bench import KEY, anthropic_at, asking, heard, openai_at
from tests.wire import openai as wire
from tests.wire.server import Response, WireServer

from wellread.errors import BrokenStream, ModelError, UsageError
from wellread.models import client, openai
from wellread.models.chat import ChatModel
from wellread.models.client import Client
from wellread.models.openai import connection

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
MAKERS = {"openai": openai_at, "anthropic": anthropic_at}
BEGUN = wire.chunk({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "search", "arguments": ""}}]})


def endless(block: bytes, first: bytes = b"", **headers: str) -> Response:
    parts = itertools.chain([first] if first else [], itertools.repeat(block * max(1, 20_000 // len(block))))
    return Response(
        cast("Any", parts), headers={**wire.SSE, **{name.replace("_", "-"): value for name, value in headers.items()}}
    )


async def stopped(reply: Callable[[], Response], make: Callable[[str], ChatModel]) -> tuple[ModelError, int]:
    """How a call of such a server ends, and how often it was asked."""
    async with WireServer(lambda _: reply()) as server, asyncio.timeout(30):
        model = make(server.url)
        with pytest.raises(ModelError) as problem:
            await heard(model, asking(max_tokens=20))
        await model.aclose()
        return problem.value, len(server.requests)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b": \n\n", "its reply does not end"),
        (b"\n", "its reply does not end"),
        (b"event: ping\r\ndata: {}\r\n\r\n", "its reply does not end"),
        (b"x", "an event of its reply does not end"),
        (b"data: x\n", "an event of its reply does not end"),
        (b"id: 1\n", "an event of its reply does not end"),
    ],
)
async def test_lines_and_keep_alives_have_an_end(
    block: bytes, why: str, make: Callable[[str], ChatModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST_LINES", 20_000)
    problem, asked = await stopped(lambda: endless(block), make)
    assert isinstance(problem, BrokenStream)
    assert problem.message == why
    assert asked == 1, "the same would come again"


@pytest.mark.parametrize(
    ("delta", "first"),
    [
        ({"refusal": "no "}, b""),
        ({}, b""),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "", "signature": "s"}]}, b""),
        ({"tool_calls": [{"index": 0, "function": {"name": "a"}}]}, BEGUN),
        ({"tool_calls": [{"index": 0, "id": "a"}]}, BEGUN),
    ],
)
async def test_what_is_never_shown_has_an_end(delta: dict[str, Any], first: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MOST", 300_000)
    problem, _ = await stopped(lambda: endless(wire.chunk(delta), first), openai_at)
    assert problem.message == "its reply does not end"


async def test_an_event_with_very_many_values_is_not_read() -> None:
    many = wire.chunk({"tool_calls": [{"index": index} for index in range(5_000)]})
    problem, _ = await stopped(lambda: Response([many], headers=wire.SSE), openai_at)
    assert problem.message == "an event of its reply holds too much"


@pytest.mark.parametrize("packed", ["gzip", "gzip, gzip", "br", "deflate"])
async def test_a_packed_reply_is_refused(packed: str) -> None:
    problem, _ = await stopped(lambda: endless(gzip.compress(b": \n\n" * 10_000), content_encoding=packed), openai_at)
    assert problem.message == f"its reply is packed ({packed}), which nobody asked for"


async def test_a_complaint_without_end_is_read_as_far_as_it_matters() -> None:
    reply = Response(cast("Any", itertools.repeat(b"no room " * 2_000)), 401)
    problem, _ = await stopped(lambda: reply, openai_at)
    assert type(problem).__name__ == "WrongKey"


async def test_a_long_reply_in_one_event_is_heard() -> None:
    text = "Mercury, the smallest planet [1], has no moons {and no rings}. " * 400
    async with WireServer([wire.said(text)]) as server:
        model = openai_at(server.url)
        _, done = await heard(model, asking(max_tokens=8_000))
        await model.aclose()
        assert done.text == text
        assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_a_redirect_takes_no_key_anywhere() -> None:
    async with WireServer([wire.said("hello")]) as other:
        away = Response([], 307, {"Location": f"{other.url}/v1/chat/completions"})
        problem, _ = await stopped(lambda: away, openai_at)
        assert not other.requests
        assert KEY not in str(problem)


@contextmanager
def saying(first: bytes, block: bytes) -> Generator[str]:
    """A server that says this and then that for ever, without a word of HTTP from us."""

    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                caller, _ = listening.accept()
                with caller, suppress(OSError):
                    caller.settimeout(10)
                    caller.recv(65536)
                    caller.sendall(first)
                    while True:
                        caller.sendall(block * (20_000 // len(block)))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("first", "block"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n:\r\n"),
    ],
)
async def test_what_is_no_part_of_the_reply_has_an_end_and_lets_others_have_their_turn(
    first: bytes, block: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST", 500_000)
    monkeypatch.setattr(client, "_LONGEST_EVENT", 10_000_000)
    await connection("m", "http://127.0.0.1", None)  # the first one loads libraries
    longest, before = 0.0, time.thread_time()

    async def watch() -> None:
        nonlocal longest, before
        while True:
            await asyncio.sleep(0)
            longest, before = max(longest, time.thread_time() - before), time.thread_time()

    with saying(first, block) as url:
        model = openai_at(url)
        async with asyncio.timeout(30):
            watching = asyncio.create_task(watch())
            with pytest.raises(BrokenStream, match="its reply does not end"):
                await heard(model, asking(max_tokens=20))
            watching.cancel()
        await model.aclose()
    assert longest < 0.05


@pytest.mark.parametrize("variable", ["NO_PROXY", "http_proxy", "all_proxy"])
async def test_a_reply_has_an_end_whatever_the_environment_says_of_proxies(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST", 500_000)

    def elsewhere(address: str) -> bool:
        return False

    monkeypatch.setattr(openai, "is_local", elsewhere)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with saying(b"", b"HTTP/1.1 100 Continue\r\n\r\n") as url:
        monkeypatch.setenv(variable, "other.example" if variable == "NO_PROXY" else url)
        model = openai_at(url if variable == "NO_PROXY" else "http://model.example")
        async with asyncio.timeout(30):
            with pytest.raises(BrokenStream, match="its reply does not end"):
                await heard(model, asking(max_tokens=20))
        await model.aclose()


@pytest.mark.parametrize(
    "value",
    ["ftp://u:secret@x", "http://u:secret@h:port", "http://[::1", "://", "http://h:99999", "http://\udcff", "socks5://h:1"],
)
async def test_a_proxy_that_is_none_is_told(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("https_proxy", value)
    model = openai_at("https://model.example")
    with pytest.raises(UsageError, match="HTTPS_PROXY in the environment") as problem:
        await heard(model, asking())
    assert "secret" not in str(problem.value)


async def test_a_model_of_this_machine_may_take_its_time() -> None:
    """Small machines read a prompt for ten minutes, and calls wait for each other: the run has its own limit."""
    async with Client(local=True) as here, Client(local=False) as elsewhere:
        assert (here.timeout.connect, here.timeout.read) == (10, None)
        assert (elsewhere.timeout.connect, elsewhere.timeout.read) == (10, 600)
