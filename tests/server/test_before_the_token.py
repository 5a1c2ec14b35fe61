"""What a stranger can do before the token is checked, and with a history that is damaged: very little."""

from __future__ import annotations

import json
import logging
import os
import resource
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.server.stage import ask, engine, finished, quoting, running

from wellread.server import logs, security, serving

pytestmark = pytest.mark.slow

TOKEN = "a token that is long enough"
FLOOD = """
import socket, sys, time
held, end = [], time.monotonic() + 3
while time.monotonic() < end:
    one = socket.socket()
    one.setblocking(False)
    one.bind(("127.0.0.3", 0))
    one.connect_ex(("127.0.0.1", int(sys.argv[1])))
    held.append(one)
    if len(held) == 800:
        print("full", flush=True)
        [one.close() for one in held]
        held.clear()
"""


def opened(url: str, of: tuple[str, int] | None = None) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=20, source_address=of)


def answered(connection: socket.socket) -> bytes:
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return connection.recv(100)
    except (ConnectionResetError, BrokenPipeError):
        return b""


def test_cookies_are_read_in_no_time() -> None:
    for header in ("\\" * 16_000, '"' * 16_000, ";" * 16_000, f"{security.COOKIE}=" + "\\" * 8_000, "a=b;" * 4_000):
        begun = time.thread_time()
        assert not security.Access(TOKEN).allowed("", header)
        assert time.thread_time() - begun < 0.1
    signed = security.Access(TOKEN).cookie(secure=True).partition(";")[0]
    assert security.Access(TOKEN).allowed("", f"other=1; {signed}; more=2")
    assert not security.Access(TOKEN).allowed("", f"{signed}0")


def test_silent_connections_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving.Connection, "head_seconds", 0.4)
    with running(quoting(), tmp_path, token=TOKEN) as live:
        silent, begun, again = opened(live.url), opened(live.url), opened(live.url)
        begun.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        again.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert again.recv(20).startswith(b"HTTP/1.1 200")
        again.sendall(b"GET /healthz HT")
        for one in (silent, begun, again):
            one.settimeout(10)
            with suppress(ConnectionResetError), one:
                while one.recv(4096):
                    pass
        with live.client() as client:
            assert client.get("/healthz").status_code == 200


def test_there_are_only_so_many_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "most", lambda: 5)
    with running(quoting(), tmp_path, proxy=True) as live:  # one whose clients all come from one address
        taken = [opened(live.url) for _ in range(5)]
        for one in taken:
            one.sendall(b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n")
        time.sleep(0.2)
        late = opened(live.url)
        assert not answered(late)
        for one in (*taken, late):
            one.close()


def test_silent_connections_make_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From however many addresses they come."""
    monkeypatch.setattr(serving, "most", lambda: 5)
    with running(quoting(), tmp_path, token=TOKEN) as live:
        first, second, *more = [opened(live.url, (f"127.0.0.{place}", 0)) for place in range(2, 7)]
        assert answered(first).startswith(b"HTTP/1.1 200")  # and silent again, but for less time than the others
        late = opened(live.url)
        assert answered(late).startswith(b"HTTP/1.1 200")
        assert [bool(answered(one)) for one in (second, first, *more, late)] == [False, *[True] * 5]
        for one in (first, second, *more, late):
            one.close()


def test_nobody_has_all_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "most", lambda: 6)
    with running(quoting(), tmp_path) as live:
        taken = [opened(live.url) for _ in range(6)]
        time.sleep(0.2)
        other = opened(live.url, ("127.0.0.2", 0))
        other.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert other.recv(20).startswith(b"HTTP/1.1 200")
        late = opened(live.url)
        with suppress(ConnectionResetError, BrokenPipeError):
            late.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert not late.recv(100), "it was answered"
        for one in (*taken, other, late):
            one.close()


def test_a_long_head_is_refused(tmp_path: Path) -> None:
    with running(quoting(), tmp_path) as live, live.client() as client:
        assert client.get("/healthz", headers={"x": "a" * 60_000}).status_code in (400, 431)
        assert client.get("/healthz").status_code == 200


def test_wrong_tokens_lock_nobody_out(tmp_path: Path) -> None:
    with running(quoting(), tmp_path, token=TOKEN) as live, live.client() as client:
        for number in range(12):
            assert client.get("/api/menu", headers={"Authorization": f"Bearer wrong {number}"}).status_code == 401
            assert client.post("/login", data={"token": f"wrong {number}"}).status_code == 401
        assert client.post("/login", data={"token": TOKEN}).status_code == 303


def test_a_flood_of_connections_takes_no_descriptor_of_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "descriptors", lambda: 300, raising=False)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = len(os.listdir("/proc/self/fd")) + 300
    with (
        running(quoting(), tmp_path, token=TOKEN) as live,
        subprocess.Popen([sys.executable, "-c", FLOOD, live.url.rpartition(":")[2]], stdout=subprocess.PIPE) as flood,
        live.client() as client,
    ):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, before[1]))
            assert flood.stdout is not None
            assert flood.stdout.readline()
            assert [client.get("/healthz").status_code for _ in range(5)] == [200] * 5
            flood.wait(60)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not [one for one in caplog.records if one.name == "asyncio"]


def test_what_strangers_cause_is_logged_once_a_second() -> None:
    told = logs.Seldom()
    lines = [
        logging.makeLogRecord({"name": "wellread.server", "seldom": "refused", "created": at}) for at in (1.0, 1.2, 1.9, 2.5)
    ]
    lines.append(logging.makeLogRecord({"name": "wellread.server", "seldom": None, "created": 2.6}))
    assert [told.filter(line) for line in lines] == [True, False, False, True, True]
    assert lines[3].facts == {"more": 2}  # type: ignore[attr-defined]


def test_lines_of_the_log_are_ascii() -> None:
    record = logging.makeLogRecord({"msg": "\x9b2J", "facts": {"path": "/\x9b31m\u2028\u202e\ud800"}})
    line = logs.Lines().format(record)
    assert line.isascii()
    assert json.loads(line)["path"].startswith("/\x9b31m")


def test_no_offset_breaks_a_stream(tmp_path: Path) -> None:
    with running(engine(), tmp_path) as live, live.client() as client:
        run = ask(client)
        finished(client, run)
        for path in (f"/r/{run}/live", f"/api/runs/{run}/events"):
            for offset in (2**63, 2**64, 10**30, -1):
                assert client.get(path, params={"offset": str(offset)}).status_code == 422


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("answer", "{"),
        ("answer", "[]"),
        ("answer", "[" * 100_000),
        ("sources", "7"),
        ("turns", '[["a"]]'),
        ("state", "odd"),
    ],
)
def test_a_damaged_history_is_said_to_be_damaged(column: str, value: str, tmp_path: Path) -> None:
    with running(engine(), tmp_path) as live, live.client() as client:
        whole, damaged = ask(client), ask(client)
        finished(client, whole)
        finished(client, damaged)
        with sqlite3.connect(tmp_path / "history.sqlite", timeout=10) as history:
            history.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (value, damaged))
        for path in ("/history", "/api/runs", f"/r/{damaged}", f"/api/runs/{damaged}"):
            reply = client.get(path)
            assert (reply.status_code, "restore it" in reply.text) == (503, True), path
        assert client.get(f"/r/{whole}").status_code == 200
