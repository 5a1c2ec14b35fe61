"""Tab: the real shells complete commands, flags and the names that only wellread knows."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent


def environ(home: Path) -> dict[str, str]:
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home), "TERM": "dumb", "PS1": "$ "}


class Typing:
    """A shell on a terminal, and someone who types."""

    def __init__(self, command: list[str], home: Path) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execvpe(command[0], command, environ(home))
        self.seen = ""

    def types(self, text: str, until: str, seconds: float = 30) -> str:
        """What the terminal shows after these keys, up to the words that are waited for."""
        self.seen = ""
        os.write(self.terminal, text.encode())
        end = time.monotonic() + seconds
        while until not in self.seen and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.seen += os.read(self.terminal, 65536).decode("utf-8", "replace")
        return self.seen

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
LINES = [
    ("wellread ask --strategy quo", "quote "),
    ("wellread ask Who --source ind", "index:"),
    ("wellread ask --effort hi", "high "),
    ("wellread ask --strategy quote --param res", "results="),
    ("wellread index ver", "verify "),
]


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_tab_completes_names(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    keys = Typing(SHELLS[shell], tmp_path)
    try:
        start = "autoload -Uz compinit; compinit -u; " if shell == "zsh" else ""
        keys.types(f'{start}eval "$(wellread completion {shell})"; echo re""ady\n', "ready\r\n")
        for line, completed in LINES:
            shown = keys.types(f"{line}\t", completed)
            assert completed in shown, f"{line!r} gave {shown!r}"
            keys.types('\x15echo re""ady\n', "ready\r\n")  # Ctrl-U: the line is not run
    finally:
        keys.close()


def test_a_file_is_completed_after_the_name_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "folder-of-mine").mkdir()
    keys = Typing(SHELLS["bash"], tmp_path)
    try:
        keys.types('eval "$(wellread completion bash)"; echo re""ady\n', "ready\r\n")
        assert "folder-of-mine" in keys.types("wellread ask --source index:fol\t", "folder-of-mine")
    finally:
        keys.close()


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_offers_the_same(tmp_path: Path) -> None:
    script = "\n".join(["wellread completion fish | source", *(f'complete -C "{line}"; echo --' for line, _ in LINES)])
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, timeout=60, env=environ(tmp_path), check=True)
    for (line, completed), offered in zip(LINES, done.stdout.split("--\n"), strict=False):
        assert completed.strip() in [one.partition("\t")[0] for one in offered.splitlines()], line


def asked(line: str) -> list[str]:
    """What the command itself offers for a line."""
    protocol = {"_WELLREAD_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": line}
    done = subprocess.run([BIN / "wellread"], capture_output=True, text=True, env={**os.environ, **protocol}, check=False)
    return [offered.partition("\t")[0] for offered in done.stdout.splitlines()]


def test_parameters_are_those_of_the_strategy_on_the_line() -> None:
    assert "max_queries=" in asked("wellread ask --strategy fanout --param ")
    assert "max_queries=" not in asked("wellread ask --strategy quote --param ")


def test_values_that_can_be_counted_are_offered() -> None:
    assert asked("wellread ask --strategy fanout --param detail=") == ["detail=brief", "detail=full"]


def test_a_shell_that_is_not_known_is_wrong_usage() -> None:
    done = subprocess.run([BIN / "wellread", "completion", "tcsh"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bash, zsh, fish" in done.stderr
