"""Cache of indexes (LRU) of folders that were asked without building one: for this user alone, the oldest go first."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wellread.core.private_files import cache_folder, private_folder
from wellread.index.folder import BeingWritten, existing, writing

MOST = 2_000_000_000  # bytes of all of them together
_USED = ".used"
ROOT = "of"  # under which a manifest remembers the folder


@dataclass(frozen=True, slots=True)
class Kept:
    """One index in the cache."""

    place: Path
    of: str  # the folder or file it was made from
    passages: int
    vectors: int
    bytes: int
    used: float  # seconds since 1970


def place_for(key: str, environ: Mapping[str, str]) -> Path:
    """The folder of one index, made if need be; nobody else may look into it."""
    base = private_folder(cache_folder("files", environ))
    place = base / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    private_folder(place)
    (place / _USED).touch(mode=0o600)
    return place


def everything(environ: Mapping[str, str]) -> list[Kept]:
    """All of them, the last used first."""
    return sorted(_found(environ), key=lambda kept: -kept.used)


def clear(chosen: list[Kept]) -> int:
    """Delete these, but none that is being written; how many bytes that freed."""
    freed = 0
    for kept in chosen:
        try:
            with writing(kept.place):
                shutil.rmtree(kept.place, ignore_errors=True)
            freed += kept.bytes
        except (BeingWritten, OSError):
            continue
    return freed


def keep_within(most: int, spared: Path, environ: Mapping[str, str]) -> None:
    """Delete the ones that were not used for the longest time, until the others fit."""
    total = 0
    for kept in everything(environ):
        total += kept.bytes
        if total > most and kept.place != spared:
            total -= clear([kept])


def _found(environ: Mapping[str, str]) -> Iterator[Kept]:
    for place in cache_folder("files", environ).glob("*"):
        try:
            size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
            used = (place / _USED).stat().st_mtime
        except OSError:
            continue  # goes away just now
        content = existing(place)
        of = os.fsdecode(content.origin.get(ROOT, "?")) if content else "?"
        yield Kept(place, of, content.passages if content else 0, content.vectors if content else 0, size, used)
