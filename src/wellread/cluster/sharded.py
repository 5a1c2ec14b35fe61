"""An index in shards: ordinary indexes, what they must know of each other, and one manifest.

    DIR/shards.json            names the shards; replaced atomically, last
    DIR/shards/0000/…          an index like any other
    DIR/shards/0000/beside/…   the place of each of its passages in the whole, and what BM25 needs to score as one index would

Which shard a document belongs to follows from its name and the number of shards alone. With one shard more, documents
move to the new one and nowhere else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from wellread.codec import Meta
from wellread.core import safe_files
from wellread.errors import DamagedFile, IndexFault
from wellread.index import manifest
from wellread.index.manifest import Count, Dimensions, FileSum, InnerName, check_stemmed, replace_file, sealed, unsealed
from wellread.questions.languages import ENGLISH

FORMAT = 3  # 2: words may be stemmed in another language than English; 3: what shards tell each other of their words
NAME, SHARDS, BESIDE = "shards.json", "shards", "beside"
ORDINALS, WORDS = "ordinals", "words"


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """One shard: how much is in it, and which state of it is meant."""

    name: str
    passages: Count
    manifest: FileSum
    beside: Mapping[InnerName, FileSum]


@dataclass(frozen=True, slots=True)
class Sharded:
    """The whole index."""

    embedder: str
    dimensions: Dimensions
    words: bool
    shards: Annotated[tuple[ShardEntry, ...], Meta(min_length=1, max_length=10_000)]
    generation: int = 1
    format: int = FORMAT
    origin: Mapping[str, str] = field(default_factory=dict[str, str])
    language: str = ENGLISH  # in which the words of all shards are stemmed

    @property
    def passages(self) -> int:
        return sum(shard.passages for shard in self.shards)


def shard_of(document: str, count: int) -> int:
    """Jump consistent hashing (Lamping and Veach, 2014): from n to n + 1 shards one document in n + 1 moves, to the new one."""
    key = int.from_bytes(hashlib.blake2b(document.encode("utf-8", "replace"), digest_size=8).digest(), "little")
    chosen, jump = -1, 0
    while jump < count:
        chosen = jump
        key = (key * 2862933555777941757 + 1) & 0xFFFF_FFFF_FFFF_FFFF
        jump = int((chosen + 1) * (1 << 31) / ((key >> 33) + 1))
    return chosen


def shard_name(number: int) -> str:
    return f"{number:04d}"


def load(folder: Path) -> Sharded:
    """The manifest of a sharded index; errors say what to do."""
    path = folder / NAME
    try:
        return decoded(safe_files.content(path, manifest.LARGEST), str(path))
    except FileNotFoundError:
        raise IndexFault(f"{folder} is not a sharded index (no {NAME})") from None
    except OSError as problem:
        raise IndexFault(f"{path} cannot be read: {problem.strerror}") from problem


def decoded(raw: bytes, named: str) -> Sharded:
    """The manifest in these bytes, which are called so in errors."""
    return unsealed(raw, named, Sharded, lambda found: _check_format(named, found), _check)


def _check_format(named: str, found: int) -> None:
    if found != FORMAT:
        remedy = "upgrade wellread" if found > FORMAT else "make the shards again"
        raise IndexFault(f"{named} names shards of format {found}, this wellread reads {FORMAT}: {remedy}")


def save(folder: Path, content: Sharded) -> None:
    replace_file(folder / NAME, sealed(content))


def next_generation(raw: bytes | None) -> int:
    """The number of the state that comes after the one whose manifest this is."""
    try:
        return 1 if raw is None else decoded(raw, NAME).generation + 1
    except IndexFault:
        return 1


def none_empty(empty: int, count: int) -> None:
    """An index has at least one passage, so every shard must."""
    if empty:
        raise IndexFault(f"{empty} of {count} shards would be empty: choose fewer")


def entry_of(home: Path, name: str) -> ShardEntry:
    """What the manifest says of a shard that has just been written."""
    beside = home / BESIDE
    files = {path.relative_to(beside).as_posix(): manifest.checksum(path) for path in sorted(beside.rglob("*")) if path.is_file()}
    return ShardEntry(name, manifest.load(home).passages, manifest.checksum(home / manifest.NAME), files)


def check_shard(folder: Path, entry: ShardEntry) -> Path:
    """The folder of a shard, which is as the manifest knows it."""
    home = folder / SHARDS / entry.name
    try:
        if manifest.checksum(home / manifest.NAME, entry.manifest.bytes + 1) != entry.manifest:
            raise DamagedFile(f"{home} is not the shard that {NAME} names: it was changed or replaced")
        for name, known in entry.beside.items():
            if (home / BESIDE / name).stat().st_size != known.bytes:
                raise DamagedFile(f"{home / BESIDE / name} is damaged: it has another size")
    except OSError as problem:
        raise DamagedFile(f"{home} is damaged: {problem.strerror}: {Path(str(problem.filename)).name}") from problem
    return home


def _check(content: Sharded) -> None:
    for number, shard in enumerate(content.shards):
        if shard.name != shard_name(number):
            raise ValueError(f"shard {number} is called {shard.name[:80]!r}")
    check_stemmed(content.language)
