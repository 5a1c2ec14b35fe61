"""Where shards and the work on them lie: a folder that all nodes see, or an address that pyarrow reads and writes.

Files are there whole or not at all. What is made or read as a folder is that folder where all nodes see it; from afar it is
a scratch folder of this node, which is fetched before or put there after.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast
from urllib.parse import urlsplit

import stamina

from wellread.cluster.sharded import NAME
from wellread.errors import DamagedFile, IndexFault, UsageError, optional
from wellread.index.folder import disk_errors, writing
from wellread.index.manifest import replace_file

T = TypeVar("T")
AT_ONCE = 4  # files that are copied at the same time: each waits for the network
_ATTEMPTS = 4
_WITHOUT_FOLDERS = ("s3", "gcs")  # as pyarrow calls them: making a folder would be a request, or an empty object
_PASSING = (".lock", ".tmp", ".new")  # endings of files that mean nothing elsewhere


class Place:
    """A tree of files at an address that pyarrow reads and writes; it may end with options: `s3://bucket/path?region=…`.

    Names are relative, with slashes.
    """

    def __init__(self, address: str) -> None:
        if urlsplit(address).password:  # an address is shown: by `cluster status`, and in errors
            raise UsageError("keys do not belong in an address: put them where the store's own tools look (AWS_ACCESS_KEY_ID, …)")
        bare, _, self._options = address.partition("?")
        self._address = bare.rstrip("/")

    def __reduce__(self) -> tuple[Any, ...]:
        return Place, (self._full(),)  # each node opens it with its own keys

    def named(self, name: str) -> str:
        return f"{self._address}/{name}"

    def inside(self, name: str) -> Place:
        return Place(f"{self.named(name)}?{self._options}")

    def content(self, name: str) -> bytes | None:
        """What is in a file; None where there is none."""

        def read() -> bytes:
            with self._filesystem.open_input_stream(self._inner(name)) as source:
                return cast("bytes", source.read())

        try:
            return _tried(read)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise IndexFault(f"{self.named(name)} cannot be read: {problem}") from problem

    def lines(self, name: str) -> Iterator[bytes]:
        """A file line by line; `FileNotFoundError` where there is none."""
        with BufferedReader(self._filesystem.open_input_stream(self._inner(name)), 1 << 20) as source:
            yield from source

    def part(self, name: str, start: int, size: int) -> bytes:
        """Bytes of a file that is there, from one on."""

        def read() -> bytes:
            with self._filesystem.open_input_file(self._inner(name)) as source:
                return cast("bytes", source.read_at(size, start))

        try:
            return _whole(_tried(read), size, self.named(name))
        except OSError as problem:
            raise IndexFault(f"{self.named(name)} cannot be read: {problem}") from problem

    def put(self, name: str, data: bytes) -> None:
        self._write(name, lambda: BytesIO(data))

    @contextmanager
    def fetched(self, name: str) -> Generator[Path]:
        """A folder to read, on this machine."""
        with tempfile.TemporaryDirectory(prefix="wellread-fetched-") as scratch:
            inner = self._files(name)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(self.copy, [f"{name}/{one}" for one in inner], [Path(scratch) / one for one in inner]))
            yield Path(scratch)

    @contextmanager
    def made(self, name: str) -> Generator[Path]:
        """A folder to write to; what is in it at the end comes to what was there."""
        with tempfile.TemporaryDirectory(prefix="wellread-made-") as scratch:
            yield Path(scratch)
            self.put_folder(Path(scratch), name)

    def put_folder(self, folder: Path, name: str) -> None:
        """Copy what is in a folder."""
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in _PASSING]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self.put_file, files, [f"{name}/{path.relative_to(folder).as_posix()}" for path in files]))

    def put_file(self, file: Path, name: str) -> None:
        self._write(name, lambda: file.open("rb"))

    def copy(self, name: str, target: Path) -> None:
        """Bring a file here."""
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = target.with_name(f"{target.name}.{uuid.uuid4().hex}.new")  # another replica may be fetching the same

        def read() -> None:
            with self._filesystem.open_input_stream(self._inner(name)) as source, unfinished.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)

        try:
            _tried(read)
        except OSError as problem:
            unfinished.unlink(missing_ok=True)
            raise IndexFault(f"{self.named(name)} cannot be read: {problem}") from problem
        unfinished.replace(target)

    def names(self, under: str) -> set[str]:
        """What is directly in a folder."""
        return {name.partition("/")[0] for name in self._files(under)}

    def remove(self, name: str) -> None:
        """Everything under a name."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._filesystem.delete_file, [self._inner(f"{name}/{inner}") for inner in self._files(name)]))

    @contextmanager
    def writing(self) -> Generator[None]:
        """While an index is made here, without a lock: what nodes may be fetching file by file is never replaced."""
        if self.content(NAME) is not None:
            raise UsageError(f"{self._address} holds a sharded index already: choose another address")
        yield

    def _write(self, name: str, opened: Callable[[], BinaryIO]) -> None:
        path = self._inner(name)

        def write() -> None:
            with opened() as source, self._filesystem.open_output_stream(path) as out:
                shutil.copyfileobj(source, out, 1 << 20)

        try:
            if self._filesystem.type_name not in _WITHOUT_FOLDERS:
                self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            _tried(write)
        except OSError as problem:
            raise IndexFault(f"{self.named(name)} cannot be written: {problem}") from problem

    def _files(self, under: str) -> list[str]:
        """All files under a name, relative to it."""
        with optional("a place in the cloud", "scale"):
            from pyarrow import fs

        root = self._inner(under)
        chosen = cast("Any", fs).FileSelector(root, recursive=True, allow_not_found=True)
        found = self._filesystem.get_file_info(chosen)
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

        fast = "allow_delayed_open=true" if self._address.startswith("s3:") else ""  # a small file is one request, not three
        options = "&".join(filter(None, (self._options, fast)))
        try:
            return cast("Any", fs).FileSystem.from_uri(f"{self._address}{'?' if options else ''}{options}")
        except (OSError, ValueError, TypeError) as problem:
            raise IndexFault(f"{self._full()} is no place that can be read: {problem}") from problem

    def _full(self) -> str:
        return f"{self._address}?{self._options}" if self._options else self._address


class Near(Place):
    """A folder that all nodes see: what is made there is made in its place."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return Near, (self.folder,)

    def inside(self, name: str) -> Near:
        return Near(self.folder / name)

    def put(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)

    @contextmanager
    def fetched(self, name: str) -> Generator[Path]:
        yield self.folder / name

    @contextmanager
    def made(self, name: str) -> Generator[Path]:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        yield folder

    def remove(self, name: str) -> None:
        shutil.rmtree(self.folder / name, ignore_errors=True)

    @contextmanager
    def writing(self) -> Generator[None]:
        with disk_errors(self.folder), writing(self.folder):
            yield

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        from pyarrow import fs

        return cast("Any", fs).LocalFileSystem(), str(self.folder)


def place_at(where: str | Path) -> Place:
    return Place(str(where)) if is_address(where) else Near(Path(where))


def is_address(where: str | Path) -> bool:
    return "://" in str(where)


def _whole(content: bytes, size: int, named: str) -> bytes:
    if len(content) != size:
        raise DamagedFile(f"{named} is damaged: it ends too early")
    return content


def _tried(job: Callable[[], T]) -> T:
    """Again where that may help: a busy store, a connection that broke."""
    for attempt in stamina.retry_context(on=_may_pass, attempts=_ATTEMPTS, timeout=None):
        with attempt:
            return job()
    raise AssertionError("a last attempt raises by itself")


def _may_pass(problem: Exception) -> bool:
    return isinstance(problem, OSError) and "NETWORK_CONNECTION" in str(problem)
