"""Names that clients give, made into names that files and collections can have."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from pathlib import PurePosixPath

from wellread.errors import UsageError
from wellread.reading.kinds import ending

LONGEST_NAME = 60  # characters of a collection's
_LONGEST_FILE = 200  # bytes; file systems end at 255
_LONGEST_PATH, _DEEPEST = 2_000, 8  # characters that are looked at, and folders that are kept
_BOTH_ENDS = 200  # characters of what a client says that are looked at: putting marks in order takes quadratic time
_SEPARATORS = re.compile(r"[/\\]")
_PLAIN = re.compile(r"[^a-z0-9]+")


def collection_name(said: str) -> str:
    """One line of printable characters. A colon would make it look like the spec of a source."""
    name = _printable(said)
    if not name:
        raise UsageError("a collection needs a name")
    if len(name) > LONGEST_NAME:
        raise UsageError(f"the name is too long: at most {LONGEST_NAME} characters")
    if ":" in name or "?" in name or " + " in name:
        raise UsageError("a collection's name cannot hold a colon, a question mark or a plus between words")
    return name


def slug(name: str, taken: Container[str]) -> str:
    """What the collection is called in addresses and on the disk."""
    ascii_ = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    base = _PLAIN.sub("-", ascii_).strip("-")[:40].strip("-") or "collection"
    return numbered(base, taken, "-{}")


def file_path(said: str) -> str:
    """The path of a document in the folder that was sent, each part as `file_name` has it; may be empty."""
    *folders, last = _SEPARATORS.split(said[-_LONGEST_PATH:])
    name = file_name(last)
    return "/".join([*filter(None, map(file_name, folders[-_DEEPEST:])), name]) if name else ""


def file_name(last: str) -> str:
    """Without what a file system, a terminal or an eye could stumble over; may be empty."""
    short = last if len(last) <= 2 * _BOTH_ENDS else last[:_BOTH_ENDS] + last[-_BOTH_ENDS:]
    name = _printable(short).lstrip(". ")
    suffix = ending(name)
    return f"{_cut(name.removesuffix(suffix), _LONGEST_FILE - len(suffix.encode()))}{suffix}" if name else ""


def numbered(name: str, taken: Container[str], form: str = " ({})", *, least: int = 2) -> str:
    """The name, or with the first number from `least` on that makes it a new one; a file keeps its ending."""
    suffix = ending(name) or PurePosixPath(name).suffix
    number, found = least, name
    while found in taken:
        found, number = f"{name.removesuffix(suffix)}{form.format(number)}{suffix}", number + 1
    return found


def _printable(said: str) -> str:
    text = unicodedata.normalize("NFC", said)
    return " ".join("".join(c if c.isprintable() else " " if c.isspace() else "" for c in text).split())


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode("utf-8", "ignore").rstrip()


def amount(count: int) -> str:
    """Bytes as a person says them."""
    return f"{count / 1_000_000:,.0f} MB" if count >= 1_000_000 else f"{count:,} bytes"
