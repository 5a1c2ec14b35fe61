"""Files that came from others: opened only where they are files. A pipe would make us wait for ever, a device never ends."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def opened(path: Path) -> BinaryIO:
    """To read; `OSError` for what is no file, also where a link leads to that."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "a folder" if stat.S_ISDIR(mode) else "not a file but a pipe or a device", str(path))


def content(path: Path, most: int, inside: Path | None = None) -> bytes:
    """All of a file; `OSError` where it is larger than such a file may be, or not `inside` a folder."""
    with opened(path) as file:
        if inside is not None and not _lies(file, path, inside):
            raise OSError(errno.EPERM, "leads out of its folder", str(path))
        size = os.fstat(file.fileno()).st_size
        data = file.read(most + 1) if size <= most else b""
    if max(size, len(data)) > most:
        raise OSError(errno.EFBIG, f"larger than {most // 1024**2} MB", str(path))
    return data


def _lies(file: BinaryIO, path: Path, folder: Path) -> bool:
    """Whether an open file is the one of this name in a folder. What was looked at before may be a link by now."""
    real, top = os.path.realpath(path), os.path.realpath(folder)
    return real.startswith(top.rstrip(os.sep) + os.sep) and os.path.samestat(os.lstat(real), os.fstat(file.fileno()))
