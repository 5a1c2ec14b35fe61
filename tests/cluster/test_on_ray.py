"""Shards as actors of a real Ray cluster: three nodes on this machine, one of which dies."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.test_merged import passages, queries, same
from tests.index.embedders import WordEmbedder
from tests.index.test_change import feed
from tests.sources.kit import TestKit

from wellread.cluster.reshard import shard_index
from wellread.errors import IndexFault, UsageError
from wellread.index.build import build
from wellread.index.search import LocalIndex
from wellread.types import Passage

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("indexes")

    async def make() -> None:
        await build(folder / "one", feed(passages(900)))
        await shard_index(folder / "one", folder / "many", 4)

    asyncio.run(make())
    return folder / "one", folder / "many"


def test_a_deployed_index_is_found_searched_scaled_and_stopped(cluster: Any, places: tuple[Path, Path]) -> None:
    from wellread.cluster import on_ray

    one = LocalIndex.open(places[0])
    deployed = on_ray.deploy(str(places[1]), "letters", replicas=2)
    assert sorted(deployed.replicas) == [0, 1, 2, 3]
    spread = {shard: len(set(nodes)) for shard, nodes in deployed.replicas.items()}
    assert spread == dict.fromkeys(range(4), 2), deployed  # two replicas of a shard: two nodes
    assert on_ray.names() == ["letters"]
    with pytest.raises(UsageError, match="deployed already"):
        on_ray.deploy(str(places[1]), "letters")
    with pytest.raises(UsageError, match="is no name"):
        on_ray.deploy(str(places[1]), "no:name")
    with pytest.raises(IndexFault, match="there is: letters"):
        on_ray.open_index("numbers")

    async def compare() -> None:
        many = on_ray.open_index("letters")
        for text in queries(100):
            got = await many.search(text, WordEmbedder(), 10)
            assert same(got.hits, await one.search(text, WordEmbedder(), 10)), text
        assert [hit.id for hit in await many.document("d7")] == ["p28", "p29", "p30", "p31"]

    asyncio.run(compare())
    there, gone = on_ray._nodes(ray, ["letters:shard:0:0", "letters:shard:9:9"])  # the second ended since it was listed
    assert (there in deployed.replicas[0], gone) == (True, "")
    asyncio.run(asked_at_once())
    assert all(len(nodes) == 1 for nodes in on_ray.scale("letters", 1).replicas.values())
    assert all(len(nodes) == 3 for nodes in on_ray.scale("letters", 3).replicas.values())
    asyncio.run(compare())
    assert len(on_ray.scale("letters", evaluators=2).evaluators) == 2
    asyncio.run(judged_alike())
    assert on_ray.stop("letters") == 14
    deadline = time.monotonic() + 30
    while on_ray.names() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert on_ray.names() == []


async def asked_at_once() -> None:
    """Over connections and through Ray: the same answers; what is wrong with one is its own."""
    from wellread.cluster.actors import RayReplica, Wire

    direct, through = RayReplica("letters:shard:0:0"), RayReplica("letters:shard:0:0")
    through._around_ray_from = time.monotonic() + 600
    for replica in (direct, through):
        alone = [(await replica.call("lines", [row]))[0] for row in range(5)]
        assert len(set(alone)) == 5
        calls = [asyncio.ensure_future(replica.call("lines", [number % 5])) for number in range(30)]
        wrong, left = replica.call("lines", [10**9]), asyncio.ensure_future(replica.call("lines", [0]))
        await asyncio.sleep(0)
        left.cancel()
        assert [lines[0] for lines in await asyncio.gather(*calls)] == alone * 6
        with pytest.raises(RuntimeError, match="IndexError on a node"):
            await wrong
    assert (1 <= len(direct._idle) <= 8, through._idle) == (True, [])
    direct._idle[-1].close()  # as if the network had broken: another is made
    direct._idle[-1] = Wire(direct._idle[-1]._connection, direct._idle[-1]._signed)
    assert (await direct.call("lines", [3]))[0] == alone[3]
    direct.close()
    assert direct._idle == []


async def found_by_an_index_that_was_open(many: Any, one: LocalIndex) -> None:
    for text in queries(5):
        assert same((await many.search(text, WordEmbedder(), 10)).hits, await one.search(text, WordEmbedder(), 10)), text


def test_what_is_stopped_and_deployed_again_is_found_by_who_searched_it_before(cluster: Any, places: tuple[Path, Path]) -> None:
    from wellread.cluster import on_ray

    one = LocalIndex.open(places[0])

    async def search_twice() -> None:
        on_ray.deploy(str(places[1]), "again", replicas=1)
        many = on_ray.open_index("again")
        await found_by_an_index_that_was_open(many, one)
        on_ray.stop("again")
        on_ray.deploy(str(places[1]), "again", replicas=1)
        await found_by_an_index_that_was_open(many, one)
        many.close()

    asyncio.run(search_twice())
    on_ray.stop("again")


async def judged_alike() -> None:
    """The evaluator on two nodes says what it says here."""
    from wellread.cluster.evaluating import from_spec
    from wellread.ranking.evaluator import Evaluator
    from wellread.types import Spec

    texts = [f"Titan, a moon of Saturn, was found in {1600 + number} by Christiaan Huygens." for number in range(30)]
    some = [Passage(str(number), text, "Titan") for number, text in enumerate(texts)]
    here, there = Evaluator(), from_spec(Spec("ray", "letters"), TestKit())
    wanted, got = await here.rerank("Who found Titan?", some), await there.rerank("Who found Titan?", some)
    assert list(got) == pytest.approx(list(wanted), abs=0.05)
    with pytest.raises(UsageError, match="has no evaluators"):
        await from_spec(Spec("ray", "numbers"), TestKit()).rerank("Who?", some)


def test_what_cannot_be_deployed_says_why_and_leaves_nothing(cluster: Any, places: tuple[Path, Path], tmp_path: Path) -> None:
    import shutil

    from wellread.cluster import on_ray
    from wellread.errors import WellreadError

    shutil.copytree(places[1], tmp_path / "damaged")
    (tmp_path / "damaged/shards/0002/beside/ordinals").write_bytes(b"")
    with pytest.raises(WellreadError, match=r"could not be deployed.*another size"):
        on_ray.deploy(str(tmp_path / "damaged"), "damaged")
    with pytest.raises(IndexFault, match="not a sharded index"):
        on_ray.deploy(str(tmp_path), "nothing")


def test_a_node_that_dies_while_it_is_searched_fails_no_query(cluster: Any, places: tuple[Path, Path]) -> None:
    from benchmarks.ray_cluster import kill

    from wellread.cluster import on_ray

    one = LocalIndex.open(places[0])
    on_ray.deploy(str(places[1]), "mortal", replicas=2)

    async def search_all() -> int:
        many = on_ray.open_index("mortal")
        texts = queries(60)
        wanted = {text: await one.search(text, WordEmbedder(), 10) for text in texts}
        gate = asyncio.Semaphore(8)
        killed = asyncio.Event()

        async def ask(number: int) -> bool:
            async with gate:
                if number == 40:
                    kill(cluster.worker_nodes and sorted(cluster.worker_nodes, key=id)[0])
                    killed.set()
                text = texts[number % len(texts)]
                outcome = await many.search(text, WordEmbedder(), 10)
                return outcome.searched == 1.0 and same(outcome.hits, wanted[text])

        right = await asyncio.gather(*(ask(number) for number in range(200)))
        assert killed.is_set()
        return sum(right)

    assert asyncio.run(search_all()) == 200
    on_ray.stop("mortal")
