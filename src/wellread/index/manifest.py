"""What an index consists of, as one small JSON file that is replaced atomically.

    DIR/manifest.json          the only pointer: whatever it does not name does not exist
    DIR/segments/NAME/…        immutable once named in the manifest
    DIR/removed-N.npy          sorted numbers of forgotten passages
    DIR/building/…             work in progress; a killed build leaves only this behind

A writer makes new files first and replaces the manifest last, so that a reader sees the old index or the
new one and never a mixture.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from wellread.errors import DamagedFile, IndexFault

FORMAT = 3  # from 3 on a passage may say its place; the others of 2 are the same
_SKETCHES = 2  # the format from which large segments have sketches; small ones are the same as before
NAME = "manifest.json"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileSum:
    """Size and SHA-256 of one file."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of passages that was written at once."""

    name: str
    rows: int
    lists: int  # 0: too small for lists and sketches
    files: Mapping[str, FileSum]


@dataclass(frozen=True, slots=True)
class Removed:
    """The file with the forgotten passages' numbers."""

    name: str
    count: int
    sum: FileSum


AS_SHIPPED = "block"  # how vectors are computed where a manifest's origin names no `arithmetic`


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a reader must know before it opens a file."""

    embedder: str
    dimensions: int
    scale: tuple[float, ...]  # int8 row × scale = vector, one number per dimension
    codes: str  # how the one-bit codes were made: see `quantize`
    segments: tuple[Segment, ...]
    words: bool = True
    removed: Removed | None = None
    generation: int = 1
    format: int = FORMAT
    origin: Mapping[str, str] = field(default_factory=dict[str, str])  # what it was built from

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    @property
    def passages(self) -> int:
        """Rows that are still there."""
        return self.rows - (self.removed.count if self.removed else 0)


def load(folder: Path) -> Manifest:
    """The manifest of an index; errors say what to do."""
    path = folder / NAME
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        hint = "; an unfinished build is there: run the build again with --resume" if (folder / "building").is_dir() else ""
        raise IndexFault(f"{folder} is not an index (no {NAME}){hint}") from None
    except OSError as problem:
        raise IndexFault(f"{path} cannot be read: {problem.strerror}") from problem
    try:
        data = cast("dict[str, Any]", json.loads(raw))
        found = int(data["format"])
    except (ValueError, KeyError, TypeError):
        raise DamagedFile(f"{path} is damaged: it is not the manifest of an index") from None
    if found > FORMAT:
        raise IndexFault(f"{folder} has index format {found}, this wellread reads up to {FORMAT}: upgrade wellread")
    if data.pop("sha256", None) != _own_sum(data):
        raise DamagedFile(f"{path} is damaged: its checksum differs")
    try:
        content = _parse(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DamagedFile(f"{path} is damaged: an entry is missing or wrong") from None
    if found < _SKETCHES and any(segment.lists for segment in content.segments):
        raise IndexFault(f"{folder} was built by an older wellread (index format {found}): build it again")
    return content


def save(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest, durably: this is the moment at which a change happens."""
    data = asdict(replace(manifest, format=FORMAT))
    replace_file(folder / NAME, json.dumps({"sha256": _own_sum(data), **data}, indent=1, ensure_ascii=False).encode() + b"\n")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old content or the new one."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum(path: Path) -> FileSum:
    """Size and SHA-256 of a file, read once."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as data:
        while block := data.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return FileSum(size, digest.hexdigest())


def checksums(folder: Path, known: Mapping[str, FileSum]) -> dict[str, FileSum]:
    """Of every file under a folder that belongs to the index, not of locks and a writer's notes; the known are not read."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in (".lock", ".tmp"))
    names = {path.relative_to(folder).as_posix(): path for path in found}
    return {name: known.get(name) or checksum(path) for name, path in names.items()}


def _own_sum(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _parse(data: dict[str, Any]) -> Manifest:
    removed = data.get("removed")
    return Manifest(
        embedder=str(data["embedder"]),
        dimensions=int(data["dimensions"]),
        scale=tuple(float(x) for x in data["scale"]),
        codes=str(data["codes"]),
        segments=tuple(
            Segment(str(s["name"]), int(s["rows"]), int(s["lists"]), {str(n): _sum(f) for n, f in s["files"].items()})
            for s in data["segments"]
        ),
        words=bool(data["words"]),
        removed=Removed(str(removed["name"]), int(removed["count"]), _sum(removed["sum"])) if removed else None,
        generation=int(data["generation"]),
        format=int(data["format"]),
        origin={str(k): str(v) for k, v in data.get("origin", {}).items()},
    )


def _sum(data: dict[str, Any]) -> FileSum:
    return FileSum(int(data["bytes"]), str(data["sha256"]))
