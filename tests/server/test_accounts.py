"""Accounts: users whom a trusted proxy names, each with a history, collections and limits of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.server.stage import TOKEN, ask, engine, finished, quoting, running
from tests.server.test_collections import make, sent, settled

from wellread.errors import UsageError
from wellread.server.options import ServerOptions

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
HEADER = "X-Forwarded-Email"
ANN, BEN = ({HEADER: f"{name}@example.org"} for name in ("ann", "ben"))


def test_each_has_a_history_and_collections_of_their_own(tmp_path: Path) -> None:
    with (
        running(quoting(), tmp_path, user_header=HEADER) as live,
        live.client(headers=ANN) as ann,
        live.client(headers=BEN) as ben,
    ):
        run = finished(ann, ask(ann, "Who discovered Titan?"))["id"]
        settled(ann, make(ann, "Ferries", sent(ferry__txt="The ferry to Skerry ran on Tuesdays only.")))
        assert "ann@example.org" in ann.get("/").text
        assert [one["id"] for one in ann.get("/api/runs").json()["runs"]] == [run]
        assert ben.get("/api/runs").json()["runs"] == []
        api = f"/api/runs/{run}"
        for path in (f"/r/{run}", f"/r/{run}/source/1", f"/r/{run}/export.md", api, f"{api}/events", "/collections/ferries"):
            assert (ann.get(path).status_code, ben.get(path).status_code) == (200, 404), path
        assert ben.delete(api, params={"forget": True}).status_code == 404
        assert ben.post("/api/runs", json={"question": "And?", "parent": run}).status_code == 404
        assert "Ferries" in {one["name"] for one in ann.get("/api/menu").json()["sources"]}
        assert "Ferries" not in {one["name"] for one in ben.get("/api/menu").json()["sources"]}
        assert ben.post("/api/ask", json={"question": "When?", "sources": ["Ferries"]}).status_code == 400
        folders = list((tmp_path / "users").iterdir())
        assert (len(folders), any(one.stat().st_mode & 0o077 for one in folders)) == (2, False)
    with running(quoting(), tmp_path, user_header=HEADER) as live, live.client(headers=ANN) as ann:
        assert [one["id"] for one in ann.get("/api/runs").json()["runs"]] == [run], "kept over a restart"


def test_nobody_comes_in_without_a_name_or_by_another_way(tmp_path: Path) -> None:
    for options, peers in (({}, 200), ({"proxies": ("192.0.2.0/24",)}, 401)):
        with running(quoting(), tmp_path, user_header=HEADER, **options) as live, live.client() as client:
            assert client.get("/api/runs").status_code == 401
            assert client.get("/", headers={"Accept": "text/html"}).status_code == 401
            assert client.get("/api/runs", headers=ANN).status_code == peers
            assert client.get("/api/runs", headers=[(HEADER, "ann"), (HEADER, "ben")]).status_code == 401
            assert client.get("/healthz").status_code == 200
            assert client.get("/settings", headers=ANN).status_code in (401, 404)
    with running(quoting(), tmp_path, user_header=HEADER, token=TOKEN) as live, live.client() as client:
        assert client.get("/api/runs").status_code == 401
        assert client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200  # the operator's own


def test_limits_count_users_and_not_their_proxy(tmp_path: Path) -> None:
    one = {"user_header": HEADER, "max_per_client": 1}
    with running(engine(delay=0.05), tmp_path, **one) as live, live.client(headers=ANN) as ann, live.client(headers=BEN) as ben:
        ask(ann)
        assert ann.post("/api/runs", json={"question": "And?"}).status_code == 429
        ask(ben)


async def test_mcp_knows_them_too(tmp_path: Path) -> None:
    with running(quoting(), tmp_path, user_header=HEADER) as live:
        for headers in (ANN, BEN):
            http = httpx2.AsyncClient(headers=headers)
            async with http, Client(streamable_http_client(f"{live.url}/mcp", http_client=http)) as client:
                assert not (await client.call_tool("ask", {"question": "Who discovered Titan?"})).is_error
            with live.client(headers=headers) as own:
                assert len(own.get("/api/runs").json()["runs"]) == 1


@pytest.mark.parametrize("options", [{"workers": 2}, {"history": "postgresql://x/y"}, {"proxies": ("proxy.example",)}])
def test_what_cannot_be_is_told(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ServerOptions(user_header=HEADER, **options).check()
