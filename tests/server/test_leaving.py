"""Clients that leave, servers that stop: work ends, nothing is left behind, nothing is half-written."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from tests.server.stage import ask, engine, finished, running, stream, until

from wellread.errors import UsageError
from wellread.server import logs, serving
from wellread.server.history import History
from wellread.server.options import ServerOptions

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def send(url: str, path: str, body: object) -> socket.socket:
    """A request whose connection is ours to drop."""
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    text = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    connection.sendall((head + text).encode())
    return connection


MESSAGES = {"messages": [{"role": "user", "content": "How many moons has Saturn?"}]}
INPUT = {"input": "How many moons has Saturn?"}


@pytest.mark.parametrize(
    ("path", "body", "silent"),
    [
        ("/api/ask", {"question": "How many moons has Saturn?"}, False),
        ("/v1/chat/completions", {**MESSAGES, "stream": True}, False),
        ("/v1/chat/completions", MESSAGES, True),
        ("/v1/responses", {**INPUT, "stream": True}, False),
        ("/v1/responses", {**INPUT, "stream": True, "store": False}, False),
        ("/v1/responses", INPUT, True),
        ("/v1/responses", {**INPUT, "store": False}, True),
    ],
)
async def test_a_client_that_leaves_frees_its_run_within_a_second(folder: Path, path: str, body: object, silent: bool) -> None:
    of = engine(delay=0.3)
    with running(of, folder) as live:
        connection = send(live.url, path, body)
        if not silent:
            assert b"200 OK" in connection.recv(4096)
        until(lambda: len(of.kit.model().prompts) > 0)  # type: ignore[attr-defined]
        assert live.service.gate.running == 1
        left = time.monotonic()
        connection.close()
        until(lambda: live.service.gate.running == 0)
        assert time.monotonic() - left < 1.0
        until(lambda: of.kit.model().closed == 1)  # type: ignore[attr-defined]
        assert not live.service.runs.live


@pytest.mark.slow
async def test_many_that_connect_and_drop_leave_nothing_behind(folder: Path) -> None:
    with running(engine(delay=0.05), folder, max_running=100, max_per_client=100, max_queued=100) as live:
        with live.client() as client:
            finished(client, run := ask(client))
        before = len(os.listdir("/proc/self/fd"))
        for number in range(200):
            if number % 4 == 0:
                send(live.url, "/api/ask", {"question": "x"}).close()
            elif number % 4 == 1:
                send(live.url, "/v1/chat/completions", {**MESSAGES, "stream": True}).close()
            elif number % 4 == 2:
                send(live.url, "/v1/responses", {**INPUT, "stream": number % 8 == 2, "store": number % 16 < 8}).close()
            else:
                host, port = live.url.removeprefix("http://").split(":")
                with socket.create_connection((host, int(port))) as connection:
                    connection.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        until(lambda: live.service.gate.running == 0 and not live.service.gate.queue, 20)
        until(lambda: not live.service.gate.clients)
        until(lambda: len(os.listdir("/proc/self/fd")) <= before + 2)


async def test_a_stopping_server_interrupts_what_does_not_end_and_says_so(folder: Path) -> None:
    with running(engine(delay=5.0), folder, stop_seconds=0.1) as live, live.client() as client:
        run = ask(client)
        with client.stream("GET", f"/api/runs/{run}/events") as reply:
            pieces = reply.iter_text()
            next(pieces)
            closing = asyncio.get_running_loop().run_in_executor(None, lambda: list(pieces))
            asyncio.run_coroutine_threadsafe(live.service.runs.drain(0.1), live.service.history._flusher.get_loop())  # type: ignore[union-attr]
            rest = "".join(await closing)
        assert '"state": "interrupted"' in rest
        refused = client.post("/api/runs", json={"question": "x"})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert client.get("/healthz").json() == {"status": "stopping"}
    history = await History.open(folder / "history.sqlite")
    kept = await history.get(run)
    assert kept is not None
    assert kept.state == "interrupted"
    await history.aclose()


async def test_a_run_that_ignores_its_limits_is_ended(folder: Path) -> None:
    with running(engine(delay=5.0), folder) as live, live.client() as client:
        order = live.service.menu.authorize
        live.service.menu.authorize = lambda wish, **more: replace(order(wish, **more), seconds=0.3)  # type: ignore[method-assign]
        attached = stream(client, "POST", "/api/ask", json={"question": "x"})
        assert attached[-1] == {"event": "ended", "state": "failed", "reason": "the limit on seconds is reached"}
        detached = stream(client, "GET", f"/api/runs/{ask(client)}/events")
        assert detached[-1] == {"event": "ended", "state": "failed", "reason": "the limit on seconds is reached"}
        assert live.service.gate.running == 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.slow
def test_serve_as_a_process_answers_and_ends_on_sigterm(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-c", "from wellread.cli.main import main; main()", "serve", "--port", str(port)]
    command += ["--history", str(tmp_path / "h.sqlite"), "--model", "none"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
            deadline = time.monotonic() + 60
            while True:
                try:
                    client.get("/healthz")
                    break
                except httpx2.TransportError:
                    assert time.monotonic() < deadline
                    assert process.poll() is None
                    time.sleep(0.1)
            run = ask(client, "Who discovered Titan?")
            process.send_signal(signal.SIGTERM)
            log = stream(client, "GET", f"/api/runs/{run}/events")  # a running answer finishes, and is heard to
            assert log[-1]["state"] in ("done", "interrupted")
        lines = process.communicate(timeout=30)[1].splitlines()
    assert process.returncode in (0, -signal.SIGTERM)
    (said,) = [line for line in lines if not line.startswith("{")]  # for people; the rest is the log
    assert said.startswith(f"wellread listens on http://127.0.0.1:{port}/")
    assert all(json.loads(line) for line in lines if line != said)
    assert "Traceback" not in "\n".join(lines)


@pytest.mark.slow
def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-c", "from wellread.cli.main import main; main()", "serve", "--model", "none"]
        command += ["--port", str(taken.getsockname()[1]), "--history", str(tmp_path / "h.sqlite")]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("wellread: cannot listen on 127.0.0.1")


@pytest.mark.parametrize("host", ["a\0b", "\udcff", "é" * 80, "\u202e1"])
def test_a_host_that_is_no_name_is_told(host: str) -> None:
    with pytest.raises(UsageError, match="no name of a host"):
        serving.listen(ServerOptions(host=host, port=0))


@pytest.mark.slow
def test_a_broken_history_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "h.sqlite").write_bytes(b"no database at all, just words" * 50)
    command = [sys.executable, "-c", "from wellread.cli.main import main; main()", "serve", "--model", "none"]
    command += ["--port", "0", "--history", str(tmp_path / "h.sqlite")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode != 0
    assert "the history cannot be opened" in result.stderr
    assert "listens" not in result.stderr  # that is said when it does
    assert "Traceback" not in result.stderr


def test_a_terminal_is_told_of_requests_only_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        terminal = False

        def isatty(self) -> bool:
            return self.terminal

    monkeypatch.setattr(logging.root, "handlers", [])
    for terminal, verbose, told in ((True, False, False), (True, True, True), (False, False, True)):
        stderr = Screen()
        stderr.terminal = terminal
        monkeypatch.setattr("sys.stderr", stderr)
        logs.configure(verbose=verbose)
        logs.info("request", path="/")
        assert ("request" in stderr.getvalue()) == told
    for name in ("wellread.server", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.NOTSET)
