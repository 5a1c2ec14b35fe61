"""`hops=2`: passages that a question leads to only through the ones it finds first, in any source.

With the evaluator this is a search along paths (`ranking.paths`). Without it the best passages are followed by
searching for the question together with what they say, and the lists are put together by rank.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wellread.protocols import Kit, Linked, Source
from wellread.text.titles import bare_title
from wellread.types import Hit, Hits, Passage, Query

if TYPE_CHECKING:
    from wellread.ranking.evaluator import Tracker
    from wellread.ranking.judge import Chain

AFTER = 12  # passages looked at after each chain
_LEAD = 300  # characters of a passage that join the question when what follows it is looked for
_FOLLOWED = 2  # passages that are followed without the evaluator


class TwoSteps:
    """A source whose passages are followed. What else the source can do, it still can."""

    def __init__(self, inner: Source, kit: Kit) -> None:
        self._inner = inner
        self._kit = kit

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def hint(self) -> str:
        return self._inner.hint

    def __getattr__(self, ability: str) -> Any:
        if ability == "_inner":  # not there yet: copying and unpickling ask before it is set
            raise AttributeError(ability)
        return getattr(self._inner, ability)

    async def search(self, query: Query) -> Sequence[Hit]:
        """The passages of the likeliest paths, best first."""
        from wellread.ranking.evaluator import Tracker

        tracker = self._kit.answer_reader()
        search = _Search(self._inner, query)
        enough = query.pairs is None or (isinstance(tracker, Tracker) and query.pairs >= tracker.plan.pairs)
        if isinstance(tracker, Tracker) and enough and tracker.plan.firsts:  # a low effort follows nothing
            return await search.along_paths(tracker)
        return await search.by_ranks()


class _Search:
    """One search: everything it has met, and what went wrong on the way."""

    def __init__(self, source: Source, query: Query) -> None:
        self._source, self._query = source, query
        self._met: dict[str, Hit] = {}
        self._failures: dict[str, None] = {}
        self._pairs = 0  # that the source itself had read

    async def along_paths(self, tracker: Tracker) -> Hits:
        first = await self._ask(self._query.text, max(self._query.limit, tracker.plan.singles))
        trail = await tracker.trail(self._query.text, first, self._candidates)
        ranked = [replace(self._met[passage.id], score=score) for passage, score in trail.passages]
        return Hits(tuple(ranked[: self._query.limit]), tuple(self._failures), trail.pairs + self._pairs)

    async def by_ranks(self) -> Hits:
        from wellread.ranking.fusion import reciprocal_ranks

        limit = max(self._query.limit, AFTER)
        first = await self._ask(self._query.text, limit)
        leads = first[:_FOLLOWED]
        later = await asyncio.gather(*(self._ask(second_query(self._query.text, lead), limit) for lead in leads))
        lists = [[passage.id for passage in found] for found in (first, first, *later)]  # the first step counts double
        ranked = [replace(self._met[key], score=score) for key, score in reciprocal_ranks(lists)]
        return Hits(tuple(ranked[: self._query.limit]), tuple(self._failures), self._pairs)

    async def _candidates(self, chains: Sequence[Chain]) -> list[list[list[Passage]]]:
        return list(await asyncio.gather(*(self._after(chain[-1]) for chain in chains)))

    async def _after(self, last: Passage) -> list[list[Passage]]:
        references: list[Passage] = []
        if isinstance(self._source, Linked):
            for title in last.links:
                references += self._remember(await self._source.find_title(title))
        return [mentioned(references, last), await self._ask(second_query(self._query.text, last), AFTER)]

    async def _ask(self, text: str, limit: int) -> list[Passage]:
        found = await self._source.search(replace(self._query, text=text, limit=limit))
        if isinstance(found, Hits):
            self._failures |= dict.fromkeys(found.failures)
            self._pairs += found.pairs
        return self._remember(found)

    def _remember(self, hits: Sequence[Hit]) -> list[Passage]:
        """The hits as passages, the same hit always as the same passage."""
        return [self._met.setdefault(hit.id, hit).passage() for hit in hits if hit.words.strip()]


def second_query(question: str, passage: Passage) -> str:
    """The question with what a passage says first: finds what the passage leads to."""
    return f"{question} {passage.title} {passage.text[:_LEAD]}"


def mentioned(references: Sequence[Passage], passage: Passage) -> list[Passage]:
    """References in the order in which the passage names them."""
    text = passage.text.casefold()
    places = {one.title: text.find(bare_title(one.title).casefold()) for one in references}
    return sorted(references, key=lambda one: (places[one.title] < 0, places[one.title]))
