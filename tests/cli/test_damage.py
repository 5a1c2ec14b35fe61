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


def test_doctor_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('sources = ["searxng:http://127.0.0.1:9"]\n', encoding="utf-8")
    done = run("doctor", WELLREAD_CONFIG=str(path))
    assert done.returncode == 1
    assert "✗ source searxng:http://127.0.0.1:9: cannot be reached" in done.stdout
    assert "start the server at 127.0.0.1:9" in done.stdout
    path.write_text("=", encoding="utf-8")
    assert "✗ settings: " in run("doctor", WELLREAD_CONFIG=str(path)).stdout
