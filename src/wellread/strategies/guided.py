"""`guided`: the small evaluator finds the chain, one call of the model reads it.

    search the question; the evaluator judges what was found and follows it to a second step
    keep the best passages, those of one chain together and in its order
    answer from them in one call

It follows no published recipe. Grading each passage against the question alone throws the second step of a chain
away, and a model that searches by itself is shown its results again with every call: here it is asked once.
Without the evaluator (effort low) the passages are those of a plain search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from wellread.events import Decided
from wellread.parameters import Range, Share, param
from wellread.ranking.evaluator import Trail
from wellread.run import Run
from wellread.strategies import context, trail
from wellread.strategies.compose import compose
from wellread.strategies.recipe import AnsweringRoles, Recipe, stand_alone
from wellread.text.neighbours import by_place
from wellread.types import Answer, Passage

_CHAIN = 2  # passages that are shown however unlikely they are


@dataclass(frozen=True, slots=True)
class GuidedParams(AnsweringRoles):
    passages: Annotated[int, Range(1, 100)] = param(6, "passages that the answer is written from, at most")
    least: Share = param(0.1, "passages less likely to help than this part of the best are left out; 0: none")


class Guided(Recipe[GuidedParams]):
    """The small local model finds the chain of passages in two steps, one model call answers from it."""

    async def answer(self, run: Run) -> Answer:
        question, found = run.question, list[Passage]()
        with run.until_spent():
            question = await stand_alone(run, self.params)
            followed = await trail.search(run, question, self.params.passages)
            found = chained(followed, self.params.passages, self.params.least)
            if followed.pairs:
                run.emit(Decided("read", " → ".join(dict.fromkeys(passage.title for passage in found))))
        return await self.answer_from(run, question, found)

    async def answer_from(self, run: Run, question: str, found: Sequence[Passage], most: int | None = None) -> Answer:
        """One call that answers from passages, in the order given."""
        shown = by_place(found[: most or self.params.passages])
        return await compose(run, self.params.brief(run, question, context.material(run, shown), tried=(question,)))


def chained(followed: Trail, most: int, least: float = 0.0) -> list[Passage]:
    """The best passages; those of a chain that leads to an answer stand together, in the chain's order.

    Beyond the first two, those go that are far less likely than the best, or irrelevant: every passage is paid for, and tempts.
    """
    floor = -math.inf
    if least and followed.pairs and followed.passages:
        floor = max(followed.passages[0][1] + 2 * math.log(least), 2 * math.log(trail.IRRELEVANT))
    best = [passage for place, (passage, score) in enumerate(followed.passages[:most]) if place < _CHAIN or score >= floor]
    kept = {passage.id for passage in best}
    chains = [one.chain for one in followed.answers if len(one.chain) > 1 and all(passage.id in kept for passage in one.chain)]
    ordered = {passage.id: passage for chain in chains for passage in chain}
    return list((ordered | {passage.id: passage for passage in best if passage.id not in ordered}).values())
