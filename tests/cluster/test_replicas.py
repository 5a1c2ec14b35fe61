"""Which replica answers, when a second one is asked, and what happens when they die."""

from __future__ import annotations

import asyncio
import time

import pytest

from wellread.cluster.merged import ShardGone
from wellread.cluster.replicas import Patience, ReplicaLost, ReplicatedShard
from wellread.errors import IndexFault

pytestmark = pytest.mark.anyio


class Scripted:
    """Answers after some seconds; a number below zero is a death after as many."""

    def __init__(self, name: str, *seconds: float) -> None:
        self.name, self.seconds, self.calls = name, list(seconds), 0

    async def call(self, method: str, *arguments: object) -> str:
        self.calls += 1
        seconds = self.seconds[min(self.calls, len(self.seconds)) - 1]
        await asyncio.sleep(abs(seconds))
        if seconds < 0:
            raise ReplicaLost(self.name)
        return self.name

    def close(self) -> None: ...


def shard_of(*replicas: Scripted, patience: Patience | None = None) -> ReplicatedShard:
    found = {replica.name: replica for replica in replicas}
    return ReplicatedShard("0000", lambda: list(found), found.__getitem__, patience)


async def test_calls_go_to_the_one_that_is_least_busy() -> None:
    first, second = Scripted("a", 0.05), Scripted("b", 0.05)
    shard = shard_of(first, second)
    await asyncio.gather(*(shard.call("hits") for _ in range(10)))
    assert (first.calls, second.calls) == (5, 5)


async def test_a_slow_replica_is_hedged() -> None:
    slow, quick = Scripted("slow", 5.0), Scripted("quick", 0.001)
    shard = shard_of(slow, quick)
    begun = time.monotonic()
    assert await shard.call("hits") == "quick"
    assert time.monotonic() - begun < 2
    assert shard.counts.hedged == 1
    alone = shard_of(Scripted("slow", 0.4), quick, patience=Patience(hedge=False))
    assert await alone.call("hits") == "slow"


@pytest.mark.slow
async def test_what_was_waited_for_a_slow_one_does_not_count_as_usual() -> None:
    """Otherwise a replica that hangs would be waited for a little longer with every call."""
    shard = shard_of(Scripted("hangs", 9.0), Scripted("quick", 0.001))
    for _ in range(25):
        assert await shard.call("hits") == "quick"
    assert shard.counts.hedged >= 5
    assert max(shard.counts.durations) < 0.15  # a second one is asked after 0.2 s while nothing is known


async def test_a_dead_replica_costs_nothing_but_a_moment() -> None:
    shard = shard_of(Scripted("dead", -0.0001), Scripted("alive", 0.001))
    assert [await shard.call("hits") for _ in range(5)] == ["alive"] * 5
    assert shard.counts.lost <= 2  # it is left alone for a while


async def test_it_waits_for_a_replacement_until_the_deadline() -> None:
    reborn = Scripted("reborn", -0.0001, -0.0001, 0.001)
    assert await shard_of(reborn, patience=Patience(deadline=5)).call("hits") == "reborn"
    shard = shard_of(Scripted("dead", -0.0001), patience=Patience(deadline=0.5))
    begun = time.monotonic()
    with pytest.raises(ShardGone, match="shard 0000"):
        await shard.call("hits")
    assert 0.4 < time.monotonic() - begun < 3
    assert shard.counts.gone == 1


async def test_what_happened_is_counted_for_the_metrics() -> None:
    from wellread.cluster.replicas import counts

    found = {"dead": Scripted("dead", -0.0001), "alive": Scripted("alive", 0.001)}
    shards = [ReplicatedShard("counted", lambda: list(found), found.__getitem__) for _ in range(2)]
    for shard in shards:
        await shard.call("hits")
    assert (counts()["counted"].calls, counts()["counted"].gone) == (2, 0)


async def test_an_error_of_the_call_is_not_a_loss() -> None:
    class Wrong(Scripted):
        async def call(self, method: str, *arguments: object) -> str:
            raise IndexFault("no such thing")

    shard = shard_of(Wrong("a"), Wrong("b"))
    with pytest.raises(IndexFault, match="no such thing"):
        await shard.call("hits")
    assert shard.counts.lost == 0


async def test_replicas_that_come_later_are_found() -> None:
    there = {"old": Scripted("old", 0.001, -0.0001)}
    shard = ReplicatedShard("0000", lambda: list(there), lambda name: there[name], Patience(deadline=5))
    assert await shard.call("hits") == "old"
    there["new"] = Scripted("new", 0.001)
    assert await shard.call("hits") == "new"  # the old one is lost, so it looks again
    del there["old"], there["new"]


@pytest.mark.slow
async def test_nobody_waits_for_who_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever lists replicas may hang or be gone: those that are known go on answering."""
    from wellread.cluster import replicas

    looks = 0

    def names() -> list[str]:
        nonlocal looks
        looks += 1
        if looks == 2:
            time.sleep(1.0)
        if looks > 2:
            raise ReplicaLost("the head is gone")
        return ["a"]

    monkeypatch.setattr(replicas, "_LOOK_EVERY", 0.0)
    shard = ReplicatedShard("0000", names, lambda name: Scripted(name, 0.001), Patience(deadline=0.7))
    for _ in range(3):
        assert await asyncio.wait_for(shard.call("hits"), 0.6) == "a"
    await asyncio.sleep(1.2)
    for _ in range(3):
        assert await shard.call("hits") == "a"
        await asyncio.sleep(0.01)
    assert looks > 2
