"""The evaluator on a cluster (distributed inference): the pairs of one question go to many actors, and the questions of many
users too."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wellread.cluster.replicas import ReplicatedShard
from wellread.core.effort import Effort
from wellread.errors import UsageError
from wellread.protocols import Parts
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Verdict
from wellread.types import Spec

_TOGETHER = 12  # pairs in one call: more would leave actors idle, fewer would be all overhead


def from_spec(spec: Spec, kit: Parts) -> ClusterEvaluator:
    """The evaluator as actors of a Ray cluster: ray:NAME, the name of a deployed index that has evaluators."""
    if not spec.argument:
        raise UsageError("ray needs the name of a deployed index: ray:NAME")
    name, _, address = spec.argument.partition("@")
    return ClusterEvaluator(name, address or None, kit.effort)


class ClusterEvaluator(Evaluator):
    """Plans and weighs here; what costs time, judging pairs, is done where there are cores."""

    name = "evaluator on a cluster"

    def __init__(self, deployed: str, address: str | None = None, effort: Effort = "normal") -> None:
        super().__init__(effort=effort)
        self._deployed, self._address = deployed, address
        self._actors: ReplicatedShard | None = None

    async def judge(self, question: str, chains: Sequence[Chain]) -> list[Verdict]:
        """The verdict on each chain, in order."""
        if self._actors is None:
            from wellread.cluster.on_ray import evaluators

            self._actors = await asyncio.to_thread(evaluators, self._deployed, self._address)
        actors = self._actors
        pieces = [list(chains[at : at + _TOGETHER]) for at in range(0, len(chains), _TOGETHER)]
        found: list[list[Verdict]] = await asyncio.gather(*(actors.call("judge", question, piece) for piece in pieces))
        return [verdict for piece in found for verdict in piece]
