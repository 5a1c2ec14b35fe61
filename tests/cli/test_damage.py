"""Damaged files: one clear line, the right exit status, no traceback; `doctor` says what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wellread
from wellread.server import diagnosis

pytestmark = pytest.mark.slow

PACKAGE = Path(wellread.__file__).parent
WEIGHTS = PACKAGE / "embedding" / "weights" / "all-minilm-l6-v2"
LIBRARY = PACKAGE / "library" / "index"


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "wellread"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environ})


def flip(path: Path, share: float = 0.5) -> None:
    """Change bytes in the middle of a file."""
    content = bytearray(path.read_bytes())
    at = int(len(content) * share)
    content[at : at + 16] = bytes(255 - byte for byte in content[at : at + 16])
    path.write_bytes(bytes(content))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WEIGHTS, tmp_path / "weights"))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LIBRARY, tmp_path / "index"))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_damaged_weights_are_one_line(weights: Path, name: str) -> None:
    (weights / name).write_bytes((weights / name).read_bytes()[:100])
    done = run("ask", "Who wrote Hamlet?", WELLREAD_EMBEDDER=f"onnx:{weights}")
    assert done.returncode in (1, 2)
    assert len((done.stdout + done.stderr).strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_damaged_manifest_is_one_line(index: Path) -> None:
    (index / "manifest.json").write_text("{", encoding="utf-8")
    done = run("ask", "Who wrote Hamlet?", "--source", f"index:{index}")
    assert done.returncode in (1, 2)
    assert str(index) in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["texts.jsonl", "rows.i8", "offsets.u64"])  # small indexes are searched without codes.bin
def test_a_short_file_of_an_index_is_one_line(index: Path, name: str) -> None:
    path = next(index.rglob(name))
    path.write_bytes(path.read_bytes()[:50])
    done = run("ask", "Who wrote Hamlet?", "--source", f"index:{index}")
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert len((done.stdout + done.stderr).strip().splitlines()) == 1


def test_verify_finds_a_flipped_bit(index: Path) -> None:
    assert run("index", "verify", str(index)).returncode == 0
    flip(next(index.rglob("rows.i8")))
    done = run("index", "verify", str(index))
    assert done.returncode == 1
    assert "rows.i8" in done.stdout + done.stderr


def test_doctor_finds_everything_in_place() -> None:
    done = run("doctor", "--json", ANTHROPIC_API_KEY="sk-secret-value")
    findings = json.loads(done.stdout)
    assert done.returncode == 0, findings
    assert {"ok", "note"} == {finding["state"] for finding in findings}
    assert any("ANTHROPIC_API_KEY is set" in finding["what"] for finding in findings)
    assert "sk-secret-value" not in done.stdout + done.stderr


def test_doctor_knows_the_keys_of_all_sources_and_their_other_names() -> None:
    told = run("doctor", GH_TOKEN="t", COLUMNS="200").stdout
    assert "GH_TOKEN is set (source github, which does without)" in told
    assert "GITHUB_TOKEN" not in told
    assert "SERPER_API_KEY is not set (source serper)" in told


def test_doctor_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('sources = ["searxng:http://127.0.0.1:9"]\n', encoding="utf-8")
    done = run("doctor", WELLREAD_CONFIG=str(path))
    assert done.returncode == 1
    assert "✗ source searxng:http://127.0.0.1:9: cannot be reached" in done.stdout
    assert "start the server at 127.0.0.1:9" in done.stdout
    path.write_text("=", encoding="utf-8")
    assert "✗ settings: " in run("doctor", WELLREAD_CONFIG=str(path)).stdout


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("openai:x", "openai:x: set OPENAI_API_KEY to your key"),
        ("openai:x@http://127.0.0.1:9/v1", "cannot reach http://127.0.0.1:9/v1"),
        ("ollama:x", "cannot reach http://127.0.0.1:9"),
        ("gpt-x", "unknown model 'gpt-x'"),
    ],
)
def test_doctor_finds_a_model_that_cannot_be_asked(model: str, words: str) -> None:
    done = run("doctor", WELLREAD_MODEL=model, OLLAMA_HOST="127.0.0.1:9")
    assert done.returncode == 1
    assert words in next(line for line in done.stdout.splitlines() if line.startswith("✗ language model: "))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sources = 3", "sources must be a list, not 3"),
        ("[params]\nquote = 3", "params.quote must be a table"),
        ("[params.quote]\nresult = 3", "did you mean results"),
        ("[params.quot]\nresults = 3", "did you mean quote"),
        ("[server]\nprot = 80", "did you mean port"),
    ],
)
def test_doctor_reads_every_table_of_the_settings(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text + "\n", encoding="utf-8")
    done = run("doctor", WELLREAD_CONFIG=str(path))
    assert done.returncode == 1
    assert words in next(line for line in done.stdout.splitlines() if line.startswith("✗ settings: "))


def test_doctor_misses_an_extra_of_which_a_part_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        diagnosis, "EXTRAS", {"whole": ("json",), "half": ("json", "no_such_module"), "none": ("no.such.module",)}
    )
    states = {finding.what: finding.state for finding in diagnosis._extras()}  # pyright: ignore[reportPrivateUsage]
    assert states == {"extra whole": "ok", "extra half is not installed": "note", "extra none is not installed": "note"}
