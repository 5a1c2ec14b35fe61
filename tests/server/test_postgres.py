"""A history in PostgreSQL: what only a database on a network can do wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.server.stage import ask, engine, finished, running, until
from tests.server.test_history import record
from tests.services.postgres import PASSWORD, QUOTED, Cluster
from tests.services.servers import free_port

from wellread.answer_json import AnswerJson
from wellread.errors import DamagedFile, UsageError
from wellread.server.database import Postgres
from wellread.server.history import History
from wellread.server.options import ServerOptions

pytestmark = [pytest.mark.anyio, pytest.mark.service]


async def test_a_database_of_a_newer_version_is_refused(postgres: Cluster) -> None:
    import psycopg

    address = postgres.database()
    await (await History.open(address)).aclose()
    with psycopg.connect(address) as connection:
        connection.execute("INSERT INTO wellread.version VALUES (99)")
    with pytest.raises(DamagedFile, match="newer"):
        await History.open(address)


async def test_servers_that_start_at_once_make_the_tables_once(postgres: Cluster) -> None:
    address = postgres.database()
    histories = await asyncio.gather(*(History.open(address) for _ in range(6)))
    await asyncio.gather(*(history.add(record(f"run{n:09d}")) for n, history in enumerate(histories)))
    assert len(await histories[0].list()) == 6
    for history in histories:
        await history.aclose()


async def test_texts_that_only_sqlite_can_hold_are_mended(where: Path | str) -> None:
    history = await History.open(where)
    await history.add(record("AAAAAAAAAAAA"))
    await history.rename("AAAAAAAAAAAA", "a\0name")
    assert (await history.names())["AAAAAAAAAAAA"].replace("\0", "") == "aname"
    assert await history.list(search="no\0thing") == []
    assert [one.id for one in await history.list(search="what is")] == ["AAAAAAAAAAAA"]
    assert await history.list(search="%") == await history.list(search="_") == []
    await history.aclose()


async def test_the_runs_of_others_are_left_alone(postgres: Cluster) -> None:
    address = postgres.database()
    first = await History.open(address)
    await first.add(record("AAAAAAAAAAAA"))
    second = await History.open(address)
    await second.add(record("BBBBBBBBBBBB"))
    kept = [await second.get(name) for name in ("AAAAAAAAAAAA", "BBBBBBBBBBBB")]
    assert [one.state for one in kept if one] == ["running", "running"]
    await second.aclose()
    await first.aclose()


async def test_a_restart_of_the_database_loses_nothing_that_is_waiting(postgres: Cluster) -> None:
    history = await History.open(postgres.database())
    await history.add(record("AAAAAAAAAAAA"))
    restart = threading.Thread(target=lambda: (postgres.stop(), time.sleep(0.5), postgres.start()))
    restart.start()
    for number in range(40):
        history.append("AAAAAAAAAAAA", number, f'{{"event": "e", "n": {number}}}')
        await asyncio.sleep(0.05)
    assert await history.get("AAAAAAAAAAAA") is not None
    await history.finish("AAAAAAAAAAAA", "done", AnswerJson(outcome="answered", answer="yes"), (40, "{}"))
    await asyncio.to_thread(restart.join)
    assert [number for number, _ in await history.events("AAAAAAAAAAAA")] == list(range(41))
    assert history.failed_writes == 0
    await history.aclose()


async def test_connections_that_are_cut_at_any_moment_lose_nothing_and_write_nothing_twice(postgres: Cluster) -> None:
    import psycopg

    address = postgres.database()
    history = await History.open(address)
    over = threading.Event()

    def cut() -> None:
        with psycopg.connect(address, autocommit=True) as other:
            while not over.wait(0.03):
                other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'wellread'")

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        for run in range(60):
            await history.add(record(f"{run:012}"))
            for number in range(8):
                history.append(f"{run:012}", number, "{}")
                await asyncio.sleep(0.002)
            await history.finish(f"{run:012}", "done", AnswerJson(outcome="answered", answer="yes"), (8, "{}"))
    finally:
        over.set()
        await asyncio.to_thread(cutting.join)
    assert history.failed_writes == 0
    for one in await history.list(limit=100):
        assert (one.state, [number for number, _ in await history.events(one.id)]) == ("done", list(range(9)))
    assert len(await history.list(limit=100)) == 60
    await history.aclose()


async def test_a_database_that_is_gone_is_told_soon_and_found_again(postgres: Cluster) -> None:
    history = History(Postgres(postgres.database(), patience=0.3))
    await asyncio.to_thread(history.database.open)
    await history.add(record("AAAAAAAAAAAA"))
    await asyncio.to_thread(postgres.stop)
    try:
        begun = time.monotonic()
        for name in ("BBBBBBBBBBBB", "CCCCCCCCCCCC", "DDDDDDDDDDDD"):
            with pytest.raises(DamagedFile, match="cannot be written") as told:
                await history.add(record(name))
            assert PASSWORD not in str(told.value)
            with pytest.raises(DamagedFile, match="cannot be read"):
                await history.get(name)
        assert time.monotonic() - begun < 3  # they do not each wait it out
    finally:
        await asyncio.to_thread(postgres.start)
    await history.add(record("EEEEEEEEEEEE"))
    assert {one.id for one in await history.list()} == {"AAAAAAAAAAAA", "EEEEEEEEEEEE"}
    await history.aclose()


@pytest.mark.parametrize("address", ["postgresql://u:{}@127.0.0.1:{}/x", "postgresql://u:{}@127.0.0.1:{}/x?nonsense=1"])
async def test_no_error_tells_the_password(address: str) -> None:
    with pytest.raises((DamagedFile, UsageError)) as told:
        await History.open(address.format(QUOTED, free_port()))
    assert PASSWORD not in str(told.value)
    assert QUOTED not in str(told.value)
    assert PASSWORD not in repr(ServerOptions(history=f"postgresql://u:{PASSWORD}@h/x"))


def test_doctor_looks_at_the_database_and_keeps_its_password(postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def doctor(address: str) -> dict[str, str]:
        monkeypatch.setenv("WELLREAD_HISTORY", address)
        program = "import sys; from wellread.cli.main import main; sys.argv = ['wellread', 'doctor', '--json']; main()"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
        assert PASSWORD not in done.stdout + done.stderr
        assert QUOTED not in done.stdout + done.stderr
        (found,) = [one for one in json.loads(done.stdout) if one["what"].startswith("history in PostgreSQL")]
        return found

    assert doctor(postgres.address("postgres"))["state"] == "ok"
    wrong = doctor(postgres.address("postgres").replace(QUOTED, QUOTED + "x"))
    assert wrong["state"] == "problem"
    assert "password authentication failed" in wrong["what"]


def test_a_whole_server_on_it(postgres: Cluster, tmp_path: Path) -> None:
    address = postgres.database()
    with running(engine(), tmp_path, history=address) as live, live.client() as client:
        first = ask(client)
        kept = finished(client, first)
        assert (kept["state"], kept["answer"]["outcome"]) == ("done", "answered")
        assert client.get("/api/runs", params={"search": "saturn"}).json()["runs"][0]["id"] == first
    with running(engine(), tmp_path, history=address) as live, live.client() as client:
        assert finished(client, ask(client, "And Jupiter?", parent=first))["state"] == "done"
        assert client.get("/history").text.count("Jupiter") >= 1


@pytest.mark.slow
def test_a_run_that_the_database_was_away_for_ends_as_failed_when_it_is_back(postgres: Cluster, tmp_path: Path) -> None:
    with running(engine(delay=0.05), tmp_path, history=postgres.database()) as live, live.client() as client:
        run = ask(client)
        postgres.stop()
        try:
            until(lambda: not live.service.runs.live, 30)
            assert client.post("/api/runs", json={"question": "x"}).status_code == 503
            assert client.get(f"/api/runs/{run}").status_code == 503
        finally:
            postgres.start()
        until(lambda: client.get(f"/api/runs/{run}").json().get("state") == "failed", 20)
        assert finished(client, ask(client))["state"] == "done"
