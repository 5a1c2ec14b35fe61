"""What the command does to the machine around it, and what the machine around it does to the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "wellread")
HAMLET = ("ask", "Who wrote Hamlet?", "--effort", "low")


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **environ}
    )


def test_an_answer_leaves_nothing_behind_in_the_home_folder(tmp_path: Path) -> None:
    done = run(*HAMLET, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0
    assert list(tmp_path.rglob("*")) == []


def test_a_home_folder_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    done = run(*HAMLET, HOME="/proc/nowhere", XDG_CACHE_HOME="/proc/nowhere/cache")
    assert (done.returncode, done.stderr) == (0, "")
