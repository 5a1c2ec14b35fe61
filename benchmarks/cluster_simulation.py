"""A billion passages on a hundred nodes, simulated: what hedging is worth when nodes are slow or die.

Every query goes to one replica of each shard and waits for the last of them. Service times are drawn around a measured
one (`--median` and `--spread`: 10 million passages, default mode, rows in memory: docs/log/index.md); everything else is
counted, not measured: cores are busy, calls queue, a slow node takes ten times as long, a dead one loses its calls and comes back
after half a minute on another node. The rules of choosing and hedging are those of `wellread.cluster.replicas`.

    python benchmarks/cluster_simulation.py [--quick]
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

_SLOW = 10.0
_NOTICED, _RETURNS = 0.05, 30.0  # seconds until a broken connection is noticed, and until the replica is elsewhere
_NETWORK = 0.001  # seconds there and back, two calls


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    name: str
    hedge: bool
    slow: float = 0.0  # share of nodes
    dies: bool = False


@dataclass(slots=True)
class Node:
    cores: int
    slow: float = 1.0
    dead_until: float = -1.0
    busy: int = 0
    queue: deque[Callable[[float], None]] = field(default_factory=deque)


@dataclass(slots=True)
class Call:
    """One shard's part of a query."""

    query: int
    shard: int
    tried: list[int]
    done: bool = False


class Simulation:
    """Events in the order of their times; the same seed gives the same run."""

    def __init__(self, case: Case, shards: int, nodes: int, rate: float, queries: int, median: float, spread: float) -> None:
        self.case, self.chance = case, random.Random(20)
        self.median, self.spread = median, spread
        self.nodes = [Node(8) for _ in range(nodes)]
        for number in range(int(nodes * case.slow)):
            self.nodes[number * 37 % nodes].slow = _SLOW
        self.homes = [[shard % nodes, (shard + nodes // 2) % nodes] for shard in range(shards)]
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.number = 0
        self.left: dict[int, int] = {}
        self.began: dict[int, float] = {}
        self.took: list[float] = []
        self.lately: deque[float] = deque(maxlen=2000)
        self.calls = self.hedged = 0
        at = 0.0
        for query in range(queries):
            at += self.chance.expovariate(rate)
            self.later(at, lambda now, query=query: self.ask(query, now))
        if case.dies:
            self.later(at / 2, self.die)

    def later(self, at: float, what: Callable[[float], None]) -> None:
        self.number += 1
        heapq.heappush(self.events, (at, self.number, what))

    def run(self) -> dict[str, float]:
        while self.events:
            at, _, what = heapq.heappop(self.events)
            what(at)
        took = sorted(self.took)
        share = {
            name: took[min(len(took) - 1, int(len(took) * part))] for name, part in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))
        }
        return {name: round(1e3 * value, 1) for name, value in share.items()} | {"more_calls": round(self.hedged / self.calls, 4)}

    def ask(self, query: int, now: float) -> None:
        self.left[query], self.began[query] = len(self.homes), now
        for shard in range(len(self.homes)):
            self.send(Call(query, shard, []), now)

    def send(self, call: Call, now: float) -> None:
        """To the replica that is least busy; a second one is asked where the first is slower than most have been."""
        free = [home for home in self.homes[call.shard] if home not in call.tried]
        if not free:
            return
        home = min(free, key=lambda one: (self.nodes[one].dead_until > now, self.nodes[one].busy + len(self.nodes[one].queue)))
        call.tried.append(home)
        self.calls += len(call.tried) == 1
        node = self.nodes[home]
        if node.dead_until > now:
            self.later(now + _NOTICED, lambda at: self.send(call, at))
        elif node.busy < node.cores:
            self.work(call, node, now)
        else:
            node.queue.append(lambda at: self.work(call, node, at))
        if self.case.hedge and len(call.tried) == 1:
            self.later(now + self.hedge_after(), lambda at: self.second(call, at))

    def second(self, call: Call, now: float) -> None:
        if not call.done:
            self.hedged += 1
            self.send(call, now)

    def hedge_after(self) -> float:
        if len(self.lately) < 100:
            return 0.2
        if self.number % 50 == 0 or not hasattr(self, "_usual"):
            self._usual = sorted(self.lately)[int(len(self.lately) * 0.95)]
        return self._usual

    def work(self, call: Call, node: Node, now: float) -> None:
        node.busy += 1
        seconds = self.median * math.exp(self.chance.gauss(0, self.spread)) * node.slow
        self.later(now + seconds, lambda at: self.end(call, node, now, at))

    def end(self, call: Call, node: Node, began: float, now: float) -> None:
        node.busy -= 1
        if node.queue and node.dead_until <= now:
            node.queue.popleft()(now)
        if node.dead_until > now:  # its answer never comes
            self.later(now + _NOTICED, lambda at: self.send(call, at))
            return
        if call.done:
            return
        call.done = True
        self.lately.append(now - began)
        self.left[call.query] -= 1
        if not self.left[call.query]:
            self.took.append(now - self.began[call.query] + _NETWORK)

    def die(self, now: float) -> None:
        node = self.nodes[len(self.nodes) // 3]
        node.dead_until = now + _RETURNS
        waiting, node.queue = node.queue, deque()
        for what in waiting:
            self.later(now + _NOTICED, what)


CASES = (
    Case("all well, no hedging", hedge=False),
    Case("all well", hedge=True),
    Case("1 % slow nodes, no hedging", hedge=False, slow=0.01),
    Case("1 % slow nodes", hedge=True, slow=0.01),
    Case("a node dies, no hedging", hedge=False, dies=True),
    Case("a node dies", hedge=True, dies=True),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries")
    parser.add_argument("--median", type=float, default=0.020, help="seconds of one shard's search")
    parser.add_argument("--spread", type=float, default=0.12, help="standard deviation of its logarithm")
    parser.add_argument("--rate", type=float, default=150.0, help="queries a second")
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for case in CASES:
        found[case.name] = Simulation(case, 100, 100, given.rate, 300 if given.quick else 3000, given.median, given.spread).run()
        print(f"{case.name:28} " + "  ".join(f"{name} {value:g}" for name, value in found[case.name].items()), flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
