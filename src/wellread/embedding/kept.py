"""Files made from the shipped models, kept in the user's cache: never needed, only quicker than making them again."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from wellread.private import private_folder

_DIGEST = hashlib.sha256().digest_size


def kept_file(name: str) -> Path:
    """Where a derived file of this name lies: `WELLREAD_CACHE_DIR`, else the user's cache folder."""
    if named := os.environ.get("WELLREAD_CACHE_DIR"):
        return Path(named) / "models" / name
    from platformdirs import user_cache_path

    return user_cache_path("wellread") / "models" / name


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
    """Write the file whole or not at all; where that cannot be done it is not kept, and nothing is said."""
    try:
        private_folder(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest())
            file.write(body)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
