"""The import path (`sys.path`) of child processes: never the working folder, whose files are documents and not code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_OWN = str(Path(__file__).parents[2])


def safe_path() -> list[str]:
    """`sys.path` of this process, without the folder in which it was started."""
    found = [entry for entry in sys.path if os.path.isabs(entry) and not _is_working_folder(entry)]
    return found if _OWN in found else [*found, _OWN]


def make_safe() -> None:
    """For this process from now on, and for whatever Python processes it starts."""
    sys.path[:] = safe_path()
    os.environ["PYTHONSAFEPATH"] = "1"


def _is_working_folder(entry: str) -> bool:
    try:
        return os.path.samefile(entry, ".")
    except OSError:
        return False
