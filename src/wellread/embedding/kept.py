"""Files made from the shipped models, kept in the user's cache: never needed, only quicker than making them again."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from wellread.core.private_files import cache_folder, private_folder, replace_private

_DIGEST = hashlib.sha256().digest_size


def kept_file(name: str) -> Path:
    """Where a derived file of this name lies."""
    return cache_folder("models") / name


def load(path: Path) -> bytes | None:
    """What was kept, or None when it is not there, not ours or not whole."""
    try:
        if path.stat().st_uid != os.getuid():
            return None
        data = path.read_bytes()
    except OSError:
        return None
    body = data[_DIGEST:]
    return body if hashlib.sha256(body).digest() == data[:_DIGEST] else None


def keep(path: Path, body: bytes) -> None:
    """Write the file; where that cannot be done it is not kept, and nothing is said."""
    with suppress(OSError):
        private_folder(path.parent)
        replace_private(path, hashlib.sha256(body).digest() + body)
