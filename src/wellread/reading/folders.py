"""The files of a folder: regular ones that lie inside it. Links may lead anywhere, and folders may be deeper than the stack."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from wellread.core import safe_files

_DEEPEST = 100  # folders in each other


def files_inside(folder: Path, follow_links: bool = False, inside: Path | None = None) -> Iterator[Path]:
    """Folder by folder, each in the order of its names; hidden ones, pipes, devices and links are left out.

    No link leads to the folder either where it must lie `inside` another one. With `follow_links` files and folders that
    links lead to are taken from anywhere, each folder once.
    """
    waiting, seen = [(folder, 0)], set[str]()
    while waiting:
        here, depth = waiting.pop()
        try:
            files, folders = _followed(here, seen) if follow_links else safe_files.listed(here, inside or folder)
        except OSError:
            continue  # not ours to look into, or gone
        yield from (here / name for name in files if not name.startswith("."))
        if depth < _DEEPEST:
            waiting.extend((here / name, depth + 1) for name in reversed(folders) if not name.startswith("."))


def _followed(folder: Path, seen: set[str]) -> tuple[list[str], list[str]]:
    """As `listed`, with what links lead to; nothing of a folder that was seen, by way of a link or because it holds itself."""
    real = os.path.realpath(folder)
    if real in seen:
        return [], []
    seen.add(real)
    names = sorted(os.listdir(folder))
    return [name for name in names if (folder / name).is_file()], [name for name in names if (folder / name).is_dir()]
