"""Words that cannot be written, and a history that cannot be: one run's matter, never the server's."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.server.stage import ANSWER, HITS, PLAIN, Actor, ask, engine, finished, running, stream, until

from wellread.answer_json import AnswerJson
from wellread.engine import Engine
from wellread.errors import DamagedFile
from wellread.models.scripted import ScriptedModel
from wellread.protocols import Source
from wellread.server.history import History, Record
from wellread.settings import Settings
from wellread.types import Hit, Query

pytestmark = pytest.mark.slow

HALF = json.loads('"\\ud800"')


class Service(Source):
    """A search service that cuts its texts in the middle of a character, and says so when asked for it."""

    name = "service"
    hint = ""

    async def search(self, query: Query) -> Sequence[Hit]:
        return [Hit(hit.id + HALF, f"{hit.text} {HALF}\0", hit.title + HALF, hit.url) for hit in HITS]


@pytest.mark.parametrize("model_says", [f"Saturn has {HALF} moons\0. [1]", ANSWER])
@pytest.mark.parametrize("piece", [1, 8])
def test_half_a_character_is_no_harm_to_anyone(tmp_path: Path, model_says: str, piece: int) -> None:
    model = ScriptedModel(Actor(model_says), capabilities=PLAIN, piece=piece)
    with (
        running(Engine(Settings(strategy="iterative"), model=model, source=Service()), tmp_path) as live,
        live.client() as client,
    ):
        log = stream(client, "POST", "/api/ask", json={"question": "How many moons has Saturn?"})
        said = "".join(event["text"] for event in log if event["event"] == "answer_delta")
        assert said == log[-1]["answer"]["answer"] == model_says.replace(HALF, "\ufffd").replace("\0", "")
        kept = finished(client, ask(client))
        assert (kept["state"], kept["answer"]["answer"]) == ("done", said)
        with live.client() as other:
            assert finished(other, ask(other, "And how many has Jupiter?"))["state"] == "done"
        assert client.get("/api/runs").status_code == client.get("/api/export").status_code == 200
        assert client.get("/api/search", params={"q": "moons"}).json()["hits"][0]["title"] == "Saturn\ufffd"
        assert not live.service.runs.live
        leaving = time.monotonic()
    assert time.monotonic() - leaving < 3


def test_a_folder_and_files_whose_names_are_latin_1_can_be_cited(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/notes-\xe9"
    os.mkdir(folder)
    for name, moons in ((b"caf\xe9.txt", 146), (b"caf\xe8.txt", 95)):
        planet = "Saturn" if moons == 146 else "Jupiter"
        with open(folder + b"/" + name, "w") as file:
            file.write(f"{planet} has {moons} moons, says the notebook of the observatory.")
    spec = f"files:{os.fsdecode(folder)}?meaning=false"
    settings = Settings(model="none", effort="low", sources=(spec,))
    with running(Engine(settings), tmp_path, sources=(spec,)) as live, live.client() as client:
        kept = finished(client, ask(client, "How many moons has Saturn?"))
        assert kept["state"] == "done"
        cited = kept["answer"]["citations"][0]
        assert "Saturn has 146 moons" in client.get(cited["url"]).text
        assert r"notes-\xe9" in cited["source"]
        hits = client.get("/api/search", params={"q": "moons notebook"}).json()["hits"]
        assert {hit["id"] for hit in hits} == {r"caf\xe9.txt#0", r"caf\xe8.txt#0"}
        name = client.get("/api/menu").json()["sources"][0]["name"]
        assert r"notes-\xe9" in name
        assert finished(client, ask(client, "How many moons has Jupiter?", sources=[name]))["state"] == "done"


def test_a_run_that_cannot_be_kept_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every event of runs about Pluto fails, with an error that SQLite does not have."""
    monkeypatch.setattr("wellread.server.database.connect", _refusing)
    with running(engine(delay=0.01), tmp_path) as live, live.client() as client:
        runs = [ask(client, f"Is {name} a planet?") for name in ("Saturn", "Pluto", "Jupiter")]
        until(lambda: not live.service.runs.live, 20)
        assert [client.get(f"/api/runs/{run}").json()["state"] for run in runs] == ["done", "failed", "done"]
        log = client.get(f"/api/runs/{runs[1]}/events").text  # what could be written of it
        assert json.loads(log.rstrip().rpartition("data: ")[2]) == {
            "event": "ended",
            "state": "failed",
            "reason": "the history cannot be written",
        }
        assert live.service.history.failed_writes > 0
        assert finished(client, ask(client, "Is Mars a planet?"))["state"] == "done"
        leaving = time.monotonic()
    assert time.monotonic() - leaving < 3


class _Refusing(sqlite3.Connection):
    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        if sql.startswith("INSERT INTO events") and "Pluto" in str(values):
            raise ValueError("no Pluto")
        return super().execute(sql, values)


def _refusing(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=_Refusing)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@pytest.mark.anyio
async def test_a_full_disk_fails_what_does_not_fit_and_nothing_else(tmp_path: Path) -> None:
    history = await History.open(tmp_path / "history.sqlite")
    await history.add(_record("AAAAAAAAAAAA"))
    await history.add(_record("BBBBBBBBBBBB"))
    assert history.database.writer is not None
    pages = history.database.writer.execute("PRAGMA page_count").fetchone()[0]
    history.database.writer.execute(f"PRAGMA max_page_count = {pages + 5}")
    small, ended = '{"event": "small"}', '{"event": "ended"}'
    history.append("AAAAAAAAAAAA", 0, small)
    history.append("BBBBBBBBBBBB", 0, "x" * 200_000)
    with pytest.raises(DamagedFile, match="full"):
        await history.finish("BBBBBBBBBBBB", "done", AnswerJson(answer="a", outcome="answered"), (0, "x" * 200_000), (1, ended))
    await history.finish("BBBBBBBBBBBB", "failed", None, (1, ended))
    await history.finish("AAAAAAAAAAAA", "done", AnswerJson(answer="a", outcome="answered"), (1, ended))
    kept = [await history.get(name) for name in ("AAAAAAAAAAAA", "BBBBBBBBBBBB")]
    assert [one.state for one in kept if one] == ["done", "failed"]
    assert await history.events("AAAAAAAAAAAA") == [(0, small), (1, ended)]
    await history.aclose()


@pytest.mark.anyio
async def test_a_writer_that_dies_leaves_nobody_waiting(tmp_path: Path) -> None:
    history = await History.open(tmp_path / "history.sqlite")
    assert history.database.writer is not None
    history.database.writer.close()
    with pytest.raises(DamagedFile):
        await history.add(_record("AAAAAAAAAAAA"))
    history._writing.shutdown()
    with pytest.raises(DamagedFile):
        await history.add(_record("AAAAAAAAAAAA"))
    await history.aclose()


def _record(name: str) -> Record:
    return Record(name, name, None, "What is it?", "quote", None, ("library",), "running", time.time())
