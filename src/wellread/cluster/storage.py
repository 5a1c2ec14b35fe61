"""Where shards lie: a folder that all nodes see, or anything that pyarrow reads, of which a node keeps a copy."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from wellread.cluster import sharded
from wellread.cluster.sharded import NAME, SHARDS, Sharded
from wellread.errors import DamagedFile, IndexFault
from wellread.index import manifest

if TYPE_CHECKING:
    from wellread.cluster.sharded import ShardEntry


def load(place: str) -> Sharded:
    """The manifest of a sharded index in a folder or at an address (`s3://bucket/path`)."""
    if "://" not in place:
        return sharded.load(Path(place))
    with tempfile.TemporaryDirectory(prefix="wellread-shards-") as scratch:
        _copied(f"{place.rstrip('/')}/{NAME}", Path(scratch) / NAME)
        return sharded.load(Path(scratch))


def shard_at_hand(place: str, number: int) -> Path:
    """The folder of a shard on this machine; from afar it is fetched once, and only what has changed."""
    content = load(place)
    entry = content.shards[number]
    if "://" not in place:
        return sharded.check_shard(Path(place), entry)
    home = _cache() / hashlib.sha256(place.encode()).hexdigest()[:16] / SHARDS / entry.name
    _fetch(f"{place.rstrip('/')}/{SHARDS}/{entry.name}", home, entry)
    return home


def publish(folder: Path, place: str) -> None:
    """Copy a sharded index to an address; the manifest goes last."""
    filesystem, path = _filesystem(place.rstrip("/"))
    content = sharded.load(folder)
    for entry in content.shards:
        home = sharded.check_shard(folder, entry)
        for file in sorted(home.rglob("*")):
            if file.is_file() and file.suffix not in (".lock", ".tmp"):
                _write(filesystem, file, f"{path}/{SHARDS}/{entry.name}/{file.relative_to(home).as_posix()}")
    _write(filesystem, folder / NAME, f"{path}/{NAME}")


def _fetch(address: str, home: Path, entry: ShardEntry) -> None:
    """What is not there yet or differs; checked by its checksum."""
    with tempfile.TemporaryDirectory(prefix="wellread-shard-") as scratch:
        fresh = Path(scratch) / manifest.NAME
        _copied(f"{address}/{manifest.NAME}", fresh)
        if manifest.checksum(fresh) != entry.manifest:
            raise DamagedFile(f"{address} is not the shard that {NAME} names: it was changed or replaced")
        wanted = {f"{sharded.BESIDE}/{name}": known for name, known in entry.beside.items()}
        content = manifest.load(Path(scratch))
        wanted |= {f"segments/{s.name}/{name}": known for s in content.segments for name, known in s.files.items()}
        listed = (content.removed, content.read)
        wanted |= {one.name: one.sum for one in listed if one is not None}
        for name, known in wanted.items():
            target = home / name
            if target.is_file() and manifest.checksum(target) == known:
                continue
            _copied(f"{address}/{name}", target)
            if manifest.checksum(target) != known:
                raise DamagedFile(f"{address}/{name} is damaged: its checksum differs")
        shutil.copy(fresh, home / manifest.NAME)


def _copied(address: str, target: Path) -> None:
    filesystem, path = _filesystem(address)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = target.with_name(target.name + ".new")
    try:
        with filesystem.open_input_stream(path) as source, partial.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    except (OSError, FileNotFoundError) as problem:
        raise IndexFault(f"{address} cannot be read: {problem}") from problem
    partial.replace(target)


def _write(filesystem: Any, file: Path, path: str) -> None:
    filesystem.create_dir(path.rpartition("/")[0], recursive=True)
    with file.open("rb") as source, filesystem.open_output_stream(path) as out:
        shutil.copyfileobj(source, out, 1 << 20)


def _filesystem(address: str) -> tuple[Any, str]:
    from pyarrow import fs

    try:
        return cast("tuple[Any, str]", cast("Any", fs).FileSystem.from_uri(address))
    except (OSError, ValueError, TypeError) as problem:
        raise IndexFault(f"{address} is no place that can be read: {problem}") from problem


def _cache() -> Path:
    from wellread.net.transport import cache_folder

    return cache_folder() / "shards"
