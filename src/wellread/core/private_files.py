"""File permissions: folders and files that are for their owner alone, written atomically; cache folders, home folders."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
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


def cache_folder(part: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Where we keep what can be made or fetched again: `WELLREAD_CACHE_DIR`, else the user's cache folder."""
    if named := environ.get("WELLREAD_CACHE_DIR"):
        return Path(named) / part
    from platformdirs import user_cache_path

    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) / "wellread" if base else user_cache_path("wellread")) / part


def replace_private(path: Path, data: bytes) -> None:
    """Write a file of our own whole or not at all, closed to others."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # which nobody else may read
    try:
        with open(handle, "wb") as out:
            out.write(data)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


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


def at_home(path: str | Path) -> Path:
    """A path as people write it: `~` is their folder; that of somebody who is not known here is a name like any other."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
