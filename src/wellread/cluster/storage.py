"""Where shards lie: a folder that all nodes see, or anything that pyarrow reads, of which a node keeps a copy."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import stamina

from wellread.cluster import sharded
from wellread.cluster.sharded import NAME, SHARDS, Sharded
from wellread.errors import DamagedFile, IndexFault, UsageError
from wellread.index import manifest
from wellread.index.manifest import FileSum, replace_file

if TYPE_CHECKING:
    from wellread.cluster.sharded import ShardEntry

_ATTEMPTS = 4
_AT_ONCE = 4  # files that are copied at the same time: each waits for the network
_WITHOUT_FOLDERS = ("s3", "gcs")  # as pyarrow calls them: making a folder would be a request, or an empty object


def load(place: str) -> Sharded:
    """The manifest of a sharded index in a folder or at an address (`s3://bucket/path`)."""
    return sharded.load(Path(place)) if "://" not in place else _loaded(_Far(place))


def shard_at_hand(place: str, number: int) -> Path:
    """The folder of a shard on this machine; from afar it is fetched once, and only what has changed."""
    if "://" not in place:
        return sharded.check_shard(Path(place), load(place).shards[number])
    far = _Far(place)
    entry = _loaded(far).shards[number]
    home = _cache() / hashlib.sha256(place.encode()).hexdigest()[:16] / SHARDS / entry.name
    _fetch(far, home, entry)
    return home


def publish(folder: Path, place: str) -> None:
    """Copy a sharded index to an address; the manifest goes last."""
    far, content = _Far(place), sharded.load(folder)
    homes = [sharded.check_shard(folder, entry) for entry in content.shards]
    files = [path for home in homes for path in sorted(home.rglob("*")) if path.is_file()]
    copies = [path for path in files if path.suffix not in (".lock", ".tmp")]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(far.write, copies, [path.relative_to(folder).as_posix() for path in copies]))
    far.write(folder / NAME, NAME)


class _Far:
    """A place that pyarrow reads and writes; its address may end with options: `s3://bucket/path?region=…`."""

    def __init__(self, address: str) -> None:
        from pyarrow import fs

        if urlsplit(address).password:  # an address is shown: by `cluster status`, and in errors
            raise UsageError("keys do not belong in an address: put them where the store's own tools look (AWS_ACCESS_KEY_ID, …)")
        self._address, _, options = address.partition("?")
        if address.startswith("s3:"):  # a small file is one request then, and not three
            options = "&".join(filter(None, (options, "allow_delayed_open=true")))
        try:
            found = cast("Any", fs).FileSystem.from_uri(f"{self._address.rstrip('/')}{'?' if options else ''}{options}")
        except (OSError, ValueError, TypeError) as problem:
            raise IndexFault(f"{address} is no place that can be read: {problem}") from problem
        self._filesystem, self._path = cast("tuple[Any, str]", found)

    def named(self, name: str) -> str:
        return f"{self._address.rstrip('/')}/{name}"

    def copy(self, name: str, target: Path) -> None:
        """Bring a file here; it is there whole or not at all."""
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = target.with_name(f"{target.name}.{uuid.uuid4().hex}.new")  # another replica may be fetching the same
        try:
            for attempt in stamina.retry_context(on=_may_pass, attempts=_ATTEMPTS, timeout=None):
                with (
                    attempt,
                    self._filesystem.open_input_stream(f"{self._path}/{name}") as source,
                    unfinished.open("wb") as out,
                ):
                    shutil.copyfileobj(source, out, 1 << 20)
        except OSError as problem:
            unfinished.unlink(missing_ok=True)
            raise IndexFault(f"{self.named(name)} cannot be read: {problem}") from problem
        unfinished.replace(target)

    def write(self, file: Path, name: str) -> None:
        path = f"{self._path}/{name}"
        try:
            if self._filesystem.type_name not in _WITHOUT_FOLDERS:
                self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            for attempt in stamina.retry_context(on=_may_pass, attempts=_ATTEMPTS, timeout=None):
                with attempt, file.open("rb") as source, self._filesystem.open_output_stream(path) as out:
                    shutil.copyfileobj(source, out, 1 << 20)
        except OSError as problem:
            raise IndexFault(f"{self.named(name)} cannot be written: {problem}") from problem


def _may_pass(problem: Exception) -> bool:
    """Whether a second attempt may succeed: a busy store, a connection that broke."""
    return isinstance(problem, OSError) and "NETWORK_CONNECTION" in str(problem)


def _loaded(far: _Far) -> Sharded:
    with tempfile.TemporaryDirectory(prefix="wellread-shards-") as scratch:
        far.copy(NAME, Path(scratch) / NAME)
        return sharded.load(Path(scratch))


def _fetch(far: _Far, home: Path, entry: ShardEntry) -> None:
    """What is not there yet or differs; checked by its checksum."""
    inside = f"{SHARDS}/{entry.name}"
    with tempfile.TemporaryDirectory(prefix="wellread-shard-") as scratch:
        fresh = Path(scratch) / manifest.NAME
        far.copy(f"{inside}/{manifest.NAME}", fresh)
        if manifest.checksum(fresh) != entry.manifest:
            raise DamagedFile(f"{far.named(inside)} is not the shard that {NAME} names: it was changed or replaced")
        wanted = {f"{sharded.BESIDE}/{name}": known for name, known in entry.beside.items()}
        content = manifest.load(Path(scratch))
        wanted |= {f"segments/{s.name}/{name}": known for s in content.segments for name, known in s.files.items()}
        listed = (content.removed, content.read)
        wanted |= {one.name: one.sum for one in listed if one is not None}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(partial(_fetch_file, far, inside, home), wanted, wanted.values()))
        replace_file(home / manifest.NAME, fresh.read_bytes())


def _fetch_file(far: _Far, inside: str, home: Path, name: str, known: FileSum) -> None:
    target = home / name
    if target.is_file() and manifest.checksum(target) == known:
        return
    far.copy(f"{inside}/{name}", target)
    if manifest.checksum(target) != known:
        raise DamagedFile(f"{far.named(f'{inside}/{name}')} is damaged: its checksum differs")


def _cache() -> Path:
    from wellread.net.transport import cache_folder

    return cache_folder() / "shards"
