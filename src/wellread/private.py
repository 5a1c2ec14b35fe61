"""Folders and files that are for their owner alone: what was asked, what was read, what opens the door."""

from __future__ import annotations

import stat
from contextlib import suppress
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder(path: Path) -> Path:
    """A folder of our own, made if need be and closed to others also where it was open before."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.stat().st_mode & OTHERS:
        with suppress(PermissionError):  # somebody else's: the operator has put it there
            path.chmod(0o700)
    return path


def private_file(path: Path) -> None:
    """An (empty) file of our own, closed to others also where it was open before."""
    path.touch(mode=0o600)
    path.chmod(0o600)


def may_others(path: Path, what: int) -> bool:
    """Whether somebody else may read or write it (`stat.S_IRGRP | stat.S_IROTH` and so on)."""
    try:
        return bool(path.stat().st_mode & what)
    except OSError:
        return False
