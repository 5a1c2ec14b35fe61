"""Load balancing and hedged requests: of the replicas of a shard the least busy is asked, a slow one is hedged, a dead one
replaced, all before a deadline."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from wellread.cluster.merged import Peer, ShardGone

_KEPT = 200  # durations of the last calls, from which it is known what is slow
_SLOWEST_SHARE = 0.95
_AT_LEAST, _AT_FIRST = 0.01, 0.2  # seconds before a second replica is asked: never earlier, and while nothing is known
_LOOK_EVERY = 10.0  # seconds between two looks at which replicas there are, unless one was lost
_REST = 0.25  # seconds that a replica which failed is not asked first


_all: weakref.WeakSet[ReplicatedShard] = weakref.WeakSet()  # for `counts`


class ReplicaLost(Exception):
    """A replica (a `Peer` by its name) died, or cannot be reached now."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited."""

    deadline: float = 20.0  # seconds for one call in all
    hedge: bool = True


@dataclass(eq=False, slots=True)
class _Standing:
    replica: Peer
    busy: int = 0
    lost_at: float = -1e9

    def answered(self, _: asyncio.Future[Any]) -> None:
        self.busy -= 1


_Running: TypeAlias = dict[asyncio.Future[Any], tuple[_Standing, float]]  # calls under way: of whom, since when


@dataclass(slots=True)
class Counts:
    """Counters of calls so far."""

    calls: int = 0
    hedged: int = 0
    lost: int = 0
    gone: int = 0
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))


class ReplicatedShard(Peer):
    """A `Peer` whose calls are answered by whichever replica is quickest: of those that have `names` now (`ReplicaLost` where
    nobody can say), each found by its name with `reach`."""

    def __init__(
        self, name: str, names: Callable[[], Sequence[str]], reach: Callable[[str], Peer], patience: Patience | None = None
    ) -> None:
        self.name = name
        self.counts = Counts()
        self._names, self._reach = names, reach
        self._patience = patience or Patience()
        self._standing: dict[str, _Standing] = {}
        self._looked = -1e9
        self._looking: asyncio.Task[None] | None = None
        _all.add(self)

    async def call(self, method: str, *arguments: object) -> Any:
        """The first answer of any replica. Errors of the call itself are the caller's; losses are ours."""
        self.counts.calls += 1
        running: _Running = {}
        try:
            async with asyncio.timeout(self._patience.deadline):
                return await self._first(running, method, arguments)
        except TimeoutError:
            self.counts.gone += 1
            raise ShardGone(f"no replica of shard {self.name} answered within {self._patience.deadline:g} s") from None
        finally:
            for task in running:
                task.cancel()

    def close(self) -> None:
        for standing in self._standing.values():
            standing.replica.close()

    async def _look(self) -> None:
        """Who is there now: replicas come and go. Whoever knows one that was not lost does not wait for who else there is: the
        one that would say so may be gone itself."""
        lost = not self._standing or any(standing.lost_at > self._looked for standing in self._standing.values())
        if time.monotonic() - self._looked < (_REST if lost else _LOOK_EVERY):
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._find())
        if all(standing.lost_at > self._looked for standing in self._standing.values()):
            await asyncio.wait([self._looking])

    async def _find(self) -> None:
        try:
            names = await asyncio.to_thread(self._names)
            for name in self._standing.keys() - set(names):
                self._standing[name].replica.close()
            self._standing = {name: self._standing.get(name) or _Standing(self._reach(name)) for name in names}
        except ReplicaLost:  # then those that were known will have to do
            pass
        finally:
            self._looked = time.monotonic()

    async def _first(self, running: _Running, method: str, arguments: tuple[object, ...]) -> Any:
        while True:
            await self._look()
            if not running:
                await self._start(running, method, arguments)
            if not running:
                await asyncio.sleep(_REST)  # there is nobody
                continue
            done, _ = await asyncio.wait(running, timeout=self._hedge_after(running), return_when=asyncio.FIRST_COMPLETED)
            if not done:
                self.counts.hedged += 1
                await self._start(running, method, arguments)
            for task in done:
                standing, begun = running.pop(task)
                try:
                    answer = task.result()
                except ReplicaLost:
                    self.counts.lost += 1
                    standing.lost_at = time.monotonic()
                else:  # its own time: with what was waited for a slow one, "slow" would become slower with every hedged call
                    self.counts.durations.append(time.monotonic() - begun)
                    return answer

    def _hedge_after(self, running: _Running) -> float | None:
        """Seconds after which another replica is asked as well; None where there is none, or one is enough."""
        if not self._patience.hedge or len(running) > 1 or len(self._standing) < 2:
            return None
        known = sorted(self.counts.durations)
        usual = known[int(len(known) * _SLOWEST_SHARE)] if len(known) >= 20 else _AT_FIRST
        return max(_AT_LEAST, usual)

    async def _start(self, running: _Running, method: str, arguments: tuple[object, ...]) -> None:
        """Ask the replica that is least busy and was not lost just now."""
        asked = [standing for standing, _ in running.values()]
        free = [standing for standing in self._standing.values() if standing not in asked]
        if not free:
            return
        now = time.monotonic()
        chosen = min(free, key=lambda standing: (now - standing.lost_at < _REST, standing.busy))
        if not running and now - chosen.lost_at < _REST:
            await asyncio.sleep(_REST / 5)  # all of them were lost: they are being replaced
        chosen.busy += 1
        answer = asyncio.ensure_future(chosen.replica.call(method, *arguments))
        answer.add_done_callback(chosen.answered)
        running[answer] = chosen, time.monotonic()


def counts() -> dict[str, Counts]:
    """Counters of this process so far, by shard."""
    found: dict[str, Counts] = {}
    for shard in sorted(_all, key=lambda shard: shard.name):
        total = found.setdefault(shard.name, Counts())  # several searchers may know the same shard
        total.calls, total.hedged = total.calls + shard.counts.calls, total.hedged + shard.counts.hedged
        total.lost, total.gone = total.lost + shard.counts.lost, total.gone + shard.counts.gone
    return found
