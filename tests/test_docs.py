"""The docs cannot lie: every command in them exists, with every flag it is shown with."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
import typer.main

from wellread.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
COMMAND = re.compile(r"^(?:    |\$ |> )?(wellread [a-z].*)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\((?!https?://|#)([^)#\s]+)[^)]*\)")
CLICK = typer.main.get_command(app)


def commands() -> list[tuple[str, str]]:
    found = [
        (page.relative_to(ROOT).as_posix(), match[1]) for page in PAGES for match in COMMAND.finditer(page.read_text("utf-8"))
    ]
    return [(page, line) for page, line in found if not re.search(r"[…|]", line.split("#")[0])]


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_in_the_docs_exist(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command = CLICK
    while words and hasattr(command, "commands"):
        assert words[0] in command.commands, f"{page}: no command {words[0]!r}"
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help", "-h"}
    for word in words:
        if word in (">", "|", "&&"):
            break
        if word.startswith("-") and word != "-" and not word[1:].replace(".", "").isdigit():
            assert word.partition("=")[0] in known, f"{page}: {line}: no flag {word}"


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))
    missing = [target for target in LINK.findall(prose) if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("folder", ["docs", "docs/decisions"])
def test_every_page_is_on_its_map(folder: str) -> None:
    """The index of the decisions, and the map of all others; a page of the log is on the log's own list."""
    here = ROOT / folder
    table = here / ("index.md" if folder == "docs" else "README.md")
    linked = {(here / target).resolve() for target in LINK.findall(table.read_text("utf-8"))}
    log = {(here / target).resolve() for target in LINK.findall((ROOT / "docs" / "log.md").read_text("utf-8"))}
    pages = (
        set(here.glob("*.md")) if folder != "docs" else {page for page in here.rglob("*.md") if page.parent.name != "decisions"}
    )
    assert not pages - linked - log - {table}


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "log").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_the_log_opens_with_its_conclusion(page: Path) -> None:
    assert page.read_text("utf-8").split("\n\n")[1].startswith("**In short.** ")


@pytest.mark.slow
def test_the_references_that_are_made_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_guard_has_its_test() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 30
    for file, test in named:
        assert f"def {test}" in (ROOT / file).read_text("utf-8"), (file, test)


def test_every_hand_that_a_question_goes_through_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    hands = re.findall(r"`([\w/]+)\.py` `([\w.]+)`", text)
    assert hands
    assert len(re.findall(r"^\d+\. ", text.split("## The walk")[1].split("\n## ")[0], re.MULTILINE)) <= 20
    for file, name in hands:
        attrgetter(name)(import_module(f"wellread.{file.replace('/', '.')}"))
