"""Shards in an object store that speaks S3: a real server, OpenStack's Swift."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.test_building import Stopped, build_alone, equal_to_one, order, stop_at_the_shards, write_documents
from tests.cluster.test_merged import passages, queries, same
from tests.index.embedders import WordEmbedder
from tests.index.test_change import feed
from tests.services import swift

from wellread.cluster import sharded
from wellread.cluster.building import build as build_by_many
from wellread.cluster.merged import LocalPeer, MergedIndex
from wellread.cluster.reshard import shard_index
from wellread.cluster.shard import Shard
from wellread.cluster.sharded import Place
from wellread.errors import IndexFault, UsageError
from wellread.index.build import build
from wellread.index.search import LocalIndex

pytestmark = [pytest.mark.slow, pytest.mark.service]


@pytest.fixture(scope="module")
def store(need: Callable[[bool, str], None]) -> Iterator[str]:
    need(swift.there(), "python3-swift")
    with pytest.MonkeyPatch.context() as patched, swift.object_store() as base:
        for name, value in swift.credentials().items():
            patched.setenv(name, value)
        from pyarrow import fs

        filesystem, bucket = fs.FileSystem.from_uri(swift.address(base, "shelf") + "&allow_bucket_creation=true")
        filesystem.create_dir(bucket)
        yield base


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("stored")

    async def make() -> None:
        await build(folder / "one", feed(passages(300)))
        await shard_index(folder / "one", folder / "many", 2)

    asyncio.run(make())
    return folder / "one", folder / "many"


async def agree(one: LocalIndex, many: MergedIndex) -> None:
    for text in queries(40):
        assert same((await many.search(text, WordEmbedder(), 10)).hits, await one.search(text, WordEmbedder(), 10)), text


def test_shards_are_put_there_fetched_once_and_checked(
    store: str, indexes: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLREAD_CACHE_DIR", str(tmp_path))
    place = swift.address(store, "shelf/letters/")
    sharded.publish(indexes[1], place)
    content = sharded.load(place)
    homes = [sharded.shard_at_hand(place, number) for number in range(2)]
    assert all(home.is_relative_to(tmp_path) for home in homes)
    asyncio.run(agree(LocalIndex.open(indexes[0]), MergedIndex(content, [LocalPeer(Shard(home)) for home in homes])))

    times = {path: path.stat().st_mtime_ns for path in homes[0].rglob("*") if path.is_file() and path.name != "manifest.json"}
    damaged = homes[0] / "beside/ordinals"
    damaged.write_bytes(b"something else")
    sharded.shard_at_hand(place, 0)
    changed = [path for path, known in times.items() if path.stat().st_mtime_ns != known]
    assert changed == [damaged]  # the others were not fetched again
    assert damaged.read_bytes() == (indexes[1] / "shards/0000/beside/ordinals").read_bytes()


def test_what_is_not_there_and_keys_in_an_address_are_said(store: str, indexes: tuple[Path, Path]) -> None:
    with pytest.raises(IndexFault, match=r"nothing.* is not a sharded index \(no shards\.json\)"):
        sharded.load(swift.address(store, "shelf/nothing"))
    with pytest.raises(IndexFault, match="cannot be written"):
        sharded.publish(indexes[1], swift.address(store, "no-such-bucket/letters"))
    with pytest.raises(UsageError, match="keys do not belong") as told:
        sharded.load("s3://me:hush@shelf/letters")
    assert "hush" not in str(told.value)


def test_replicas_fetch_their_shards_from_there(store: str, indexes: tuple[Path, Path], cluster: Any, tmp_path: Path) -> None:
    from wellread.cluster import on_ray

    place = swift.address(store, "shelf/deployed")
    sharded.publish(indexes[1], place)
    deployed = on_ray.deploy(place, "stored", replicas=2)
    assert (deployed.place, [len(nodes) for nodes in deployed.replicas.values()]) == (place, [2, 2])

    async def compare() -> None:
        await agree(LocalIndex.open(indexes[0]), on_ray.open_index("stored"))

    asyncio.run(compare())
    on_ray.stop("stored")


def test_a_build_goes_straight_there_and_on_after_an_interruption(
    store: str, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLREAD_CACHE_DIR", str(tmp_path / "cache"))
    source, place = write_documents(tmp_path / "notes", 60), swift.address(store, "shelf/built")
    build_alone(tmp_path / "alone", source)

    with pytest.raises(Stopped):
        build_by_many(place, order(source, 2), stop_at_the_shards)
    far = Place(place)
    assert far.content("shards.json") is None  # what is unfinished has no manifest
    (embedded,) = (one for one in far.names("building/embedded") if one.endswith(".json"))  # and one file, not one a shard
    assert len(far.names("building/embedded")) == 2
    far.put(f"building/embedded/{embedded}", (far.content(f"building/embedded/{embedded}") or b"") + b" ")  # leaves a trace
    seen: set[bytes | None] = set()

    def watch(step: str, done: int, total: int | None) -> None:
        if step == "shards":
            seen.add(far.content(f"building/embedded/{embedded}"))

    made = build_by_many(place, order(source, 2), watch)
    assert [(content or b"")[-1:] for content in seen] == [b" "]  # it was not embedded twice
    assert sharded.load(place) == made
    assert equal_to_one(tmp_path / "alone", [sharded.shard_at_hand(place, number) for number in range(2)])
    assert (far.names("shards"), far.names("building")) == ({"0000", "0001"}, set())
    assert sorted(tmp_path.iterdir()) == [tmp_path / name for name in ("alone", "cache", "notes")]  # nothing was kept here
    with pytest.raises(UsageError, match="holds a sharded index already"):
        build_by_many(place, order(source, 2))
