"""A sharded index on a shared disk or in object storage (S3, GCS): ordinary indexes, one manifest, consistent hashing.

    DIR/shards.json            names the shards; replaced atomically, last
    DIR/shards/0000/…          an index like any other
    DIR/shards/0000/beside/…   the place of each of its passages in the whole, and what BM25 needs to score as one index would

Which shard a document belongs to follows from its name and the number of shards alone. With one shard more, documents
move to the new one and nowhere else.

They lie in a folder that all nodes see, or at an address that pyarrow's filesystems read and write. Files are there whole or not
at all. What is made or read as a folder is that folder where all nodes see it; from afar it is a scratch folder of this node,
which is fetched before or put there after. Shards are fetched by the nodes that search them.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import urlsplit

import stamina

from wellread.core import safe_files
from wellread.core.codec import Meta
from wellread.core.private_files import cache_folder
from wellread.errors import DamagedFile, IndexFault, UsageError, optional
from wellread.index import manifest
from wellread.index.folder import BUILDING, disk_errors, writing
from wellread.index.keys import hashed
from wellread.index.manifest import Count, Dimensions, FileSum, InnerName, check_stemmed, replace_file, unsealed
from wellread.questions.languages import ENGLISH

FORMAT = 3  # 2: words may be stemmed in another language than English; 3: what shards tell each other of their words
NAME, SHARDS, BESIDE = "shards.json", "shards", "beside"
ORDINALS, WORDS = "ordinals", "words"
_PLAN = "plan.json"


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
    key, chosen, jump = hashed(document), -1, 0
    while jump < count:
        chosen = jump
        key = (key * 2862933555777941757 + 1) & 0xFFFF_FFFF_FFFF_FFFF
        jump = int((chosen + 1) * (1 << 31) / ((key >> 33) + 1))
    return chosen


def shard_name(number: int) -> str:
    return f"{number:04d}"


def load(where: str | Path) -> Sharded:
    """The manifest of a sharded index in a folder or at an address (`s3://bucket/path`); errors say what to do."""
    place = Place(where)
    if (raw := place.content(NAME)) is None:
        raise IndexFault(f"{where} is not a sharded index (no {NAME})")
    return decoded(raw, place.named(NAME))


def decoded(raw: bytes, named: str) -> Sharded:
    """The manifest in these bytes, which are called so in errors."""
    return unsealed(raw, named, Sharded, lambda found: _check_format(named, found), _check)


def _check_format(named: str, found: int) -> None:
    if found != FORMAT:
        remedy = "upgrade wellread" if found > FORMAT else "make the shards again"
        raise IndexFault(f"{named} names shards of format {found}, this wellread reads {FORMAT}: {remedy}")


def finish(place: Place, content: Sharded) -> Sharded:
    """Make this the state of the index after the one that was there: shards that it does not name go, and the place of work."""
    if (raw := place.content(NAME)) is not None:
        with suppress(IndexFault):  # one that is damaged does not count
            content = replace(content, generation=decoded(raw, NAME).generation + 1)
    place.put(NAME, manifest.sealed(content))
    for name in place.names(SHARDS) - {entry.name for entry in content.shards}:
        place.remove(f"{SHARDS}/{name}")
    place.remove(BUILDING)
    return content


def none_empty(empty: int, count: int) -> None:
    """An index has at least one passage, so every shard must."""
    if empty:
        raise IndexFault(f"{empty} of {count} shards would be empty: choose fewer")


def entry_of(home: Path, name: str) -> ShardEntry:
    """The manifest's entry of a shard that has just been written."""
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


T = TypeVar("T")
_AT_ONCE = 4  # files that are copied at the same time: each waits for the network
_ATTEMPTS = 4
_WITHOUT_FOLDERS = ("s3", "gcs")  # as pyarrow calls them: making a folder would be a request, or an empty object
_PASSING = (".lock", ".tmp", ".new")  # endings of files that mean nothing elsewhere


def is_address(where: str | Path) -> bool:
    return "://" in str(where)


class Place:
    """A tree of files; names in it are relative, with slashes. An address may end with options: `s3://bucket/path?region=…`."""

    def __init__(self, where: str | Path) -> None:
        self._where, self._folder = str(where), None if is_address(where) else Path(where)
        if self._folder is None and urlsplit(self._where).password:  # it is shown: by `cluster status`, and in errors
            raise UsageError("keys do not belong in an address: put them where the store's own tools look (AWS_ACCESS_KEY_ID, …)")
        bare, _, self._options = self._where.partition("?") if self._folder is None else (self._where, "", "")
        self._address = bare.rstrip("/")

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (self._where,)  # each node opens it with its own keys

    def named(self, name: str) -> str:
        return f"{self._address}/{name}"

    def inside(self, name: str) -> Place:
        return Place(self.named(name) + (f"?{self._options}" if self._options else ""))

    def content(self, name: str) -> bytes | None:
        """Content of a file; None where there is none."""

        def read() -> bytes:
            if self._folder is not None:
                return safe_files.content(self._folder / name, manifest.LARGEST)
            with self._filesystem.open_input_stream(self._inner(name)) as source:
                return cast("bytes", source.read())

        try:
            return self._tried(name, "read", read)
        except IndexFault as problem:
            if isinstance(problem.__cause__, FileNotFoundError):
                return None
            raise

    def lines(self, name: str) -> Iterator[bytes]:
        """A file line by line; `FileNotFoundError` where there is none."""
        with BufferedReader(self._filesystem.open_input_stream(self._inner(name)), 1 << 20) as source:
            yield from source

    def part(self, name: str, start: int, size: int) -> bytes:
        """Bytes of a file that is there, from one on."""

        def read() -> bytes:
            with self._filesystem.open_input_file(self._inner(name)) as source:
                return cast("bytes", source.read_at(size, start))

        content = self._tried(name, "read", read)
        if len(content) != size:
            raise DamagedFile(f"{self.named(name)} is damaged: it ends too early")
        return content

    def put(self, name: str, data: bytes | Path) -> None:
        """Write what is given, or what is in a file."""
        if self._folder is not None and isinstance(data, bytes):
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._folder / name, data)
            return
        path = self._inner(name)

        def write() -> None:
            if self._filesystem.type_name not in _WITHOUT_FOLDERS:
                self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            opened = data.open("rb") if isinstance(data, Path) else BytesIO(data)
            with opened as source, self._filesystem.open_output_stream(path) as out:
                shutil.copyfileobj(source, out, 1 << 20)

        self._tried(name, "written", write)

    def copy(self, name: str, target: Path) -> None:
        """Bring a file here."""
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = target.with_name(f"{target.name}.{uuid.uuid4().hex}.new")  # another replica may be fetching the same

        def read() -> None:
            with self._filesystem.open_input_stream(self._inner(name)) as source, unfinished.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)

        try:
            self._tried(name, "read", read)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)

    @contextmanager
    def fetched(self, name: str) -> Generator[Path]:
        """A folder to read, on this machine."""
        if self._folder is not None:
            yield self._folder / name
            return
        with tempfile.TemporaryDirectory(prefix="wellread-fetched-") as scratch:
            _together(lambda inner: self.copy(f"{name}/{inner}", Path(scratch) / inner), self._files(name))
            yield Path(scratch)

    @contextmanager
    def made(self, name: str) -> Generator[Path]:
        """A folder to write to; what is in it at the end comes to what was there."""
        if self._folder is not None:
            (self._folder / name).mkdir(parents=True, exist_ok=True)
            yield self._folder / name
            return
        with tempfile.TemporaryDirectory(prefix="wellread-made-") as scratch:
            yield Path(scratch)
            self.put_folder(Path(scratch), name)

    def put_folder(self, folder: Path, name: str) -> None:
        """Copy what is in a folder."""
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in _PASSING]
        _together(lambda path: self.put(f"{name}/{path.relative_to(folder).as_posix()}", path), files)

    def begun(self, plan: bytes) -> Place:
        """The place of work, with what an interrupted run of the same plan has left there."""
        work = self.inside(BUILDING)
        if work.content(_PLAN) != plan:
            self.remove(BUILDING)
            work.put(_PLAN, plan)
        return work

    def names(self, under: str) -> set[str]:
        """Names of files and folders directly in a folder."""
        return {name.partition("/")[0] for name in self._files(under)}

    def remove(self, name: str) -> None:
        """Everything under a name."""
        if self._folder is not None:
            shutil.rmtree(self._folder / name, ignore_errors=True)
        else:
            _together(lambda inner: self._filesystem.delete_file(self._inner(f"{name}/{inner}")), self._files(name))

    @contextmanager
    def writing(self) -> Generator[None]:
        """While an index is made here. At an address without a lock: what nodes may be fetching is never replaced."""
        if self._folder is not None:
            with disk_errors(self._folder), writing(self._folder):
                yield
        elif self.content(NAME) is not None:
            raise UsageError(f"{self._address} holds a sharded index already: choose another address")
        else:
            yield

    def _tried(self, name: str, done: str, job: Callable[[], T]) -> T:
        """Again where that may help: a busy store, a connection that broke."""
        try:
            for attempt in stamina.retry_context(on=_may_pass, attempts=_ATTEMPTS, timeout=None):
                with attempt:
                    return job()
        except OSError as problem:
            raise IndexFault(f"{self.named(name)} cannot be {done}: {problem}") from problem
        raise AssertionError("a last attempt raises by itself")

    def _files(self, under: str) -> list[str]:
        """All files under a name, relative to it."""
        from pyarrow import fs

        root = self._inner(under)
        found = self._filesystem.get_file_info(cast("Any", fs).FileSelector(root, recursive=True, allow_not_found=True))
        return [one.path.removeprefix(f"{root}/") for one in found if one.is_file]

    def _inner(self, name: str) -> str:
        return f"{self._opened[1]}/{name}"

    @property
    def _filesystem(self) -> Any:
        return self._opened[0]

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        with optional("a place in the cloud", "scale"):
            from pyarrow import fs

        if self._folder is not None:
            return cast("Any", fs).LocalFileSystem(), self._address
        fast = "allow_delayed_open=true" if self._address.startswith("s3:") else ""  # a small file is one request, not three
        options = "&".join(filter(None, (self._options, fast)))
        try:
            return cast("Any", fs).FileSystem.from_uri(f"{self._address}{'?' if options else ''}{options}")
        except (OSError, ValueError, TypeError) as problem:
            raise IndexFault(f"{self._where} is no place that can be read: {problem}") from problem


def _may_pass(problem: Exception) -> bool:
    return isinstance(problem, OSError) and "NETWORK_CONNECTION" in str(problem)


def _together(job: Callable[[T], object], items: list[T]) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(job, items))


def shard_at_hand(place: str, number: int) -> Path:
    """The folder of a shard on this machine; from afar it is fetched once, and only what has changed."""
    entry = load(place).shards[number]
    if not is_address(place):
        return check_shard(Path(place), entry)
    home = cache_folder("http") / "shards" / hashlib.sha256(place.encode()).hexdigest()[:16] / SHARDS / entry.name
    _fetch(Place(place), home, entry)
    return home


def publish(folder: Path, address: str) -> None:
    """Copy a sharded index to an address; the manifest goes last. Nodes may be fetching what is there: it is not replaced."""
    far, content = Place(address), load(folder)
    if far.content(NAME) not in (None, (folder / NAME).read_bytes()):
        raise UsageError(f"{address} holds another sharded index: choose another address")
    homes = [check_shard(folder, entry) for entry in content.shards]
    for home in homes:
        far.put_folder(home, f"{SHARDS}/{home.name}")
    far.put(NAME, folder / NAME)


def _fetch(far: Place, home: Path, entry: ShardEntry) -> None:
    """Fetch files that are missing or differ, by their checksums."""
    inside = f"{SHARDS}/{entry.name}"
    with tempfile.TemporaryDirectory(prefix="wellread-shard-") as scratch:
        far.copy(f"{inside}/{manifest.NAME}", Path(scratch) / manifest.NAME)
        if manifest.checksum(Path(scratch) / manifest.NAME) != entry.manifest:
            raise DamagedFile(f"{far.named(inside)} is not the shard that {NAME} names: it was changed or replaced")
        content = manifest.load(Path(scratch))
    wanted = {f"{BESIDE}/{name}": known for name, known in entry.beside.items()}
    wanted |= {path.as_posix(): known for path, known in manifest.named(Path(), content).items()}
    _together(lambda item: _fetch_file(far, inside, home, *item), list(wanted.items()))
    _fetch_file(far, inside, home, manifest.NAME, entry.manifest)


def _fetch_file(far: Place, inside: str, home: Path, name: str, known: FileSum) -> None:
    target = home / name
    if target.is_file() and manifest.checksum(target) == known:
        return
    far.copy(f"{inside}/{name}", target)
    if manifest.checksum(target) != known:
        raise DamagedFile(f"{far.named(f'{inside}/{name}')} is damaged: its checksum differs")
