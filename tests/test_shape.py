"""The house rules that a linter does not check: sizes, names, what must not be in the repository."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 40
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "common.py", "misc.py"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_file_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    assert path.name not in FORBIDDEN_NAMES
    long = [
        f"{node.name}: {length} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := _body_lines(node)) > LONGEST_FUNCTION
    ]
    assert not long


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body; signature and docstring explain and do not count."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_no_registry_and_no_private_path_is_named() -> None:
    registry = re.compile(r"^(--index-url|--extra-index-url|-i )|\"resolved\": *\"http", re.MULTILINE)
    private = re.compile(r"(?<![\w.-])/(work|farm)/")
    found: list[str] = []
    for path in _tracked():
        if path == Path(__file__).resolve() or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        if registry.search(text) or (path.suffix in {".py", ".md", ".toml", ".txt", ".in", ""} and private.search(text)):
            found.append(path.relative_to(ROOT).as_posix())
    assert not found


def test_lock_files_with_addresses_are_not_tracked() -> None:
    names = {path.name for path in _tracked()}
    assert not names & {"uv.lock", "poetry.lock", "package-lock.json", "yarn.lock"}


def test_strategies_work_in_the_threads_of_their_run() -> None:
    """A thread that the run does not know of ends at another moment in each replay."""
    for path in (ROOT / "src/wellread/strategies").rglob("*.py"):
        assert "to_thread(" not in path.read_text(encoding="utf-8"), f"{path.name}: `run.aside` is the way"
