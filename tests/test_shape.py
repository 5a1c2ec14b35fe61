"""The house rules that a linter does not check: names, what must not be in the repository."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc"}


def test_names_say_what_is_inside() -> None:
    assert not [path for path in (ROOT / "src").rglob("*.py") if path.stem in FORBIDDEN_NAMES]


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


def test_imports_outside_the_package_go_one_way() -> None:
    """The tests may borrow from benchmarks and training, and benchmarks from training; nothing goes back."""
    for folder, barred in (("benchmarks", "tests"), ("training", "tests|benchmarks")):
        for path in (ROOT / folder).rglob("*.py"):
            found = re.findall(rf"^\s*(?:from|import) (?:{barred})\b.*|sys\.path", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert not found, path
