"""What an index may say about itself. Anyone may have made it: names stay inside its folder, numbers make sense, bytes are
those that were written."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from wellread.questions.languages import ENGLISH, STEMMED

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
_SUM = re.compile(r"[0-9a-f]{64}")
_MOST_DIMENSIONS = 1 << 16
_MOST_ROWS = 1 << 40
CHECKED_WHOLE = 32 << 20  # bytes of a segment below which every file is compared with its checksum when it is opened


class Wrong(ValueError):
    """What is wrong with it."""


class Sum(Protocol):
    @property
    def bytes(self) -> int: ...
    @property
    def sha256(self) -> str: ...


def name(text: str) -> None:
    """A file or folder directly below; nothing that leads elsewhere."""
    if not _NAME.fullmatch(text):
        raise Wrong(f"{text[:80]!r} is no name of a file of an index")


def inner_name(text: str) -> None:
    """A file below a segment, perhaps in a folder of it."""
    parts = PurePosixPath(text).parts
    if not 1 <= len(parts) <= 3 or "/".join(parts) != text:
        raise Wrong(f"{text[:80]!r} is no name of a file of an index")
    for part in parts:
        name(part.removeprefix("."))


def count(what: str, number: int, most: int = _MOST_ROWS, least: int = 0) -> None:
    if not least <= number <= most:
        raise Wrong(f"{what} is {number}")


def stemmed(language: str) -> None:
    """A language whose words can be taken apart."""
    if language != ENGLISH and language not in STEMMED:
        raise Wrong(f"words cannot be stemmed in {language[:80]!r}")


def sums(known: Iterable[Sum]) -> None:
    for one in known:
        count("a size", one.bytes, 1 << 60)
        if not _SUM.fullmatch(one.sha256):
            raise Wrong(f"{one.sha256[:80]!r} is no checksum")


def scale(numbers: tuple[float, ...], dimensions: int) -> None:
    count("the number of dimensions", dimensions, _MOST_DIMENSIONS)  # none: by words alone
    if len(numbers) not in (0, dimensions) or not all(map(math.isfinite, numbers)):
        raise Wrong("the scale does not fit the dimensions")


def small(files: Mapping[str, Sum]) -> bool:
    """Whether a segment is so small that reading all of it costs nothing that anyone would notice."""
    return sum(known.bytes for known in files.values()) <= CHECKED_WHOLE


def fresh_file(path: Path) -> IO[bytes]:
    """A new file to write to, in place of whatever stood there: a link would lead the words to its target."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "wb")
