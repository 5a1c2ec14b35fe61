"""What a person sees on a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from wellread.cli import main
from wellread.cli.main import app
from wellread.cli.terminal import say

pytestmark = pytest.mark.slow

COMMAND = str(Path(sys.executable).parent / "wellread")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def seen(*arguments: str, columns: int = 80) -> list[str]:
    """The lines that are left standing on a terminal; of a line that was written anew, the last state."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environ = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    with subprocess.Popen(
        [COMMAND, *arguments], stdin=slave, stdout=slave, stderr=slave, env={**environ, "TERM": "xterm-256color"}
    ) as started:
        os.close(slave)
        parts: list[bytes] = []
        while part := _read(master):
            parts.append(part)
    assert started.returncode in (0, 3)
    os.close(master)
    text = CONTROL.sub("", b"".join(parts).decode("utf-8")).replace("\r\n", "\n")
    return [line.rpartition("\r")[2].rstrip() for line in text.split("\n")]


def test_progress_is_seen_also_when_the_answer_goes_elsewhere() -> None:
    for more, begins in (("--json", '{"question"'), ("--effort=low", "Hamlet is a tragedy")):
        master, slave = pty.openpty()
        command = [COMMAND, "ask", "Who wrote Hamlet?", "--effort", "low", more]
        environ = {**os.environ, "TERM": "xterm-256color"}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=slave, text=True, timeout=60, check=False, env=environ)
        os.close(slave)
        shown = _read(master).decode("utf-8")
        os.close(master)
        assert done.stdout.startswith(begins)
        assert "searching" in shown
        assert "\x1b[?25h" in shown.partition("\x1b[?25l")[2]  # the cursor went, and is back


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # Linux's way to say that the other end is closed
        return b""


def widest(lines: list[str]) -> int:
    return max(map(len, lines))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("terminal") / "trace.jsonl"
    seen("ask", "Who wrote Hamlet?", "--trace", str(path))  # reads, and so follows with queries as long as passages
    return path


def test_a_trace_is_one_line_for_each_step_and_passage(trace: Path) -> None:
    lines = seen("trace", str(trace))
    assert widest(lines) <= 80
    fates = [line for line in lines if line.startswith(("cited ", "dropped "))]
    assert len(fates) > 10
    assert fates[0].startswith("cited    Hamlet · carries the answer as [1] · “Who wrote Hamlet?” #1")
    below = lines[lines.index(fates[0]) :]
    assert [line for line in below if line and not line.startswith(("cited ", "shown ", "dropped "))] == []


def test_a_comparison_leaves_room_for_the_answers() -> None:
    lines = seen("compare", "Who discovered Titan?", "--effort", "low")
    assert widest(lines) <= 80
    assert any("Titan was discovered by Christiaan Huygens on 25 March" in line for line in lines)
    assert any("searches 1 " in line for line in lines)


def test_a_table_that_is_too_wide_is_several(tmp_path: Path) -> None:
    command = ("eval", "--effort", "low", "--limit", "2", "--runs", str(tmp_path))
    narrow, wide = seen(*command), seen(*command, columns=200)
    assert widest(narrow) <= 80
    assert sum(line.startswith("strategy ") for line in narrow) == 2
    assert sum(line.startswith("strategy ") for line in wide) == 1
    assert {word for line in wide if line.startswith("strategy ") for word in line.split()} == {
        word for line in narrow if line.startswith("strategy ") for word in line.split()
    }


def commands(group: typer.Typer, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command's path and docstring."""
    for command in group.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__
        yield (*path, name), command.callback.__doc__ or ""
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance, (*path, inner.name or ""))


@pytest.mark.parametrize(("path", "text"), [pytest.param(*found, id=" ".join(found[0])) for found in commands(app)])
def test_examples_of_a_help_text_can_be_copied(path: tuple[str, ...], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.strip() for line in CliRunner().invoke(app, [*path, "--help"]).stdout.splitlines()]
    for example in (line.strip() for line in text.splitlines()):
        if example.startswith("wellread "):
            assert example in lines


def test_the_outline_of_the_help_says_what_the_commands_say_of_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    whole, outline = (CliRunner().invoke(made, ["--help"]).stdout for made in (app, main.commands(())))
    assert "Answer a question" in whole
    assert outline == whole


def test_help_says_how_to_name_another_server() -> None:
    assert "openai:NAME@URL" in CliRunner().invoke(app, ["ask", "--help"]).stdout


def test_long_lines_end_between_words_on_terminals(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    line = "    a line of many words, and https://example.org/a/long/address"
    say(line)
    assert capsys.readouterr().out == f"{line}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    say(f"short\n{line}")
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["short", "    a line of many", "    words, and", "    https://example.org/a/long/address"]
