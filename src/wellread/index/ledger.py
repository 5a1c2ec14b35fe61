"""Record of the inputs of an index, a line each: by it only what is new or has changed is read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wellread.core import codec
from wellread.core.values import frozen
from wellread.errors import DamagedFile, os_errors
from wellread.index import manifest
from wellread.index.manifest import Listed
from wellread.types import Passage


class Entry(NamedTuple):
    """One input as it was when it was read; a row of the file."""

    name: str  # of a file: the document's name; of a table: its path; of a page: its address
    size: int = 0
    changed: int = 0  # nanoseconds
    sha256: str = ""
    passages: int = 0
    whole: bool = True  # a long table is taken in by parts
    table: bool = False  # its passages belong to documents with names of their own
    notice: str = ""  # why there is nothing, or not all, of it


_LONGEST = 100_000  # characters of a line: all threads wait while one is parsed


@frozen
class Read:
    """Passages that were read from one input: all of them, or the next ones of a long table."""

    entry: Entry
    passages: Sequence[Passage] = ()
    forget: Sequence[str] = ()  # documents that these take the place of
    compare: bool = False  # passages that are there already with the same text stay as they are, others are replaced


def load(folder: Path, listed: Listed | None) -> dict[str, Entry]:
    """The entries of an index by name."""
    if listed is None:
        return {}
    path = folder / listed.name
    with os_errors(DamagedFile, f"{path} is damaged", ValueError):
        if manifest.checksum(path, listed.sum.bytes + 1) != listed.sum:
            raise DamagedFile(f"{path} is damaged: its content has changed")
        with path.open(encoding="utf-8") as lines:
            rows = iter(lambda: lines.readline(_LONGEST), "")  # more than that of a line is no JSON
            return {entry.name: entry for entry in (codec.loads(Entry, row) for row in rows)}


def save(folder: Path, entries: Mapping[str, Entry], generation: int) -> Listed:
    """The entries as a file that a manifest can name."""
    path = folder / f"inputs-{generation:06d}.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for e in entries.values():
            out.write(codec.dumps(e) + "\n")
    return Listed(path.name, len(entries), manifest.checksum(path))
