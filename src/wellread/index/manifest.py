"""The manifest of an index: what it consists of, as one small JSON file that is replaced atomically.

    DIR/manifest.json          the only pointer: whatever it does not name does not exist
    DIR/segments/NAME/…        once named in the manifest, files only grow: what is beyond the named size does not exist
    DIR/removed-N.npy          sorted numbers of forgotten passages
    DIR/inputs-N.jsonl         what the passages were read from
    DIR/building/…             work in progress; with a manifest of its own where a new index is to replace the one that is there

A writer makes new files first and replaces the manifest last, so that a reader sees the old index or the
new one and never a mixture; neither does who comes back after a power cut, for what is named was on the disk before.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

from wellread.core import codec, safe_files
from wellread.core.codec import Json, Meta
from wellread.core.values import frozen
from wellread.errors import DamagedFile, IndexFault
from wellread.index.coarse import CODES
from wellread.index.rows import FLOATS, ROWS
from wellread.index.texts import OFFSETS
from wellread.questions.languages import ENGLISH, STEMMED

FORMAT = 4  # 3: passages may say their place, and may be there before their vectors; 4: words may be stemmed in another language
_SKETCHES = 2  # the format from which large segments have sketches; small ones are the same as before
NAME = "manifest.json"
SEGMENTS = "segments"
VECTORS = (ROWS, FLOATS, CODES)  # files that get longer while vectors come
SUMS = "sums/"  # under which a large segment keeps the sums of its blocks: see `seal`
LARGEST = 1 << 28  # bytes of a manifest
_ALL = -1 << 62  # as many vectors as rows: before format 3 nobody had to say so
_BLOCK = 1 << 20
CHECKED_WHOLE = 32 << 20  # bytes of a segment below which every file is compared with its checksum when it is opened
T = TypeVar("T")

# Anyone may have made an index: names stay inside its folder, numbers make sense.
_PART = r"\.?[A-Za-z0-9][A-Za-z0-9._-]{0,200}"
Name = Annotated[str, Meta(pattern=rf"^(?!\.){_PART}\Z")]  # of a file or folder directly below
InnerName = Annotated[str, Meta(pattern=rf"^{_PART}(/{_PART}){{0,2}}\Z")]  # perhaps in a folder there
Count = Annotated[int, Meta(ge=0, le=1 << 40)]
Dimensions = Annotated[int, Meta(ge=0, le=1 << 16)]  # none: by words alone


@frozen
class FileSum:
    """Size and SHA-256 of one file."""

    bytes: Annotated[int, Meta(ge=0, le=1 << 60)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


@frozen
class Segment:
    """A run of passages that was written at once."""

    name: Name
    rows: Count
    lists: Count  # 0: too small for lists and sketches
    files: Mapping[InnerName, FileSum]
    vectors: Count = _ALL  # so many of its first passages have one
    language: str = ENGLISH  # in which its words are stemmed

    def __post_init__(self) -> None:
        if self.vectors == _ALL:
            object.__setattr__(self, "vectors", self.rows)

    @property
    def growing(self) -> bool:
        return self.vectors < self.rows

    def grows(self, name: str) -> bool:
        """Whether more of a file may stand there than the manifest knows of."""
        return self.growing and name in VECTORS

    @property
    def small(self) -> bool:
        """So small that reading all of it costs nothing that anyone would notice."""
        return sum(known.bytes for known in self.files.values()) <= CHECKED_WHOLE


@frozen
class Listed:
    """A file beside the segments (forgotten passages' numbers, what was read) and how many are in it."""

    name: Name
    count: Count
    sum: FileSum


AS_SHIPPED = "block"  # how vectors are computed where a manifest's origin names no `arithmetic`


@frozen
class Manifest:
    """Everything a reader must know before it opens a file."""

    embedder: str
    dimensions: Dimensions
    scale: tuple[float, ...]  # int8 row × scale = vector, one number per dimension; none: the first vectors are kept as floats
    codes: str  # how the one-bit codes were made: see `quantize`
    segments: tuple[Segment, ...]
    words: bool = True
    removed: Listed | None = None
    read: Listed | None = None
    complete: bool = True  # everything has been read; vectors may still be missing
    generation: Count = 1
    format: int = FORMAT
    origin: Mapping[str, str] = field(default_factory=dict[str, str])  # what it was built from

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    @property
    def language(self) -> str | None:
        """In which words are stemmed; segments that come later keep to the first. None: nothing is there yet."""
        return self.segments[0].language if self.segments else None

    @property
    def passages(self) -> int:
        """Rows that are still there."""
        return self.rows - (self.removed.count if self.removed else 0)

    @property
    def vectors(self) -> int:
        """Rows with a vector."""
        return sum(segment.vectors for segment in self.segments)

    @property
    def finished(self) -> bool:
        return self.complete and self.vectors == self.rows


def load(folder: Path) -> Manifest:
    """The manifest of an index; errors say what to do."""
    path = folder / NAME
    try:
        raw = safe_files.content(path, LARGEST)
    except FileNotFoundError:
        hint = "; an unfinished build is there: run the build again" if (folder / "building").is_dir() else ""
        raise IndexFault(f"{folder} is not an index (no {NAME}){hint}") from None
    except OSError as problem:
        raise IndexFault(f"{path} cannot be read: {problem.strerror}") from problem
    content = unsealed(raw, str(path), Manifest, lambda found: _check_format(folder, found), _check)
    if content.format < _SKETCHES and any(segment.lists for segment in content.segments):
        raise IndexFault(f"{folder} was built by an older wellread (index format {content.format}): build it again")
    return content


def _check_format(folder: Path, found: int) -> None:
    if found > FORMAT:
        raise IndexFault(f"{folder} has index format {found}, this wellread reads up to {FORMAT}: upgrade wellread")


def save(folder: Path, content: Manifest, home: Path | None = None) -> None:
    """Replace the manifest of an index, durably: this is the moment at which a change happens. `home` is where it lies, if not
    in the index's folder."""
    home = home or folder
    try:
        known = named(folder, load(home))
    except (IndexFault, DamagedFile):
        known = {}
    fresh = [path for path, _ in named(folder, content).items() - known.items()]
    for path in (*fresh, *sorted({path.parent for path in fresh}, reverse=True)):
        sync(path)
    replace_file(home / NAME, sealed(replace(content, format=FORMAT)))


def named(folder: Path, content: Manifest) -> dict[Path, FileSum]:
    """All files that a manifest names."""
    listed = {folder / one.name: one.sum for one in (content.removed, content.read) if one is not None}
    return listed | {folder / SEGMENTS / one.name / name: known for one in content.segments for name, known in one.files.items()}


def sealed(content: object) -> bytes:
    """A manifest as JSON with a checksum of its own."""
    data = codec.encode(content)
    return json.dumps({"sha256": _own_sum(data), **data}, indent=1, ensure_ascii=False).encode() + b"\n"


def unsealed(raw: bytes, named: str, kind: type[T], check_format: Callable[[int], None], check: Callable[[T], None]) -> T:
    """The manifest in these bytes, which are called so in errors: one that can be read, is whole, and makes sense."""
    try:
        data = codec.loads(Json, raw)
        check_format(int(data["format"]))
        if data.pop("sha256", None) != _own_sum(data):
            raise DamagedFile(f"{named} is damaged: its checksum differs")
        content = codec.decode(kind, data)
        check(content)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise DamagedFile(f"{named} is damaged: an entry is missing or wrong ({problem})") from None
    return content


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old content or the new one."""
    fresh = path.with_name(path.name + ".new")
    with fresh_file(fresh) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(path)
    sync(path.parent)


def fresh_file(path: Path) -> IO[bytes]:
    """A new file to write to, in place of whatever stood there: a link would lead the words to its target."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "wb")


def sync(path: Path) -> None:
    """Make what was written to a file, or renamed in a folder, durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class RunningSum:
    """Size and SHA-256 of what has come so far."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.bytes = 0

    def add(self, data: bytes) -> None:
        self._digest.update(data)
        self.bytes += len(data)

    def add_file(self, path: Path, most: int | None = None) -> None:
        """A file, or its first bytes."""
        with safe_files.opened(path) as data:
            while block := data.read(_BLOCK if most is None else min(_BLOCK, most - self.bytes)):
                self.add(block)

    def sum(self) -> FileSum:
        return FileSum(self.bytes, self._digest.hexdigest())


def checksum(path: Path, most: int | None = None) -> FileSum:
    """Size and SHA-256 of a file, read once."""
    running = RunningSum()
    running.add_file(path, most)
    return running.sum()


def checksums(folder: Path, known: Mapping[str, FileSum]) -> dict[str, FileSum]:
    """Of every file under a folder that belongs to the index, not of locks and a writer's notes; the known are not read."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in (".lock", ".tmp"))
    names = {path.relative_to(folder).as_posix(): path for path in found}
    names = {name: path for name, path in names.items() if name in known or not name.startswith(SUMS)}
    return {name: known.get(name) or checksum(path) for name, path in names.items()}


def _check(content: Manifest) -> None:
    if len(content.scale) not in (0, content.dimensions) or not all(map(math.isfinite, content.scale)):
        raise ValueError("the scale does not fit the dimensions")
    if content.vectors and not content.dimensions:
        raise ValueError("there are vectors without dimensions")
    if content.removed is not None and content.removed.count > content.rows:
        raise ValueError("more is removed than there is")
    for segment in content.segments:
        check_stemmed(segment.language)
        if segment.vectors > segment.rows or segment.files[OFFSETS].bytes != segment.rows * 8:
            # or what is found by words would have no place
            raise ValueError(f"a segment's number of rows is {segment.rows}, which its offsets or vectors are not")


def check_stemmed(language: str) -> None:
    if language != ENGLISH and language not in STEMMED:
        raise ValueError(f"words cannot be stemmed in {language[:80]!r}")


def _own_sum(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
