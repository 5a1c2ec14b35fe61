"""Two real server processes on one PostgreSQL: what is begun at one can be followed, stopped and counted at the other."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from tests.server.stage import ask, events_of, finished, stream, until
from tests.services.postgres import PASSWORD, QUOTED, Cluster
from tests.services.servers import free_port

from wellread.errors import WellreadError
from wellread.server import serving
from wellread.server.options import ServerOptions
from wellread.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.service]


@dataclass
class Process:
    url: str
    popen: subprocess.Popen[bytes]
    log: Path

    def client(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=60, trust_env=False)

    def kill(self) -> None:
        os.kill(self.popen.pid, signal.SIGKILL)
        self.popen.wait(10)


@contextmanager
def servers(address: str, folder: Path, *, count: int = 2, delay: float = 0.0, **options: int) -> Generator[list[Process]]:
    changes = [f"{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "tests.server.one_of_several", address, str(delay), *changes]
    with ExitStack() as stack:
        found: list[Process] = []
        for number in range(count):
            log = folder / f"server{number}.log"
            popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stack.enter_context(log.open("wb")))
            stack.callback(_end, popen)
            assert popen.stdout is not None
            found.append(Process(f"http://127.0.0.1:{int(popen.stdout.readline())}", popen, log))
        for process in found:
            until(lambda process=process: _answers(process), 60)
        yield found
        for process in found:
            assert PASSWORD not in process.log.read_text()
            assert QUOTED not in process.log.read_text()


@pytest.fixture(scope="module")
def pair(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Process]]:
    """Two servers for the tests that leave them as they were."""
    limits = {"max_running": 200, "max_per_client": 200, "max_queued": 200}
    with servers(postgres.database(), tmp_path_factory.mktemp("pair"), delay=0.02, **limits) as both:
        yield both


def _end(popen: subprocess.Popen[bytes]) -> None:
    popen.terminate()
    try:
        popen.wait(20)
    finally:
        popen.kill()
        popen.wait(5)
        assert popen.stdout is not None
        popen.stdout.close()


def _answers(process: Process) -> bool:
    assert process.popen.poll() is None, process.log.read_text()
    try:
        with process.client() as client:
            return client.get("/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def test_a_run_is_followed_live_through_the_other_server(pair: list[Process]) -> None:
    with pair[0].client() as here, pair[1].client() as there:
        run = ask(here)
        arrived: list[float] = []
        with there.stream("GET", f"/api/runs/{run}/events") as reply:
            parts: list[str] = []
            for part in reply.iter_text():
                arrived.append(time.monotonic())
                parts.append(part)
        followed = events_of("".join(parts))  # in order, none twice, none missing
        assert followed == stream(here, "GET", f"/api/runs/{run}/events") == stream(there, "GET", f"/api/runs/{run}/events")
        assert followed[-1] == {"event": "ended", "state": "done", "reason": None}
        assert arrived[-1] - arrived[0] > 0.3  # as they came, not at the end
        assert stream(there, "GET", f"/api/runs/{run}/events", params={"offset": 5}) == followed[5:]
        assert there.get(f"/api/runs/{run}").json()["answer"]["outcome"] == "answered"
        follow_up = ask(there, "And Jupiter?", parent=run)
        assert finished(here, follow_up)["state"] == "done"
        assert "Titan is the largest" in here.get(f"/r/{follow_up}").text


def test_an_mcp_client_follows_up_at_the_other_server(pair: list[Process]) -> None:
    async def asked(at: Process, question: str, previous: str | None = None) -> Any:
        async with Client(f"{at.url}/mcp") as client:
            return await client.call_tool("ask", {"question": question, "previous": previous})

    first = asyncio.run(asked(pair[0], "How many moons has Saturn?")).structured_content
    second = asyncio.run(asked(pair[1], "And Jupiter?", first["id"]))
    assert not second.is_error
    with pair[0].client() as here:
        assert here.get(f"/api/runs/{second.structured_content['id']}").json()["via"] == "mcp"
    assert asyncio.run(asked(pair[1], "And Jupiter?", "nobody")).is_error


def test_a_run_is_stopped_and_forgotten_through_the_other_server(pair: list[Process]) -> None:
    with pair[0].client() as here, pair[1].client() as there:
        run = ask(here)
        begun = time.monotonic()
        assert there.delete(f"/api/runs/{run}").json() == {"id": run, "state": "stopped"}
        assert time.monotonic() - begun < 3
        assert stream(here, "GET", f"/api/runs/{run}/events")[-1]["state"] == "stopped"
        assert "wellread_runs_running 0" in here.get("/metrics").text
        run = ask(here)
        assert there.delete(f"/api/runs/{run}", params={"forget": True}).json()["state"] == "forgotten"
        assert here.get(f"/api/runs/{run}").status_code == 404


def test_the_runs_of_a_server_that_is_killed_end_and_nothing_acknowledged_is_lost(postgres: Cluster, tmp_path: Path) -> None:
    with servers(postgres.database(), tmp_path, delay=0.1) as (first, second), first.client() as here, second.client() as there:
        lost = [ask(here) for _ in range(3)]
        kept = ask(there)
        with ThreadPoolExecutor(4) as pool:
            following = [pool.submit(stream, there, "GET", f"/api/runs/{run}/events") for run in lost]
            time.sleep(1.0)
            first.kill()
            begun = time.monotonic()
            logs = [one.result(30) for one in following]
        assert time.monotonic() - begun < 20
        for run, log in zip(lost, logs, strict=True):
            assert len(log) > 1
            assert log[-1] == {"event": "ended", "state": "interrupted", "reason": "the server stopped"}
            assert there.get(f"/api/runs/{run}").json()["state"] == "interrupted"
        assert there.get(f"/api/runs/{kept}").json()["state"] in ("running", "done")
        assert finished(there, kept)["state"] == "done"


def test_two_hundred_streams_at_once(pair: list[Process]) -> None:
    async def go(urls: list[str]) -> list[list[dict[str, Any]]]:
        bounds = httpx2.Limits(max_connections=400)
        async with httpx2.AsyncClient(timeout=120, trust_env=False, limits=bounds) as client:

            async def one(number: int) -> list[dict[str, Any]]:
                here, there = urls[number % 2], urls[(number + 1) % 2]
                begun = await client.post(f"{here}/api/runs", json={"question": f"What is item {number}?"})
                assert begun.status_code == 202, begun.text
                return events_of((await client.get(f"{there}/api/runs/{begun.json()['id']}/events")).text)

            return await asyncio.gather(*(one(number) for number in range(200)))

    logs = asyncio.run(go([process.url for process in pair]))
    for number, log in enumerate(logs):
        assert log[-1] == {"event": "ended", "state": "done", "reason": None}
        (answer,) = [event["answer"]["answer"] for event in log if event["event"] == "answered"]
        assert answer.startswith(f"Number {number}: ")
        assert "".join(event["text"] for event in log if event["event"] == "answer_delta") == answer


def test_a_restart_of_the_database_is_no_end_of_the_servers(postgres: Cluster, pair: list[Process]) -> None:
    with pair[0].client() as here, pair[1].client() as there:
        run = ask(here)
        with ThreadPoolExecutor(1) as pool:
            following = pool.submit(stream, there, "GET", f"/api/runs/{run}/events")
            time.sleep(0.5)
            postgres.stop()
            time.sleep(1.0)
            postgres.start()
            log = following.result(60)
        assert log[-1]["event"] == "ended"
        assert log[-1]["state"] == here.get(f"/api/runs/{run}").json()["state"] == "done"
        assert finished(there, ask(here))["state"] == "done"
        assert json.loads(here.get("/healthz").text) == {"status": "ok"}


def serve(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "wellread", "serve", "--model", "none", *arguments]


def test_workers_share_one_address_and_one_that_dies_is_replaced(postgres: Cluster, tmp_path: Path) -> None:
    port = free_port()
    environment = {**os.environ, "WELLREAD_HISTORY": postgres.database()}
    log = tmp_path / "log"
    with log.open("wb") as out:
        parent = subprocess.Popen(serve("--port", str(port), "--workers", "2"), stderr=out, env=environment)
        process = Process(f"http://127.0.0.1:{port}", parent, log)
        try:
            until(lambda: _answers(process), 90)
            with process.client() as client:
                assert finished(client, ask(client, "Who discovered Titan?"))["state"] == "done"
            before = workers_of(parent.pid)
            assert len(before) == 2
            os.kill(before[0], signal.SIGKILL)
            until(lambda: len(workers_of(parent.pid)) == 2 and before[0] not in workers_of(parent.pid), 20)
            with process.client() as client:
                assert finished(client, ask(client, "Who discovered Titan?"))["state"] == "done"
        finally:
            parent.terminate()
            assert parent.wait(60) == 0
    said = [line for line in log.read_text().splitlines() if not line.startswith("{")]
    assert len(said) == 1
    assert said[0].startswith(f"wellread listens on http://127.0.0.1:{port}/")
    assert QUOTED not in log.read_text()


def test_a_client_has_its_places_once_whichever_workers_it_comes_to(postgres: Cluster, tmp_path: Path) -> None:
    """Eight runs of one client at once, not eight in each process; those of a worker that is killed are free again."""
    port, environment = free_port(), {**os.environ, "WELLREAD_HISTORY": postgres.database()}
    with socket.create_server(("127.0.0.1", 0)) as silent, (tmp_path / "log").open("wb") as out:  # a model that never answers
        model = f"openai:m@http://127.0.0.1:{silent.getsockname()[1]}/v1"
        command = [*serve("--port", str(port), "--workers", "2"), "--model", model]
        parent = subprocess.Popen(command, stderr=out, env=environment)
        process = Process(f"http://127.0.0.1:{port}", parent, tmp_path / "log")

        def begun(_: int) -> bool:
            with process.client() as client:  # a connection of its own, to whichever worker takes it
                return client.post("/api/runs", json={"question": "What is a moon?"}).status_code == 202

        try:
            until(lambda: _answers(process), 90)
            until(lambda: len(workers_of(parent.pid)) == 2, 20)
            with ThreadPoolExecutor(16) as pool:
                assert sum(pool.map(begun, range(64))) == 8
                for worker in workers_of(parent.pid):
                    os.kill(worker, signal.SIGKILL)
                until(lambda: _answers(process), 90)
                assert sum(pool.map(begun, range(64))) == 8
        finally:
            parent.kill()  # its workers end with it
            parent.wait(10)


def workers_of(parent: int) -> list[int]:
    """Children that are servers, not the one that multiprocessing keeps for itself."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_several_workers_on_a_file_are_refused(tmp_path: Path) -> None:
    command = serve("--workers", "2", "--history", str(tmp_path / "h.sqlite"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "postgresql://" in done.stderr
    assert "Traceback" not in done.stderr


def test_workers_that_cannot_start_end_it_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "multiprocessing.py").write_text("open('run', 'w')")  # a document of the working folder: it is not imported
    address = f"postgresql://wellread:{QUOTED}@127.0.0.1:{free_port()}/none"
    environment = {**os.environ, "WELLREAD_HISTORY": address}
    command = serve("--workers", "2", "--port", "0")
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment, check=False, cwd=tmp_path)
    assert not (tmp_path / "run").exists()
    assert done.returncode == 1
    assert "the history cannot be opened" in done.stderr
    assert "Traceback" not in done.stderr
    assert QUOTED not in done.stderr
    assert PASSWORD not in done.stderr


def test_a_worker_that_takes_long_not_to_start_is_not_begun_again() -> None:
    """On a busy machine that took more than the seconds after which one counts as started, again and again."""
    process = multiprocessing.get_context("spawn").Process(target=sys.exit, args=(serving._CANNOT_START,))  # pyright: ignore[reportPrivateUsage]
    process.start()
    process.join(60)
    options = ServerOptions(port=0)
    worker = serving._Worker(process, time.monotonic() - 60)  # pyright: ignore[reportPrivateUsage]
    with socket.socket() as listening, pytest.raises(WellreadError, match="could not start"):
        serving._replaced(worker, Settings(), options, listening)  # pyright: ignore[reportPrivateUsage]
