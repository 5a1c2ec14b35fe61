"""The commands dataset and index, as typed."""

from __future__ import annotations

import gzip
import json
import lzma
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from wellread.cli.main import app

pytestmark = pytest.mark.slow


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
    counts = {"passages": 2, "documents": 2, "unread": 0}
    assert made == {**counts, "embedder": "onnx:all-minilm-l6-v2", "dimensions": 384, "output": str(folder)}
    return folder


def test_search_info_and_verify(index: Path) -> None:
    found = json.loads(run("index", "search", index, "Why is the red planet red?", "-n", "1", "--json").stdout)
    assert [(hit["id"], hit["place"]) for hit in found["hits"]] == [("mars.txt#0", "mars.txt")]
    assert "1. Moons" in run("index", "search", index, "moon of Saturn", "-n", "1", "--mode", "thorough").stdout
    facts = json.loads(run("index", "info", index, "--json").stdout)
    assert (facts["documents"], facts["passages"], facts["removed"], facts["dimensions"]) == (2, 2, 0, 384)
    assert "embedder" in run("index", "info", index).stdout
    assert "is intact" in run("index", "verify", index).stdout


def test_compressed_documents_are_indexed_and_archives_named(tmp_path: Path) -> None:
    folder = tmp_path / "share"
    folder.mkdir()
    (folder / "tide.1.gz").write_bytes(gzip.compress(b".TH TIDE 1\n.SH NAME\ntide \\- says when the water comes\n"))
    (folder / "all.tar.gz").write_bytes(gzip.compress(b"\0" * 257 + b"ustar" + b"\0" * 250))
    made = run("index", "build", folder, "--output", tmp_path / "index")
    assert "all.tar.gz: this is an archive (tar) of several files: unpack it" in made.stderr
    (folder / "moon.md.xz").write_bytes(lzma.compress(b"# Moons\n\nTitan is large."))
    assert "2 passages" in run("index", "add", tmp_path / "index", folder / "moon.md.xz").stdout
    found = json.loads(run("index", "search", tmp_path / "index", "water", "-n", "1", "--json").stdout)
    assert [(hit["title"], hit["document"]) for hit in found["hits"]] == [("tide(1)", "tide.1.gz")]


def test_add_and_remove(index: Path, notes: Path) -> None:
    (notes.parent / "pluto.txt").write_text("Pluto was found in 1930 by Clyde Tombaugh.")
    assert "3 passages" in run("index", "add", index, notes.parent / "pluto.txt").stdout
    found = json.loads(run("index", "search", index, "Pluto", "-n", "1", "--json").stdout)
    assert found["hits"][0]["id"] == "pluto.txt#0"
    assert json.loads(run("index", "info", index, "--json").stdout)["documents"] == 3
    assert "1 passage removed" in run("index", "remove", index, "pluto.txt").stdout
    assert json.loads(run("index", "info", index, "--json").stdout)["documents"] == 2
    again = json.loads(run("index", "search", index, "Pluto", "--json").stdout)
    assert "pluto.txt#0" not in {hit["id"] for hit in again["hits"]}


def test_words_first_vectors_later_and_keeping_up(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Titan is the largest moon of Saturn.")
    (tmp_path / "in" / "b.txt").write_text("Mars is red because of rust.")
    out = tmp_path / "out"
    run("index", "build", tmp_path / "in", "-o", out, "--words-only")
    assert json.loads(run("index", "info", out, "--json").stdout)["vectors"] == 0
    assert "a.txt#0" in run("index", "search", out, "moon", "-n", "1").stdout
    run("index", "embed", out)
    assert json.loads(run("index", "info", out, "--json").stdout)["vectors"] == 2
    (tmp_path / "in" / "b.txt").unlink()
    (tmp_path / "in" / "c.txt").write_text("Pluto was found in 1930.")
    (tmp_path / "in" / "a.txt").write_text("Titan was seen in 1655 by Huygens.")
    updated = run("index", "update", out, "--json")
    assert f"{out} is made of {tmp_path / 'in'}" in updated.stderr
    said = json.loads(updated.stdout)
    assert said == {"added": 1, "changed": 1, "removed": 1, "passages": 2, "vectors": 2, "output": str(out)}
    found = json.loads(run("index", "search", out, "Huygens Pluto rust moon", "--json").stdout)
    assert {hit["document"]: hit["text"] for hit in found["hits"]} == {
        "a.txt": "Titan was seen in 1655 by Huygens.",
        "c.txt": "Pluto was found in 1930.",
    }
    assert json.loads(run("index", "update", out, "--json").stdout)["added"] == 0
    assert "is intact" in run("index", "verify", out).stdout


def test_a_watched_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Titan is the largest moon of Saturn.")
    run("index", "build", tmp_path / "in", "-o", tmp_path / "out", "--words-only")
    command = [str(Path(sys.executable).parent / "wellread"), "index", "update", "out", "--watch", "--words-only", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        try:
            assert json.loads(watching.stdout.readline())["added"] == 0
            time.sleep(1)  # until it watches
            (tmp_path / "in" / "b.txt").write_text("Pluto was found in 1930.")
            assert json.loads(watching.stdout.readline())["added"] == 1
        finally:
            watching.terminate()
    assert "b.txt#0" in run("index", "search", tmp_path / "out", "Pluto", "-n", "1").stdout


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
        (("index", "build", ".", "--output", "../x", "--tokens", "10", "--overlap", "10"), "overlap"),
        (("index", "build", ".", "--output", "../x", "--column", "words=w"), "no parameter 'words'"),
        (("index", "build", ".", "--output", "../x", "--column", "words"), "--column 'words': write name=value"),
        (("index", "build", ".", "--output", "x"), "x is in . and would be read as a document"),
        (("dataset", "create", ".", "--output", "."), ". is in . and would be read as a document"),
        (("index", "search", "nowhere", " "), "the query is empty"),
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


def test_what_could_not_be_read_is_told_also_when_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "noise.txt").write_bytes(bytes(range(256)) * 20)
    result = run("index", "build", tmp_path / "in", "--output", tmp_path / "out", status=1)
    assert "noise.txt: this is no text we can read" in result.stderr


def test_results_fit_the_terminal(index: Path, notes: Path) -> None:
    (notes.parent / "long.txt").write_text("A kettle is a vessel for boiling water. " * 12)
    run("index", "add", index, notes.parent / "long.txt")
    assert max(map(len, run("index", "search", index, "kettle").stdout.splitlines())) <= 80


def test_a_stopped_build_can_be_searched_and_goes_on(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number:02}.txt").write_text(f"The kettle {number} boils. The lamp is green.\n\n" * 2000)
    command = [str(Path(sys.executable).parent / "wellread"), "index", "build", "in", "-o", "out"]
    command = ["env", "--default-signal=INT", *command]  # whoever runs the tests in the background may have it ignored
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as started:
        while not (tmp_path / "out" / "manifest.json").exists():
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        _, stderr = started.communicate(timeout=60)
    assert started.returncode == 130
    assert stderr.splitlines()[-2:] == [
        "out is unfinished, what is in it can be searched; go on with the same command",
        "wellread: stopped",
    ]
    found = json.loads(run("index", "search", tmp_path / "out", "kettle 0", "-n", "1", "--json").stdout)
    assert [hit["document"] for hit in found["hits"]] == ["00.txt"]
    facts = json.loads(run("index", "info", tmp_path / "out", "--json").stdout)
    assert facts["vectors"] < facts["passages"]


def test_links_out_of_a_folder_are_followed_on_wish_by_add_and_update(notes: Path, tmp_path: Path) -> None:
    folder, elsewhere, index = tmp_path / "mine", tmp_path / "elsewhere.txt", tmp_path / "index"
    folder.mkdir()
    elsewhere.write_text("Europa has an ocean under its ice.")
    (folder / "europa.txt").symlink_to(elsewhere)
    run("index", "build", notes, "--output", index, "--words-only")
    run("index", "add", index, folder, "--words-only")
    run("index", "search", index, "ocean ice", status=3)
    run("index", "add", index, folder, "--words-only", "--follow-links")
    assert "ocean" in run("index", "search", index, "ocean ice").stdout
    elsewhere.write_text("Europa has an ocean under its ice, and plumes.")
    run("index", "update", index, "--words-only")
    assert "plumes" in run("index", "search", index, "ocean ice").stdout
