"""`wellread research`: to a file, section by section, and on from where it was stopped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.bench import Shelf
from tests.strategies.test_research import HITS, QUESTION, model, written
from typer.testing import CliRunner

from wellread import engine
from wellread.cli.main import app
from wellread.errors import ModelBusy
from wellread.models.scripted import ScriptedModel


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command with these words of a model."""
    real = engine.Engine

    def run(say: Any, *words: str) -> Any:
        class Desk(real):
            def __init__(self, settings: Any, **more: Any) -> None:
                super().__init__(settings, model=ScriptedModel(say), source=Shelf(HITS), **more)

        monkeypatch.setattr(engine, "Engine", Desk)
        return CliRunner().invoke(app, ["research", QUESTION, "--effort", "low", *words])

    return run


def test_a_report_goes_to_its_file_and_progress_to_stderr(desk: Any, tmp_path: Path) -> None:
    done = desk(model(written), "-o", str(tmp_path / "report.md"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "section 2 of 2 written: Air" in done.stderr
    assert "sentences checked; all carried" in done.stderr
    assert (tmp_path / "report.md").read_text().startswith(f"# {QUESTION}\n")
    assert not (tmp_path / "report.md.part").exists()
    told = json.loads(desk(model(written), "--json", "-p", "sections=1").stdout)
    assert (told["strategy"], told["answer"].count("## ")) == ("research", 1)
    assert desk(model(written), "-o", str(tmp_path / "report.txt")).exit_code != 0


def test_a_report_is_on_the_disk_before_the_model_is_let_go(desk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[bool] = []

    async def leave(self: engine.Engine, *_: object) -> None:
        there.append((tmp_path / "report.md").is_file())

    monkeypatch.setattr(engine.Engine, "__aexit__", leave)
    assert desk(model(written), "-o", str(tmp_path / "report.md")).exit_code == 0
    assert there == [True]


def test_the_same_command_goes_on_after_a_stop(desk: Any, tmp_path: Path) -> None:
    asked: list[str] = []

    def stopped(title: str, numbers: dict[str, int]) -> Any:
        asked.append(title)
        if title == "Air" and len(asked) < 3:
            return ModelBusy("scripted", "later")
        return written(title, numbers)

    report = tmp_path / "report.md"
    first = desk(model(stopped), "-o", str(report))
    assert "1 section is not written" in first.stderr
    assert "Note: the section “Air” is quoted and not written" in first.stderr
    with (tmp_path / "report.md.part").open("a") as kept:
        kept.write('{"event": "sear')  # as a crash may leave it
    done = desk(model(stopped), "-o", str(report))
    assert "going on with" in done.stderr
    assert asked == ["Discovery", "Air", "Air"]
    assert re.findall("## (.*)", report.read_text())[:2] == ["Discovery", "Air"]
    assert not (tmp_path / "report.md.part").exists()
