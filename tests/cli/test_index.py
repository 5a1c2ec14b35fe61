"""The commands dataset and index, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from wellread.cli.main import app


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "notes"
    folder.mkdir()
    (folder / "moon.md").write_text("# Moons\n\nTitan is the largest moon of Saturn.")
    (folder / "mars.txt").write_text("Mars is red because of rust in its dust.")
    return folder


@pytest.fixture(scope="module")
def index(notes: Path) -> Path:
    folder = notes.parent / "index"
    made = json.loads(run("index", "build", notes, "--output", folder, "--json").stdout)
    assert made == {"passages": 2, "embedder": "onnx:all-minilm-l6-v2", "dimensions": 384, "output": str(folder)}
    return folder


def test_search_info_and_verify(index: Path) -> None:
    found = json.loads(run("index", "search", index, "Why is the red planet red?", "-n", "1", "--json").stdout)
    assert [hit["id"] for hit in found["hits"]] == ["mars.txt#0"]
    assert "1. Moons" in run("index", "search", index, "moon of Saturn", "-n", "1", "--mode", "thorough").stdout
    facts = json.loads(run("index", "info", index, "--json").stdout)
    assert (facts["passages"], facts["removed"], facts["dimensions"]) == (2, 0, 384)
    assert "embedder" in run("index", "info", index).stdout
    assert "is intact" in run("index", "verify", index).stdout


def test_add_and_remove(index: Path, notes: Path) -> None:
    (notes.parent / "pluto.txt").write_text("Pluto was found in 1930 by Clyde Tombaugh.")
    assert "3 passages" in run("index", "add", index, notes.parent / "pluto.txt").stdout
    found = json.loads(run("index", "search", index, "Pluto", "-n", "1", "--json").stdout)
    assert found["hits"][0]["id"] == "pluto.txt#0"
    assert "1 passages removed" in run("index", "remove", index, "pluto.txt").stdout
    again = json.loads(run("index", "search", index, "Pluto", "--json").stdout)
    assert "pluto.txt#0" not in {hit["id"] for hit in again["hits"]}


def test_data_set_and_index_from_it(notes: Path) -> None:
    folder = notes.parent / "data"
    assert json.loads(run("dataset", "create", notes, "--output", folder, "--json").stdout)["rows"] == 2
    assert "2 passages" in run("dataset", "create", notes, "--output", folder).stdout  # nothing to do
    assert "2 passages" in run("index", "build", folder, "--output", notes.parent / "second", "--resume").stdout


def test_verify_fails_on_a_changed_file(notes: Path) -> None:
    folder = notes.parent / "third"
    run("index", "build", notes, "--output", folder, "--no-words")
    path = next(folder.rglob("rows.i8"))
    path.write_bytes(bytes(len(path.read_bytes())))
    assert "the content has changed" in run("index", "verify", folder, status=1).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("index", "build", "nowhere.jsonl", "--output", "x"), "nowhere.jsonl does not exist"),
        (("index", "search", "nowhere", "q"), "is not an index"),
        (("index", "verify", "nowhere"), "is not an index"),
        (("index", "remove", "nowhere", "d"), "is not an index"),
        (("index", "pull", "no-slash", "--output", "x"), "owner/name"),
        (("dataset", "create", "nowhere", "--output", "x"), "does not exist"),
        (("index", "build", ".", "--output", "x", "--tokens", "10", "--overlap", "10"), "overlap"),
        (("index", "build", ".", "--output", "x", "--column", "words=w"), "no parameter 'words'"),
    ],
)
def test_mistakes_are_one_clear_error(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code != 0
    assert message in str(result.exception)
    assert not list(tmp_path.glob("nowhere*"))
