"""Sharded indexes where they lie: opened, fetched shard by shard by the nodes that search them, copied to an address."""

from __future__ import annotations

import hashlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wellread.cluster import sharded
from wellread.cluster.places import AT_ONCE, Place, is_address
from wellread.cluster.sharded import NAME, SHARDS, Sharded
from wellread.core.private_files import cache_folder
from wellread.errors import DamagedFile, IndexFault, UsageError
from wellread.index import manifest
from wellread.index.manifest import FileSum

if TYPE_CHECKING:
    from wellread.cluster.sharded import ShardEntry


def load(place: str) -> Sharded:
    """The manifest of a sharded index in a folder or at an address (`s3://bucket/path`)."""
    return _loaded(Place(place)) if is_address(place) else sharded.load(Path(place))


def shard_at_hand(place: str, number: int) -> Path:
    """The folder of a shard on this machine; from afar it is fetched once, and only what has changed."""
    if not is_address(place):
        return sharded.check_shard(Path(place), load(place).shards[number])
    far = Place(place)
    entry = _loaded(far).shards[number]
    home = _cache() / hashlib.sha256(place.encode()).hexdigest()[:16] / SHARDS / entry.name
    _fetch(far, home, entry)
    return home


def publish(folder: Path, address: str) -> None:
    """Copy a sharded index to an address; the manifest goes last. Nodes may be fetching what is there: it is not replaced."""
    far, content = Place(address), sharded.load(folder)
    if far.content(NAME) not in (None, (folder / NAME).read_bytes()):
        raise UsageError(f"{address} holds another sharded index: choose another address")
    homes = [sharded.check_shard(folder, entry) for entry in content.shards]
    for home in homes:
        far.put_folder(home, f"{SHARDS}/{home.name}")
    far.put_file(folder / NAME, NAME)


def tidy(place: Place, content: Sharded) -> None:
    """Delete shards that are not named any more."""
    for name in place.names(SHARDS) - {entry.name for entry in content.shards}:
        place.remove(f"{SHARDS}/{name}")


def _loaded(far: Place) -> Sharded:
    if (raw := far.content(NAME)) is None:
        raise IndexFault(f"{far.named(NAME)} cannot be read: there is no sharded index")
    return sharded.decoded(raw, far.named(NAME))


def _fetch(far: Place, home: Path, entry: ShardEntry) -> None:
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
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(partial(_fetch_file, far, inside, home), wanted, wanted.values()))
        _fetch_file(far, inside, home, manifest.NAME, entry.manifest)


def _fetch_file(far: Place, inside: str, home: Path, name: str, known: FileSum) -> None:
    target = home / name
    if target.is_file() and manifest.checksum(target) == known:
        return
    far.copy(f"{inside}/{name}", target)
    if manifest.checksum(target) != known:
        raise DamagedFile(f"{far.named(f'{inside}/{name}')} is damaged: its checksum differs")


def _cache() -> Path:
    return cache_folder("http") / "shards"
