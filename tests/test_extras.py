"""A small installation: no parquet, no faiss, no vendor's SDK, no tokenizers. What needs them says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wellread.index import coarse

MODELS = ("pydantic_ai", "pydantic_monty", "openai", "anthropic", "genai_prices")
HUB = ("tokenizers", "huggingface_hub", "hf_xet", "fsspec", "filelock", "yaml", "tqdm")
MISSING = ("faiss", "pyarrow", "usearch", "xllamacpp", *MODELS, *HUB)
WITHOUT = (
    "from importlib.machinery import PathFinder\n"
    "found = PathFinder.find_spec\n"
    "PathFinder.find_spec = lambda name, *more: None if name.partition('.')[0] in %s else found(name, *more)\n"
    "from wellread.cli.main import main\n"
    "main()"
)


def small(*words: str | Path, missing: tuple[str, ...] = MISSING, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT % (missing,), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env={"PATH": "/usr/bin", **environ})


@pytest.mark.slow
def test_a_small_installation_indexes_and_answers(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Harbour\n\nThe harbour of Vell was opened in 1911 by Ada Brandt.\n", "utf-8")
    built = small("index", "build", tmp_path / "notes.md", "--output", tmp_path / "index", HOME=str(tmp_path))
    assert built.returncode == 0, built.stderr
    done = small(
        "ask", "Who opened the harbour of Vell?", "--source", f"index:{tmp_path / 'index'}", "--json", HOME=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "Ada Brandt" in json.loads(done.stdout)["answer"]


@pytest.mark.parametrize(
    ("words", "extra", "missing"),
    [
        ("ask Who? --model openai:gpt-x", "openai", MISSING),
        ("ask Who? --model openai:gpt-x", "openai", ("openai",)),
        ("ask Who? --strategy iterative --model anthropic:claude-x", "anthropic", MISSING),
        ("ask Who? --strategy iterative --model ollama:qwen", "openai", MISSING),
        ("ask Who? --model local", "local", MISSING),
        ("compare Who? -s quote -s auto --model openai:gpt-x", "openai", MISSING),
        ("chat --model openai:gpt-x", "openai", MISSING),
        ("serve --port 0 --history none", "anthropic", ("anthropic",)),
        ("index build table.parquet --output index", "scale", MISSING),
    ],
)
def test_what_is_not_installed_is_named_with_its_line_before_anything_is_searched(
    words: str, extra: str, missing: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    done = small(*words.split(), missing=missing, HOME=str(tmp_path), OPENAI_API_KEY="k", ANTHROPIC_API_KEY="k")
    assert done.returncode == 1
    assert f'pip install "wellread[{extra}]"' in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("width", [48, 5])
def test_distances_are_the_same_without_faiss(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(0)
    queries, codes = (chance.integers(0, 256, (rows, width), np.uint8) for rows in (3, 100))
    by_faiss = coarse.hamming(queries, codes) if width % 8 == 0 else None
    monkeypatch.setitem(sys.modules, "faiss", None)
    alone = coarse.hamming(queries, codes)
    assert by_faiss is None or (alone == by_faiss).all()
    assert alone[1, 7] == np.unpackbits(queries[1] ^ codes[7]).sum()
