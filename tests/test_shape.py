"""The house rules that a linter does not check: names, what must not be in the repository."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Collection
from graphlib import TopologicalSorter
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


def test_no_imports_go_in_circles() -> None:
    """Late and type-only ones included; but an answer shows itself by what shows it everywhere."""
    folders = {"wellread": ROOT / "src/wellread"} | {name: ROOT / name for name in ("benchmarks", "training", "tests")}
    files = {_module(name, path.relative_to(folder)): path for name, folder in folders.items() for path in folder.rglob("*.py")}
    wanted = {module: _imported(path, files) - {module} for module, path in files.items()}
    wanted["wellread.types"] = wanted["wellread.types"] - {"wellread.present.printed"}
    TopologicalSorter(wanted).prepare()


def _module(root: str, path: Path) -> str:
    return ".".join([root, *path.with_suffix("").parts]).removesuffix(".__init__")


def _imported(path: Path, files: Collection[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = (f"{node.module}.{one.name}" for one in node.names)
            found |= {one if one in files else node.module for one in inside}
    return found & set(files)
