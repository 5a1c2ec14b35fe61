"""What there is to compute with: how many processors, and which instructions they have."""

from __future__ import annotations

import os
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def available_processors() -> int:
    """Those this process may use, which in a container are fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def instructions(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """The extensions that the first processor names, as Linux spells them; none where the system does not tell."""
    try:
        lines = cpuinfo.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()
