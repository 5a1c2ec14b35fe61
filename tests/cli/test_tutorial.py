"""The tutorial's commands, typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"


def section(title: str) -> str:
    """The commands of a section, as a script."""
    text = TUTORIAL.read_text("utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"^    (.+)$", text, re.MULTILINE))


def test_your_own_documents(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", section("Your own documents")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("an hour\n\nSearch results are kept for an hour.") == 2  # from the folder, then from the index
