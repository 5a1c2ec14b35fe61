"""The runner: one benchmark by its name, or the board."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))

if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
    name = sys.argv.pop(1)
    if name not in NAMES:
        sys.exit(f"there is no benchmark {name!r}: {', '.join(NAMES)}")
    runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
else:
    runpy.run_module("benchmarks.board", run_name="__main__", alter_sys=True)
