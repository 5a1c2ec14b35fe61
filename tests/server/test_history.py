"""The history: what was acknowledged stays, old files are brought up to date, old runs go."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from wellread.answer_json import AnswerJson
from wellread.errors import DamagedFile, UsageError
from wellread.server import service
from wellread.server.database import MIGRATIONS, TooSlow
from wellread.server.history import TURNS, History, Record, chain

pytestmark = pytest.mark.anyio


def record(name: str = "AAAAAAAAAAAA", **changes: object) -> Record:
    plain = Record(name, name, None, "What is it?", "quote", None, ("library",), "running", time.time())
    return replace(plain, **changes)  # type: ignore[arg-type]


async def test_what_goes_in_comes_out(where: Path | str) -> None:
    history = await History.open(where)
    await history.add(record())
    for number in range(3):
        history.append("AAAAAAAAAAAA", number, f'{{"event": "e", "n": {number}}}')
    answer = AnswerJson(outcome="answered", answer="It is <that>.")
    await history.finish("AAAAAAAAAAAA", "done", answer)
    await history.aclose()
    again = await History.open(where)
    kept = await again.get("AAAAAAAAAAAA")
    assert kept is not None
    assert (kept.state, kept.outcome, kept.answer, kept.sources) == ("done", "answered", answer, ("library",))
    assert await again.events("AAAAAAAAAAAA", 1) == [(1, '{"event": "e", "n": 1}'), (2, '{"event": "e", "n": 2}')]
    assert [one.id for one in await again.list(search="THAT")] == ["AAAAAAAAAAAA"]
    assert await again.delete("AAAAAAAAAAAA")
    assert not await again.delete("AAAAAAAAAAAA")
    assert await again.events("AAAAAAAAAAAA") == []
    await again.aclose()


async def test_a_file_belongs_to_one_server(tmp_path: Path) -> None:
    """A second one would end the runs of the first, and what those answer would be lost."""
    path = tmp_path / "history.sqlite"
    first = await History.open(path)
    await first.add(record())
    with pytest.raises(UsageError, match="another server keeps this history"):
        await History.open(path)
    await first.finish("AAAAAAAAAAAA", "done", None)
    await first.aclose()
    again = await History.open(path)
    kept = await again.get("AAAAAAAAAAAA")
    assert kept is not None
    assert kept.state == "done"
    await again.aclose()


@pytest.mark.parametrize("kind", ["pipe", "folder"])
async def test_what_is_no_file_is_left_as_it_is(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "history.sqlite"
    os.mkfifo(path, 0o644) if kind == "pipe" else path.mkdir(mode=0o755)
    before = path.stat().st_mode
    with pytest.raises(UsageError, match="must be a file"):
        await History.open(path)
    assert path.stat().st_mode == before


async def test_a_long_conversation_is_followed_up_from_its_end(where: Path | str) -> None:
    """After two hundred questions a follow-up knew nothing of what was said before the last."""
    history = await History.open(where)
    names = [f"R{number:011d}" for number in range(230)]
    for before, name in zip([None, *names[:-1]], names, strict=True):
        await history.add(record(name, thread=names[0], parent=before, state="done"))
    last = await history.get(names[-1])
    assert last is not None
    assert [one.id for one in await chain(history, last)] == names[-TURNS:]
    assert [one.id async for one in history.thread(names[0])] == names  # which is what is exported
    await history.aclose()


async def test_folders_above_the_file_are_made(tmp_path: Path) -> None:
    await (await History.open(tmp_path / "very" / "deep" / "history.sqlite")).aclose()
    assert (tmp_path / "very" / "deep" / "history.sqlite").exists()


async def test_others_cannot_read_the_file(tmp_path: Path) -> None:
    history = await History.open(tmp_path / "history.sqlite")
    await history.add(record())
    await history.aclose()
    assert stat.S_IMODE((tmp_path / "history.sqlite").stat().st_mode) == 0o600


async def test_runs_that_a_crash_left_are_marked_interrupted(where: Path | str) -> None:
    history = await History.open(where)
    await history.add(record())
    history.append("AAAAAAAAAAAA", 0, '{"event": "started"}')
    await history.add(record("BBBBBBBBBBBB"))
    await history.aclose()  # without an end, as after a crash
    again = await History.open(where)
    for name, count in (("AAAAAAAAAAAA", 2), ("BBBBBBBBBBBB", 1)):
        kept = await again.get(name)
        assert kept is not None
        assert kept.state == "interrupted"
        events = await again.events(name)
        assert len(events) == count
        assert '"interrupted"' in events[-1][1]
    await again.aclose()


async def test_old_runs_are_forgotten_and_running_ones_are_not(where: Path | str) -> None:
    history = await History.open(where)
    long_ago = time.time() - 100 * 86_400
    await history.add(record("AAAAAAAAAAAA", created=long_ago))
    await history.finish("AAAAAAAAAAAA", "done", None)
    await history.add(record("BBBBBBBBBBBB", created=long_ago))
    await history.add(record("CCCCCCCCCCCC"))
    assert await history.expire(0) == 0
    assert await history.expire(90) == 1
    assert {one.id for one in await history.list()} == {"BBBBBBBBBBBB", "CCCCCCCCCCCC"}
    await history.aclose()


async def test_a_clock_that_jumps_ahead_forgets_nothing_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = await History.open(tmp_path / "history.sqlite")
    await history.add(record(state="done"))
    right, ahead, slept = time.time, [1_000 * 86_400.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        ahead[0] = 0.0  # the clock was set meanwhile
        if seconds == service._DAY:  # pyright: ignore[reportPrivateUsage]
            raise asyncio.CancelledError

    monkeypatch.setattr(time, "time", lambda: right() + ahead[0])
    monkeypatch.setattr(service.asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await service._clean(SimpleNamespace(everyone=[SimpleNamespace(history=history)]), 90)
    monkeypatch.undo()
    assert slept == [3_600, 86_400]
    assert len(await history.list()) == 1
    await history.aclose()


async def test_everything_is_exported_in_order(where: Path | str) -> None:
    history = await History.open(where)
    now = time.time()
    for number in range(250):  # more than a page, several at the same moment
        await history.add(record(f"run{number:09d}", created=now + number // 10))
    assert [one.id async for one in history.export()] == [f"run{number:09d}" for number in range(250)]
    await history.aclose()


async def test_a_newer_or_broken_file_is_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    await (await History.open(path)).aclose()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(DamagedFile, match="newer"):
        await History.open(path)
    path.write_bytes(b"this is no database, and long enough to be looked at" * 20)
    with pytest.raises(DamagedFile, match="cannot be opened"):
        await History.open(path)


async def test_a_history_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with sqlite3.connect(path) as connection:
        for statement in MIGRATIONS[0]:
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 1")
        row = ("AAAAAAAAAAAA", "AAAAAAAAAAAA", None, "What?", "quote", None, "[]", "done", 1.0, 2.0, "answered", None, "what?")
        connection.execute(f"INSERT INTO runs VALUES ({', '.join('?' * 13)})", row)
    connection.close()
    history = await History.open(path)
    await history.add(record("BBBBBBBBBBBB", turns=(("What is “it”?", "It is that."),)))
    old, new = await history.get("AAAAAAAAAAAA"), await history.get("BBBBBBBBBBBB")
    await history.aclose()
    assert old is not None
    assert (old.question, old.state, old.turns) == ("What?", "done", ())
    assert new is not None
    assert new.turns == (("What is “it”?", "It is that."),)


async def test_many_writers_share_transactions(where: Path | str) -> None:
    history = await History.open(where)
    await asyncio.gather(*(history.add(record(f"run{number:09d}")) for number in range(200)))
    assert len(await history.list(limit=500)) == 200
    await history.aclose()


@pytest.mark.slow
def test_kill_9_fifty_times_loses_nothing_that_was_acknowledged(where: Path | str, tmp_path: Path) -> None:
    acknowledged = tmp_path / "acknowledged"
    chance = random.Random(7)
    command = [sys.executable, "-m", "tests.server.writer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for round in range(50):
            before = acknowledged.stat().st_size if acknowledged.exists() else 0
            nursery.stdin.write(f"{where} {acknowledged} {round * 100_000}\n")
            nursery.stdin.flush()
            child = int(nursery.stdout.readline())
            deadline = time.monotonic() + 20
            while not acknowledged.exists() or acknowledged.stat().st_size == before:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            time.sleep(chance.random() * 0.06)
            os.kill(child, signal.SIGKILL)
            assert nursery.stdout.readline() == "gone\n"
        nursery.stdin.close()
    asyncio.run(check_nothing_is_lost(where, [line.split() for line in acknowledged.read_text().splitlines()]))


async def check_nothing_is_lost(where: Path | str, lines: list[list[str]]) -> None:
    history = await History.open(where)
    added = {name for name, what in lines if what == "added"}
    finished = {name for name, what in lines if what == "finished"}
    kept = {one.id: one async for one in history.export()}
    assert len(added) >= 50
    assert added <= set(kept)
    for name in finished:
        assert kept[name].state == "done"
        assert kept[name].answer
        assert len(await history.events(name)) == 5
    left = {"done", "interrupted"} if isinstance(where, Path) else {"done", "running"}  # others wait for a server a little
    assert {one.state for name, one in kept.items() if name not in finished} <= left
    await history.aclose()


async def test_a_statement_that_takes_too_long_is_given_up(where: Path | str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.server.database.LONGEST", 0.1)
    history = await History.open(where)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000) SELECT COUNT(*) FROM n"
    with pytest.raises(TooSlow):
        await history.rows(endless)
    assert await history.rows("SELECT 1") == [(1,)]
    await history.aclose()
