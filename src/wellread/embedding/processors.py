"""How many processors there are to use."""

from __future__ import annotations

import os


def available_processors() -> int:
    """Those this process may use, which in a container are fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
