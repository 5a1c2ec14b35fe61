"""Processors that this process may use, which in a container are fewer than the machine's."""

from __future__ import annotations

import os


def available_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
