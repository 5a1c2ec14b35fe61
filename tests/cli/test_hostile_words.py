"""Words of others on their way to a terminal: none of their signs may steer it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from wellread.cli import compare
from wellread.cli.terminal import clean, json_line
from wellread.events import Answered, Event, Notice, Numbered, Searched, Started, Thought, to_json
from wellread.types import Answer, Citation, Hit, Passage, Sentence

pytestmark = pytest.mark.slow

COMMAND = str(Path(sys.executable).parent / "wellread")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066x\u2028y\rz\x08\x7f"
STEERING = [sign for sign in HOSTILE if not sign.isprintable()]


def written(*arguments: str, terminal: bool, cwd: Path) -> str:
    """All that a command writes, to a terminal or to pipes."""
    environ = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    if not terminal:
        done = subprocess.run([COMMAND, *arguments], cwd=cwd, env=environ, capture_output=True, check=False, timeout=120)
        return (done.stdout + done.stderr).decode()
    master, slave = pty.openpty()
    with subprocess.Popen([COMMAND, *arguments], cwd=cwd, env=environ, stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        parts: list[bytes] = []
        with suppress(OSError):  # Linux's way to say that the other end is closed
            while part := os.read(master, 65536):
                parts.append(part)
    os.close(master)
    return b"".join(parts).decode().replace("\r\n", "\n")


def steering(text: str) -> set[str]:
    return {sign for sign in STEERING if sign in text}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, an index and a trace whose words and names are hostile."""
    here = tmp_path_factory.mktemp("hostile")
    (here / "docs").mkdir()
    (here / "docs" / f"moon{HOSTILE}.md").write_text(f"# Titan {HOSTILE}\n\nTitan is a {HOSTILE} moon of Saturn.\n", "utf-8")
    passage = Passage("1", f"Titan {HOSTILE} is a moon.", HOSTILE, HOSTILE, HOSTILE)
    sentence = Sentence(HOSTILE, 0, len(HOSTILE), "carried", (Citation(1, passage, 0, 20, 1.0),))
    told: list[Event] = [
        Started(HOSTILE, "quote", HOSTILE, ()),
        Thought(HOSTILE, HOSTILE),
        Searched(HOSTILE, (Hit("1", HOSTILE, HOSTILE, HOSTILE),), failures=(HOSTILE,)),
        Notice(HOSTILE),
        Numbered(1, passage),
        Answered(Answer(HOSTILE, HOSTILE, "answered", "quote", sentences=(sentence,))),
    ]
    (here / "run.jsonl").write_text("".join(json.dumps(to_json(event)) + "\n" for event in told), "utf-8")
    return here


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", "run.jsonl"),
        ("search", "Titan moon", "--source", "files:docs"),
        ("search", "Titan moon", "--source", "files:docs", "--json"),
        ("ask", "What is Titan?", "--source", "files:docs", "--effort", "low"),
        ("ask", "What is Titan?", "--source", "files:docs", "--effort", "low", "--events"),
        ("read", f"no{HOSTILE}where.md"),
    ],
    ids=["trace", "search", "search as JSON", "ask", "events", "read"],
)
def test_nothing_steers_the_terminal(folder: Path, arguments: tuple[str, ...], terminal: bool) -> None:
    seen = written(*arguments, terminal=terminal, cwd=folder)
    ours = {"\r", "\x1b"} if terminal and arguments[0] == "ask" else set[str]()  # the moving line of progress
    assert "\N{REPLACEMENT CHARACTER}" in seen or "\\u202e" in seen  # the words themselves came this far
    assert not steering(seen) - ours
    assert "\x1b]0;" not in seen
    assert "\x1b[2J" not in seen


def test_a_cleaned_value_has_its_places_where_they_were() -> None:
    passage = Passage("1", f"Titan {HOSTILE} is a moon.")
    citation = clean(Citation(1, passage, 0, 6 + len(HOSTILE), 1.0))
    assert len(citation.passage.text) == len(passage.text)
    assert len(citation.quote) == 6 + len(HOSTILE)
    assert not steering(citation.quote)
    assert clean("tab\tand\nline, שלום, é, 👩‍👩‍👧") == "tab\tand\nline, שלום, é, 👩‍👩‍👧"


def test_json_keeps_the_value_and_spells_the_signs() -> None:
    line = json_line({HOSTILE: [HOSTILE]})
    assert not steering(line)
    assert json.loads(line) == {HOSTILE: [HOSTILE]}


@pytest.mark.parametrize("words", ["a :smile: b", "\\\\[x", "[/]", "[bold]x"])
def test_a_comparison_shows_words_as_they_are(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    compare._print([Answer("q", words, "answered", "quote")])
    assert words in capsys.readouterr().out
