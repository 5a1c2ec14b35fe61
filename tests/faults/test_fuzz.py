"""Every reader of foreign text on texts that nobody thought of: it answers, or says what is wrong with a typed error."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import strategies as st
from tests.faults.fuzzing import EDITS, TIMEOUT, Edits, edited, fuzz
from tests.replay.test_departures import record, replay
from tests.server.stage import engine, running

from wellread import settings as our_settings
from wellread.citations import check as citations
from wellread.errors import Blocked, DamagedFile, IndexFault, SettingsError, UsageError, WellreadError
from wellread.index import manifest
from wellread.index.search import LocalIndex, SearchOptions
from wellread.models import structured
from wellread.net.guard import Guard
from wellread.server import options
from wellread.strategies import turns
from wellread.text.inert import inert
from wellread.types import Passage

pytestmark = [pytest.mark.slow, pytest.mark.no_cover, pytest.mark.timeout(TIMEOUT)]
PIECES = [
    *("<search>", "</search>", "<search", "< /search >", "<think>", "</think>", "<information>", "<", ">", "</", "&lt;"),
    *(
        "Action:",
        "Action: read: http://a.b",
        "Thought:",
        "PAUSE",
        "Observation:",
        "Answer:",
        "NO ANSWER",
        "\n",
        "\r\n",
        " ",
        "\t",
    ),
    *(
        "[1]",
        "[1, 2]",
        "[1",
        "]",
        "[^1]",
        "【1†x】",
        "[a](http://a.b)",
        "![",
        "](",
        "| a | b |",
        "|---|",
        "```",
        "- ",
        "# ",
        "1. ",
    ),
    *("{", "}", '{"a":', '"', ":", ",", "[", "null", "1e999", "-", "\\u0041", "\\", "//", "'", "True", "..."),
    *(
        "Dr.",
        "e.g.",
        "U.S.",
        "3.14",
        "%",
        "1960s",
        "not",
        "don't",
        "\u2028",
        "\0",
        "\ud800",
        "é",
        "漢字。",
        "🙂",
        "\u202e",
        "a" * 50,
    ),
]
FRAGMENTS = st.sampled_from(PIECES)
TEXT = st.lists(FRAGMENTS | st.text(max_size=8), max_size=40).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
PASSAGES = {1: Passage("1", "Saturn has 146 moons. Dr. No said so in the 1960s.", "Saturn"), 2: Passage("2", "漢字。é", "x")}


def check_tags(text: str) -> None:
    turns.blocks(text, "search")
    turns.query(text, "search")
    turns.until_closed(text, "search")
    assert "<think>" not in turns.without(text.replace("<think", ""), "think")


def check_actions(text: str) -> None:
    turns.read_turn(text)
    turns.read_turn(text, finished=False)


def check_json(text: str) -> None:
    with suppress(structured.Misfit):
        structured.parse(text)


def check_citations(text: str) -> None:
    found = citations.check(text, PASSAGES)
    assert all(text[one.start : one.end] == one.text for one in found)
    inert(text, PASSAGES)


def check_guard(address: str) -> None:
    try:
        url = Guard().check(address)
    except Blocked:
        return
    assert url.scheme in ("http", "https")
    try:
        found = ipaddress.ip_address(url.host.strip("[]"))
    except ValueError:
        return
    assert found.is_global


def test_tags() -> None:
    fuzz(TEXT, check_tags)


def test_actions() -> None:
    fuzz(TEXT, check_actions)


def test_broken_json() -> None:
    fuzz(TEXT | JSON.map(lambda value: json.dumps(value)[:-1]), check_json)


def test_citations() -> None:
    fuzz(TEXT, check_citations)


def test_guard() -> None:
    hosts = st.ip_addresses().map(str) | st.ip_addresses(v=6).map(lambda a: f"[{a}]") | st.integers(0, 2**33).map(str)
    odd = ["127.1", "0x7f.1", "017700000001", "[::ffff:127.0.0.1]", "localhost", "a.local", "①②⑦.⓪.⓪.①", "::1", "metadata"]
    schemes = st.sampled_from(["http://", "https://", "HTTP:\\\\", "//", "ftp://", "http:/"])
    ports = st.sampled_from(["", ":80", ":22", ":0", "@a.b"])
    parts = st.tuples(schemes, TEXT | hosts | st.sampled_from(odd), ports, TEXT)

    fuzz(parts.map("".join), check_guard)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    shutil.copytree(str(files("wellread") / "library" / "index"), tmp_path / "index")
    return tmp_path / "index"


def looked_up(folder: Path) -> None:
    try:
        opened = LocalIndex.open(folder)
        asyncio.run(opened.search("largest planet", None, 3, SearchOptions(meaning=False)))
        opened.find_title("Saturn")
        opened.close()
    except (DamagedFile, IndexFault):
        return


def test_manifests(index: Path) -> None:
    path = index / manifest.NAME
    data = json.loads(path.read_text())
    del data["sha256"]
    names = st.sampled_from(sorted(data))

    def check(change: tuple[str, Any]) -> None:
        made = {**data, change[0]: change[1]}
        try:
            path.write_text(json.dumps({"sha256": manifest._own_sum(made), **made}))
        except (UnicodeEncodeError, ValueError):
            return
        looked_up(index)

    segments = JSON.map(lambda value: [{**data["segments"][0], "rows": value}])
    fuzz(st.tuples(names, JSON | st.integers(-5, 10**20)) | st.tuples(st.just("segments"), segments), check)


def test_indexes(index: Path) -> None:
    parts = sorted(path for path in index.rglob("*") if path.is_file())

    def check(change: tuple[Path, Edits]) -> None:
        path, whole = change[0], change[0].read_bytes()
        path.write_bytes(edited(whole, change[1]))
        try:
            looked_up(index)
        finally:
            path.write_bytes(whole)

    fuzz(st.tuples(st.sampled_from(parts), EDITS), check)


def test_recordings(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    asyncio.run(record(path, "corrective"))
    whole = path.read_bytes()

    async def replayed() -> None:
        try:
            await asyncio.wait_for(replay(path, patience=0.05), 60)
        except WellreadError:
            return

    def check(edits: Edits) -> None:
        path.write_bytes(edited(whole, edits))
        asyncio.run(replayed())

    fuzz(EDITS, check)


def test_settings(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    names = ["model", "sources", "effort", "max_seconds", "params", "server", "hops", "allow_hosts", "port", "token", "x"]
    values = JSON.map(lambda value: json.dumps(value)) | TEXT
    lines = st.lists(st.tuples(st.sampled_from([*names, "[server]", "[params.quote]", "[params"]), values), max_size=6)

    def check(made: list[tuple[str, str]]) -> None:
        text = "\n".join(name if name.startswith("[") else f"{name} = {value}" for name, value in made)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        path.chmod(0o600)
        try:
            options.load(our_settings.load(environ={"WELLREAD_CONFIG": str(path)}))
        except (SettingsError, UsageError):
            return

    fuzz(lines, check)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with running(engine(), tmp_path_factory.mktemp("fuzz")) as live, live.client() as one:
        yield one


ASKS: dict[str, dict[str, Any]] = {
    "/api/ask": {"question": "How many moons has Saturn?"},
    "/api/runs": {"question": "How many moons has Saturn?"},
    "/v1/chat/completions": {"model": "wellread", "messages": [{"role": "user", "content": "How many moons has Saturn?"}]},
    "/v1/responses": {"model": "wellread", "input": "How many moons has Saturn?"},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "moons"}}},
}


def test_request_bodies(client: httpx2.Client) -> None:
    names = ["question", "strategy", "params", "sources", "model", "messages", "input", "stream", "history", "limit", "id"]
    more = st.dictionaries(st.sampled_from(names), JSON, max_size=3)
    bodies = st.tuples(st.sampled_from(sorted(ASKS)), more, EDITS | st.none())

    def check(made: tuple[str, dict[str, Any], Edits | None]) -> None:
        path, change, edits = made
        body = json.dumps({**ASKS[path], **change}).encode()
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        reply = client.post(path, content=edited(body, edits) if edits else body, headers=headers)
        assert reply.status_code < 500 or reply.status_code == 503, (path, body, reply.text[:300])

    fuzz(bodies, check)
    assert client.get("/healthz").status_code == 200
