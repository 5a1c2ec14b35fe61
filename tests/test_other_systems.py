"""Other systems than Linux, as far as Linux can play them: what they do not have is taken away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MACOS = """
import builtins, io, mmap, os, resource, sys
for module, name in ((os, "sched_getaffinity"), (os, "posix_fadvise"), (mmap, "MADV_HUGEPAGE")):
    delattr(module, name)

def without_proc(opening):
    def opened(path, *given, **named):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(path)
        return opening(path, *given, **named)
    return opened

builtins.open = io.open = without_proc(io.open)
os.open = without_proc(os.open)
setting = resource.setrlimit
def setrlimit(kind, limits):
    if kind == resource.RLIMIT_NOFILE and limits[0] > 10_240:
        raise ValueError("current limit exceeds maximum limit")
    setting(kind, limits)
resource.setrlimit = setrlimit
"""
MODULES = """
import pkgutil, wellread
for one in pkgutil.walk_packages(wellread.__path__, "wellread."):
    if not one.name.endswith("__main__"):
        __import__(one.name)
from wellread.server import serving
assert serving.most() >= 16
"""
ASKED = """
from wellread.cli.main import main
sys.argv = ["wellread", "ask", "Who built the lighthouse of Skerry?", "--source", FOLDER, "--model", "none", "--no-cache"]
main()
"""


def told(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code.replace("FOLDER", repr(str(folder)))]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


@pytest.mark.slow
def test_macos_lacks_nothing_that_is_needed(tmp_path: Path) -> None:
    (tmp_path / "skerry.txt").write_text("The lighthouse of Skerry was built in 1854 by Thomas Ames.")
    loaded = told(MACOS + MODULES, tmp_path)
    assert loaded.returncode == 0, loaded.stderr
    asked = told(MACOS + ASKED, tmp_path)
    assert (asked.returncode, "Thomas Ames" in asked.stdout) == (0, True), asked.stderr


def test_windows_is_told_where_it_runs(tmp_path: Path) -> None:
    refused = told('import sys\nsys.platform = "win32"\nimport wellread', tmp_path)
    assert refused.stderr.splitlines()[-1].startswith("ImportError: wellread runs on Linux and macOS; on Windows inside of WSL 2")
