"""Who may come in, from where, with how much; and what no response and no log line may hold."""

from __future__ import annotations

import io
import json
import logging
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.stage import TOKEN, Live, ask, engine, finished, running, stream

from wellread.cli.main import app
from wellread.errors import SettingsError, UsageError
from wellread.server import logs, security
from wellread.server import options as server_options
from wellread.server.options import ServerOptions
from wellread.server.security import Access, address, host_allowed, hosts, origin_allowed
from wellread.settings import Settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with running(engine(), tmp_path_factory.mktemp("guarded"), token=TOKEN) as server:
        yield server


def test_on_any_other_address_a_token_is_needed() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(UsageError, match="token"):
            ServerOptions(host=host).check()
        ServerOptions(host=host, token=TOKEN).check()
    for host in ("127.0.0.1", "::1", "localhost", "127.9.9.9"):
        ServerOptions(host=host).check()
    with pytest.raises(UsageError, match="too short"):
        ServerOptions(token="short").check()


def test_serve_refuses_before_it_listens() -> None:
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0"])
    assert isinstance(result.exception, UsageError)
    assert "token" in str(result.exception)


def test_options_come_from_flags_environment_and_file() -> None:
    settings = Settings(server={"port": 9000, "token": "token-of-the-file", "retention_days": "7"})
    assert server_options.load(settings, {}, {}).token == "token-of-the-file"
    found = server_options.load(settings, {"port": 9001, "host": None}, {"WELLREAD_TOKEN": TOKEN})
    assert (found.port, found.host, found.token, found.retention_days) == (9001, "127.0.0.1", TOKEN, 7)
    assert TOKEN not in repr(found)
    assert server_options.load(settings, {"host": "[::1]"}, {}).host == "::1"  # as it stands in addresses
    with pytest.raises(SettingsError, match="did you mean port"):
        server_options.load(Settings(server={"prt": 1}), {}, {})
    with pytest.raises(SettingsError, match="max_running"):
        server_options.load(Settings(server={"max_running": 0}), {}, {})


def test_without_the_token_nothing_but_the_door_is_shown(guarded: Live) -> None:
    with guarded.client() as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/static/base.css").status_code == 200
        for path in ("/api/runs", "/api/menu", "/metrics", "/openapi.json", "/v1/models", "/nowhere", "/mcp"):
            reply = client.get(path)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
        for wrong in ("Bearer wrong", f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"):
            assert client.get("/api/runs", headers={"Authorization": wrong}).status_code == 401
        assert client.get("/api/runs", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        page = client.get("/r/AAAAAAAAAAAA", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/login?next=/r/AAAAAAAAAAAA")


def test_a_browser_gets_a_cookie_that_is_not_the_token(guarded: Live) -> None:
    with guarded.client() as client:
        wrong = client.post("/login", data={"token": "wrong"})
        assert (wrong.status_code, "Set-Cookie" in wrong.headers) == (401, False)
        right = client.post("/login", data={"token": TOKEN, "next": "/history"})
        assert (right.status_code, right.headers["location"]) == (303, "/history")
        cookie = right.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert TOKEN not in cookie
        assert client.get("/history", headers={"Accept": "text/html"}).status_code == 200
        value = cookie.partition("=")[2].partition(";")[0]
    forged = ("", "x", f"{int(time.time()) + 99999}.{'0' * 64}", value[:-1] + ("0" if value[-1] != "0" else "1"), "\xb2.x")
    for bad in forged:
        assert not Access(TOKEN).allowed("", f"wellread_session={bad}")
    assert Access(TOKEN).allowed("", f"wellread_session={value}")
    assert not Access(TOKEN + "x").allowed("", f"wellread_session={value}")


def test_an_old_cookie_is_worth_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access(TOKEN)
    value = access.cookie(secure=True).partition(";")[0]
    assert access.allowed("", value)
    later = time.time() + 31 * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    assert not access.allowed("", value)


@pytest.mark.parametrize("next", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_the_login_leads_nowhere_else(guarded: Live, next: str) -> None:
    with guarded.client() as client:
        assert client.post("/login", data={"token": TOKEN, "next": next}).headers["location"] == "/"


def test_other_names_and_other_sites_are_turned_away(client: httpx2.Client, live: Live) -> None:
    host = live.url.removeprefix("http://")
    port = host.partition(":")[2]
    for name in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "",
        "10.0.0.7",
        "localhost@evil.example",
        f"evil.example@{host}",
    ):
        assert client.get("/healthz", headers={"Host": name}).status_code in (400, 421)
    for name in (f"localhost:{port}", "LOCALHOST", "[::1]:8000", "127.0.0.1"):
        assert client.get("/healthz", headers={"Host": name}).status_code == 200
    for origin in ("http://evil.example", "null", f"http://localhost:{port}", "http://127.0.0.1:1", f"{live.url}.evil.example"):
        assert client.post("/api/runs", json={"question": "x"}, headers={"Origin": origin}).status_code == 403
    for site in ("cross-site", "same-site"):
        assert client.post("/ask", data={"question": "x"}, headers={"Sec-Fetch-Site": site}).status_code == 403
    for origin in ("http://[", "http://]", "http://[::1", "http://[x]", "://", "http://a:b:c", "\xff://x"):
        assert client.get("/healthz", headers={"Origin": origin.encode("latin-1")}).status_code == 403
    assert client.get("/healthz", headers={"Origin": live.url}).status_code == 200
    assert client.get("/api/runs", headers={"Origin": "http://evil.example"}).status_code == 403


def test_another_site_may_lead_here_and_not_take_from_here(client: httpx2.Client) -> None:
    for site in ("cross-site", "same-site"):
        for path in ("/history?q=secret", "/api/search?q=secret", "/static/base.css", "/"):
            for mode in ("no-cors", "cors", "websocket", ""):
                headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
                assert client.get(path, headers=headers).status_code == 403, (site, path, mode)
        led = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert client.get("/history", headers=led).status_code == 200
        assert client.get("/history", headers={**led, "Sec-Fetch-Dest": "document"}).status_code == 200
        for place in ("iframe", "frame", "object", "embed", "fencedframe"):
            assert client.get("/history?q=secret", headers={**led, "Sec-Fetch-Dest": place}).status_code == 403, place


def test_no_cache_that_several_share_keeps_what_one_was_shown(guarded: Live) -> None:
    token = {"Authorization": f"Bearer {TOKEN}"}
    with guarded.client() as client:
        for path in ("/", "/history", "/api/runs", "/api/export", "/nowhere", "/login", "/openapi.json", "/docs", "/metrics"):
            for headers in ({**token, "Accept": "text/html"}, token, {}):
                kept = client.get(path, headers=headers).headers["cache-control"]
                assert "private" in kept or "no-store" in kept, (path, kept)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1:2:3:4", "2001:db8::5:6:7:8", True),
        ("2001:db8:1:2:3::", "2001:db8:1:2::9", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("::1", "127.0.0.1", False),
    ],
)
def test_whoever_has_a_network_is_one_client(one: str, other: str, same: bool) -> None:
    def counted(host: str) -> str:
        return security.client(host)

    def asking(host: str) -> str:
        return address({"type": "http", "client": (host, 1), "headers": []})

    assert (counted(one) == counted(other)) is same
    assert asking(one) == counted(one)


def test_a_named_host_is_answered_when_the_operator_says_so() -> None:
    options = ServerOptions(host="0.0.0.0", token=TOKEN, allowed_hosts=("answers.example.org",))
    names = hosts(options)
    assert host_allowed("answers.example.org", names, local=False)
    assert host_allowed("10.0.0.7:8000", names, local=False)
    assert not host_allowed("other.example.org", names, local=False)
    assert not host_allowed("10.0.0.7", hosts(ServerOptions()), local=True)


@given(st.text(max_size=60))
def test_no_header_breaks_the_checks(text: str) -> None:
    host_allowed(text, frozenset({"localhost"}), local=True)
    assert not origin_allowed("POST", "localhost", {"origin": text + "://evil"})
    Access(TOKEN).allowed(text, text)


def test_every_response_carries_the_strict_headers(client: httpx2.Client) -> None:
    for reply in (client.get("/"), client.get("/api/menu"), client.get("/nowhere"), client.get("/static/page.js")):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
        assert "server" not in reply.headers
        assert "access-control-allow-origin" not in reply.headers


def test_large_bodies_are_refused_whether_declared_or_not(client: httpx2.Client) -> None:
    body = json.dumps({"question": "x", "strategy": "y" * 300_000}).encode()
    kind = {"Content-Type": "application/json"}
    assert client.post("/api/runs", content=body, headers=kind).status_code == 413

    def pieces() -> Iterator[bytes]:
        yield from (body[at : at + 50_000] for at in range(0, len(body), 50_000))

    assert client.post("/api/runs", content=pieces(), headers=kind).status_code == 413


def test_what_strangers_send_is_small_and_comes_at_once(guarded: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else they take the event loop by the fields of a form, a connection by waiting, and the disk by a long path in the log."""
    monkeypatch.setattr("wellread.server.security._LOGIN_SECONDS", 0.3)
    told: list[dict[str, object]] = []
    monkeypatch.setattr(logs, "info", lambda _, **facts: told.append(facts))
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with guarded.client() as client:
        assert client.post("/login", content=b"token=" + b"%41" * 2_000, headers=form).status_code == 413
        assert client.get("/healthz/" + "x" * 10_000).status_code == 401
    assert max(len(str(facts["path"])) for facts in told) <= 200
    with socket.create_connection((urlsplit(guarded.url).hostname, urlsplit(guarded.url).port), timeout=10) as slow:
        slow.sendall(b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\ntok")
        assert slow.recv(100).startswith(b"HTTP/1.1 408")


def test_broken_requests_are_no_faults(client: httpx2.Client) -> None:
    kind = {"Content-Type": "application/json"}
    for body in (b"{", b"[]", b"\xff\xfe", b'{"question": "\\ud800"}', b"null"):
        assert client.post("/api/runs", content=body, headers=kind).status_code in (202, 400, 422)
    for path in ("/r/short", "/r/..%2f..%2fetc", "/static/..%2fpages.py", "/static/none.css", "/api/runs/%00", "/r/AAAAAAAAAAAA"):
        assert client.get(path).status_code in (404, 422)
    assert client.put("/api/runs").status_code == 405


def test_logs_are_lines_of_json_with_the_run_and_without_secrets(folder: Path) -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logs.Lines())
    logger = logging.getLogger("wellread.server")
    logger.addHandler(handler)
    logger.setLevel("INFO")
    try:
        with running(engine(), folder, token=TOKEN) as live, live.client(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            run = ask(client, "What is my secret question?")
            finished(client, run)
            live.service.menu.authorize = None  # type: ignore[assignment, method-assign]  # anything that cannot happen
            broken = client.post("/api/ask", json={"question": "x"})
    finally:
        logger.removeHandler(handler)
        logger.setLevel("NOTSET")
    assert broken.status_code == 500
    assert "Traceback" not in broken.text
    assert "NoneType" not in broken.text
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert any(line.get("run") == run and line["message"] == "run ended" for line in lines)
    fault = next(line for line in lines if line["message"] == "request failed")
    assert fault["error"].startswith("TypeError at session.py:")
    assert fault["fault"] in broken.json()["error"]
    for secret in (TOKEN, "secret question", "Traceback", "File \\"):
        assert secret not in out.getvalue()


def test_a_traceback_never_reaches_the_log() -> None:
    record = logging.LogRecord(
        "x", logging.ERROR, "f", 1, "Traceback (most recent call last)\n  File x\nValueError: sk-1", None, None
    )
    assert json.loads(logs.Lines().format(record))["message"] == "ValueError"
    try:
        raise ValueError("sk-1")
    except ValueError as problem:
        record.exc_info = (ValueError, problem, problem.__traceback__)
    assert "sk-1" not in logs.Lines().format(record)


def test_a_history_that_cannot_be_written_is_told_as_such(folder: Path) -> None:
    with running(engine(), folder) as live, live.client() as client:
        live.service.history.database.writer.close()  # type: ignore[attr-defined]  # as if the disk were gone
        reply = client.post("/api/runs", json={"question": "x"})
        assert reply.status_code == 503
        assert "history" in reply.json()["error"]
        assert live.service.gate.running == 0
        answer = stream(client, "POST", "/api/ask", json={"question": "x"})[-1]["answer"]
        assert answer["outcome"] == "answered"
        import sqlite3

        live.service.history.database.writer = sqlite3.connect(
            folder / "history.sqlite", check_same_thread=False, isolation_level=None
        )


def test_options_are_not_shared_by_accident() -> None:
    assert replace(ServerOptions(), port=1).port == 1
