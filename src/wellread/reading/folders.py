"""The files of a folder: regular ones that lie inside it. Links may lead anywhere, and folders may be deeper than the stack."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def files_inside(folder: Path, follow_links: bool = False) -> Iterator[Path]:
    """Folder by folder, each in the order of its names; hidden ones, pipes, devices and links that lead out are left out.

    With `follow_links` files and folders that links lead to are taken from anywhere, each folder once.
    """
    root = os.path.realpath(folder)
    waiting, seen = [str(folder)], {root}
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as listed:
                entries = sorted((entry for entry in listed if not entry.name.startswith(".")), key=lambda entry: entry.name)
        except OSError:
            continue  # not ours to look into, or gone
        yield from (Path(entry.path) for entry in entries if _is_inside(entry, "/" if follow_links else root))
        waiting.extend(entry.path for entry in reversed(entries) if _is_new(entry, follow_links, seen))


def _is_new(entry: os.DirEntry[str], follow_links: bool, seen: set[str]) -> bool:
    """Whether it is a folder to go into; by way of links it may have been seen already, or hold itself."""
    try:
        if not entry.is_dir(follow_symlinks=follow_links):
            return False
    except OSError:
        return False
    if follow_links:
        target = os.path.realpath(entry.path)
        if target in seen:
            return False
        seen.add(target)
    return True


def _is_inside(entry: os.DirEntry[str], root: str) -> bool:
    try:
        if not entry.is_symlink():
            return entry.is_file(follow_symlinks=False)
        target = os.path.realpath(entry.path, strict=True)
        return target.startswith(root.rstrip(os.sep) + os.sep) and stat.S_ISREG(os.stat(target).st_mode)
    except OSError:
        return False
