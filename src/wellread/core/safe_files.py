"""Untrusted files: no symlink out of a folder (path traversal), no pipe, no device is ever opened.

A pipe would make us wait for ever, a device never ends, and what was a folder when it was looked at may be a link when it is
opened: so every folder below the one that is trusted is opened relative to the descriptor of the one above it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_OUT = "leads out of its folder"
_DEEPEST = 100  # folders in each other


def opened(path: Path, inside: Path | None = None) -> BinaryIO:
    """To read; `OSError` for what is no file. No link is followed on the way from a folder that it must lie `inside`."""
    handle = _handle(path, os.O_RDONLY | os.O_NONBLOCK, inside)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "a folder" if stat.S_ISDIR(mode) else "not a file but a pipe or a device", str(path))


def content(path: Path, most: int, inside: Path | None = None) -> bytes:
    """All of a file; `OSError` where it is larger than such a file may be, or not `inside` a folder."""
    with opened(path, inside) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(most + 1) if size <= most else b""
    if max(size, len(data)) > most:
        raise OSError(errno.EFBIG, f"larger than {most // 1024**2} MB", str(path))
    return data


def listed(folder: Path, inside: Path | None = None) -> tuple[list[str], list[str]]:
    """The files and the folders in a folder, by name, in order; links, pipes and devices are neither."""
    handle = _handle(folder, os.O_RDONLY | os.O_DIRECTORY, inside)
    try:
        with os.scandir(handle) as entries:
            found = sorted(
                (entry.name, entry.is_file(follow_symlinks=False), entry.is_dir(follow_symlinks=False)) for entry in entries
            )
    finally:
        os.close(handle)
    return [name for name, file, _ in found if file], [name for name, _, folder in found if folder]


def _handle(path: Path, flags: int, inside: Path | None) -> int:
    if inside is None:
        return os.open(path, flags | os.O_CLOEXEC)
    steps = path.relative_to(inside).parts if path.is_relative_to(inside) else ("..",)
    if ".." in steps:
        raise OSError(errno.EPERM, _OUT, str(path))
    handle = os.open(inside, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for at, step in enumerate(steps, start=1):
        how = flags if at == len(steps) else os.O_RDONLY | os.O_DIRECTORY
        try:
            below = os.open(step, how | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
        except OSError as problem:
            if problem.errno in (errno.ELOOP, errno.ENOTDIR):
                raise OSError(errno.EPERM, _OUT, str(path)) from None
            raise
        finally:
            os.close(handle)
        handle = below
    return handle


def files_inside(folder: Path, follow_links: bool = False, inside: Path | None = None) -> Iterator[Path]:
    """Folder by folder, each in the order of its names; hidden ones, pipes, devices and links are left out.

    No link leads to the folder either where it must lie `inside` another one. With `follow_links` files and folders that
    links lead to are taken from anywhere, each folder once.
    """
    waiting, seen = [(folder, 0)], set[str]()
    while waiting:
        here, depth = waiting.pop()
        try:
            files, folders = _followed(here, seen) if follow_links else listed(here, inside or folder)
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
