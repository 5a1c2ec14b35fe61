"""MCP over HTTP and stdio, with the official client."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import INVALID_PARAMS
from tests.server.stage import Live, engine, running, until
from tests.wire.server import Response, WireServer

from wellread.engine import Engine
from wellread.server import mcp
from wellread.server.service import alone
from wellread.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_over_http(live: Live, mode: str) -> None:
    told: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with Client(f"{live.url}/mcp", mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"ask", "search", "read"}
        assert "question" in tools["ask"].input_schema["properties"]
        assert "ctx" not in tools["ask"].input_schema["properties"]
        reply = await client.call_tool("ask", {"question": "How many moons has Saturn?"}, progress_callback=progress)
        assert not reply.is_error
        assert reply.structured_content is not None
        assert reply.structured_content["citations"][0]["title"] == "Saturn"
        assert "Saturn has 146 moons. [1]" in reply.content[0].text  # type: ignore[union-attr]
        assert "- [1] [Saturn](<https://planets.example/saturn>)" in reply.content[0].text  # type: ignore[union-attr]
        found = await client.call_tool("search", {"query": "Titan discovered", "limit": 1})
        assert found.structured_content is not None
        assert [hit["title"] for hit in found.structured_content["hits"]] == ["Titan"]
    assert "searching: moons of Saturn" in told
    with live.client() as plain:
        assert plain.get("/api/runs").json()["runs"][0]["via"] == "mcp"


async def test_a_hit_says_its_place_as_everywhere(library: Live) -> None:
    async with Client(f"{library.url}/mcp") as client:
        told = (await client.call_tool("search", {"query": "Titan discovered", "limit": 3})).structured_content
        assert told is not None
    with library.client() as plain:
        hits = plain.get("/api/search", params={"q": "Titan discovered", "limit": 3}).json()["hits"]
    assert [{**hit, "text": None, "link": None} for hit in told["hits"]] == [
        {
            **{name: None if name == "text" else value for name, value in hit.items() if name not in ("view", "reference")},
            "link": None,
        }
        for hit in hits
    ]
    assert all(hit["place"] and "anchor" in hit for hit in told["hits"])


async def test_what_ask_cites_can_be_read(library: Live) -> None:
    async with Client(f"{library.url}/mcp") as client:
        told = (await client.call_tool("ask", {"question": "Who discovered Titan?"})).structured_content
        assert told is not None
        cited = told["citations"][0]
        opened = await client.call_tool("read", {"source": cited["source"], "document": cited["document"]})
        assert not opened.is_error
        assert opened.structured_content is not None
        assert cited["quote"] in opened.structured_content["text"]
        for wrong in ({"source": "library", "document": "../../etc/passwd"}, {"source": "files:/etc", "document": "passwd"}):
            reply = await client.call_tool("read", wrong)
            assert reply.is_error
            assert "there is no such document" in reply.content[0].text  # type: ignore[union-attr]


async def test_wrong_calls_are_answers_that_say_so(live: Live) -> None:
    async with Client(f"{live.url}/mcp") as client:
        calls = (
            ("ask", {"question": "  "}, "empty"),
            ("ask", {"question": "x", "strategy": "nonsense"}, "unknown strategy"),
            ("ask", {"question": "x", "source": "files:/etc"}, "not offered"),
            ("search", {"query": "x", "source": "files:/etc"}, "not offered"),
            ("ask", {"question": "x", "max_cost": 0.01}, "ask has no argument 'max_cost'; it has: question, strategy"),
            ("read", {"url": "file:///etc/passwd"}, "only http"),
            ("read", {"url": "http://127.0.0.1:1/"}, "127.0.0.1"),
        )
        for tool, arguments, words in calls:
            reply = await client.call_tool(tool, arguments)
            assert reply.is_error
            assert words in reply.content[0].text  # type: ignore[union-attr]


async def test_a_prompt_that_is_not_there_is_no_fault(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    async with Client(f"{live.url}/mcp") as client:
        with pytest.raises(MCPError, match="there is no prompt 'nonsense'") as refused:
            await client.get_prompt("nonsense")
    assert refused.value.code == INVALID_PARAMS
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


async def test_cancelling_stops_the_work(folder: Path) -> None:
    of = engine(delay=0.3)
    with running(of, folder) as live:
        async with Client(f"{live.url}/mcp") as client:
            with anyio.move_on_after(1.0) as scope:
                await client.call_tool("ask", {"question": "How many moons has Saturn?"})
            assert scope.cancelled_caught
            await asyncio.to_thread(until, lambda: live.service.gate.running == 0)
            await asyncio.to_thread(until, lambda: of.kit.model().closed >= 1)  # type: ignore[attr-defined]


def test_no_client_holds_a_stream_on_which_nothing_is_said(live: Live) -> None:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    with live.client(headers={"accept": "application/json, text/event-stream"}) as client:
        session = {"mcp-session-id": client.post("/mcp", json=opening).headers["mcp-session-id"]}
        for last in ("7", "x", "9" * 50):
            assert client.get("/mcp", headers={**session, "Last-Event-ID": last}).status_code == 405


async def test_who_opens_ever_more_sessions_loses_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.server.mcp._SESSIONS", 6)
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    headers = {"accept": "application/json, text/event-stream"}
    with running(engine(delay=0.05), folder) as live, live.client(headers=headers) as stranger:
        replies, names = list[bool](), list[str]()
        async with Client(f"{live.url}/mcp", mode="legacy") as client, anyio.create_task_group() as tasks:

            async def ask() -> None:
                replies.append((await client.call_tool("ask", {"question": "How many moons has Saturn?"})).is_error)

            tasks.start_soon(ask)
            await asyncio.to_thread(until, lambda: live.service.gate.running == 1)
            names += [stranger.post("/mcp", json=opening).headers["mcp-session-id"] for _ in range(20)]  # never to be ended
            with live.client(headers=headers, transport=httpx2.HTTPTransport(local_address="127.0.0.2")) as other:
                names.insert(0, other.post("/mcp", json=opening).headers["mcp-session-id"])
        assert replies == [False]  # who waits for an answer gets it
        known = [stranger.delete("/mcp", headers={"mcp-session-id": name}).status_code for name in names]
        assert (known[0], known[1], known[-1]) == (200, 404, 200)


async def test_reading_a_page() -> None:
    words = b"Tea is a drink made from leaves. " * 12
    body = b"<html><head><title>Tea</title></head><body><article><p>" + words + b"</p></article></body></html>"
    async with WireServer([Response([body], headers={"Content-Type": "text/html"})]) as server:
        own = (server.url.removeprefix("http://"),)
        of = Engine(Settings(model="none", allow_hosts=own, ignore_robots=True, cache=False))
        async with alone(of) as service, Client(mcp.build(service)) as client:
            reply = await client.call_tool("read", {"url": f"{server.url}/tea"})
        await of.aclose()
    assert not reply.is_error
    assert reply.structured_content is not None
    assert reply.structured_content["title"] == "Tea"
    assert reply.structured_content["text"].startswith("Tea is a drink made from leaves.")


@pytest.mark.slow
async def test_the_tools_over_stdio(tmp_path: Path) -> None:
    environment = {**os.environ, "WELLREAD_MODEL": "none"}
    command = ["-c", "from wellread.cli.main import main; main()", "mcp"]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=str(tmp_path))
    async with Client(server) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"ask", "search", "read"}
        reply = await client.call_tool("ask", {"question": "Who discovered Titan?"})
        assert "Huygens" in reply.content[0].text  # type: ignore[union-attr]
        nothing = await client.call_tool("ask", {"question": "What did Zorblax the Unseen eat on Quuxday?"})
        assert nothing.content[0].text.startswith("No answer")  # type: ignore[union-attr]


@pytest.mark.slow
def test_rubbish_over_stdio_ends_nothing(tmp_path: Path) -> None:
    """What is asked after lines that are no messages is answered, and the server ends with its client."""
    command = [sys.executable, "-c", "from wellread.cli.main import main; main()", "mcp"]
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        b"nonsense",
        b"\xff\xfe\x00",
        b"{}",
        b"[1, 2]",
        b'{"jsonrpc": "2.0", "id": {}, "method": 7}',
        b'"' + b"x" * 20_000_000,
    ]
    lines += [
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "../ask", "arguments": []}}',
    ]
    asked = {"jsonrpc": "2.0", "id": 77, "method": "initialize", "params": about}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path,
        env={**os.environ, "WELLREAD_MODEL": "none"},
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"\n".join([*lines, json.dumps(asked).encode(), b""]))
        server.stdin.flush()
        heard = (json.loads(line) for line in server.stdout)
        assert next(one for one in heard if one.get("id") == 77)["result"]["serverInfo"]["name"] == "wellread"
        server.stdin.close()
        assert server.wait(30) == 0


def test_an_sdk_that_cannot_be_loaded_is_said_and_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(service: object) -> None:
        raise ImportError("no module named mcp")

    monkeypatch.setattr("wellread.server.mcp.build", broken)
    with running(engine(), folder) as live, live.client() as client:
        assert client.post("/mcp", json={}, timeout=5).status_code == 503
        assert client.get("/healthz").status_code == 200
