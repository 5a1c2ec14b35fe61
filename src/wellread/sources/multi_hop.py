"""`hops=2`: passages that a question leads to only through the ones it finds first, in any source.

The first passages found for "When was the founder of Apple born?" name the founder; searching for the question together
with what such a passage says finds the passage about him. With the evaluator this is a search along paths
(`ranking.paths`). Without it, what the second step says is added to what the first one said, and a passage that a
first one refers to by a cross-reference counts more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wellread.privacy import search as ask
from wellread.protocols import Parts, Source, trained
from wellread.text.titles import bare_title
from wellread.types import Hit, Hits, Original, Passage, Query

if TYPE_CHECKING:
    from wellread.ranking.evaluator import Evaluator
    from wellread.ranking.judge import Chain

AFTER = 12  # passages looked at after each chain
_LEAD = 300  # characters of a passage that join the question when what follows it is looked for
_FOLLOWED = 3  # passages that are followed without the evaluator
_DEPTH = 50  # passages of each list that count there
_SECOND_STEP, _REFERENCE = 0.5, 0.2  # what a place in the second step and a cross-reference add


def followed(source: Source, hops: int | None, kit: Parts) -> Source:
    """The source as it is, or with its passages followed; None leaves it to the effort."""
    if hops == 1:
        return source
    if isinstance(source, TwoSteps):
        return source if hops is None else source.asked_for()
    return TwoSteps(source, kit, by_effort=hops is None)


class TwoSteps(Source):
    """A source whose passages are followed. What else the source can do, it still can."""

    def __init__(self, inner: Source, kit: Parts, *, by_effort: bool = False) -> None:
        self._inner = inner
        self.parts = (inner,)
        self._kit = kit
        self._by_effort = by_effort  # nobody asked for it: not at low effort, and no plain search waits for the evaluator
        self.name, self.hint, self.examples, self.has_documents = inner.name, inner.hint, inner.examples, inner.has_documents

    def asked_for(self) -> TwoSteps:
        """The same, followed whatever the effort."""
        return TwoSteps(self._inner, self._kit)

    @property
    def members(self) -> Sequence[Source]:
        inside = self._inner.members
        return inside if inside[0] is not self._inner else (self,)

    async def find_title(self, title: str) -> Sequence[Hit]:
        return await self._inner.find_title(title)

    async def passages(self, document: str) -> Sequence[Hit]:
        return await self._inner.passages(document)

    async def original(self, document: str) -> Original:
        return await self._inner.original(document)

    def tuned(self, **options: int) -> TwoSteps:
        return TwoSteps(self._inner.tuned(**options), self._kit, by_effort=self._by_effort)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def search(self, query: Query) -> Sequence[Hit]:
        """The passages of the likeliest paths, best first."""
        if not query.follow or (self._by_effort and self._kit.effort == "low"):
            return await ask(self._inner, query)
        from wellread.ranking.evaluator import Evaluator

        tracker = trained(self._kit.answer_reader(), query.language)
        search = _Search(self._inner, query)
        most = 0 if query.pairs is None and self._by_effort else query.pairs
        enough = most is None or (isinstance(tracker, Evaluator) and most >= tracker.plan.pairs)
        if isinstance(tracker, Evaluator) and enough and tracker.plan.firsts:  # a low effort follows nothing
            return await search.along_paths(tracker)
        return await search.by_scores()


class _Search:
    """One search: everything it has met, and what went wrong on the way."""

    def __init__(self, source: Source, query: Query) -> None:
        self._source, self._query = source, query
        self._met: dict[str, Hit] = {}
        self._failures: dict[str, None] = {}
        self._pairs = 0  # that the source itself had read
        self._unreachable: dict[str, str] = {}

    async def along_paths(self, tracker: Evaluator) -> Hits:
        first = self._remember(await self._ask(self._query.text, max(self._query.limit, tracker.plan.singles)))
        trail = await tracker.trail(self._query.text, first, self._candidates)
        ranked = [replace(self._met[passage.id], score=score) for passage, score in trail.passages]
        return Hits(tuple(ranked[: self._query.limit]), tuple(self._failures), trail.pairs + self._pairs, self._unreachable)

    async def by_scores(self) -> Hits:
        depth = max(self._query.limit, _DEPTH)
        first = await self._scored(self._query.text, depth)
        leads = list(first)[:_FOLLOWED]
        followed = await asyncio.gather(*(self._after_lead(lead, depth) for lead in leads))
        floor = min(first.values(), default=0.0)  # what the first step did not find is no better than its last
        total = dict(first)
        for lead, (scores, references) in zip(leads, followed, strict=True):
            for key, score in scores.items():
                gain = first[lead] * (_SECOND_STEP * score + _REFERENCE * (key in references)) if key != lead else 0.0
                total[key] = max(total.get(key, floor), first.get(key, floor) + gain)
        for lead in leads[:1]:
            total[lead] = max(total.values())  # the best of the first step stays
        best = sorted(total, key=lambda key: (-total[key], key not in leads[:1]))[: self._query.limit]
        hits = tuple(replace(self._met[key], score=total[key]) for key in best)
        return Hits(hits, tuple(self._failures), self._pairs, self._unreachable)

    async def _after_lead(self, lead: str, depth: int) -> tuple[dict[str, float], set[str]]:
        passage = self._met[lead].passage()
        references = {one.id for one in await self._referred(passage)}
        return await self._scored(second_query(self._query.text, passage), depth), references

    async def _scored(self, text: str, depth: int) -> dict[str, float]:
        """Scores by id, best first. Services have scales of their own, or none: then places count."""
        found = await self._ask(text, depth)
        self._remember(found)
        most = max((hit.score for hit in found), default=0.0)
        scores = {hit.id: hit.score / max(1.0, most) if most else 1 / (place + 1) for place, hit in enumerate(found)}
        return {key: score for key, score in scores.items() if key in self._met}

    async def _candidates(self, chains: Sequence[Chain]) -> list[list[list[Passage]]]:
        return list(await asyncio.gather(*(self._after(chain[-1]) for chain in chains)))

    async def _after(self, last: Passage) -> list[list[Passage]]:
        found = self._remember(await self._ask(second_query(self._query.text, last), AFTER))
        return [mentioned(await self._referred(last), last), found]

    async def _referred(self, passage: Passage) -> list[Passage]:
        """What the passage refers to by title."""
        return [one for title in passage.links for one in self._remember(await self._source.find_title(title))]

    async def _ask(self, text: str, limit: int) -> Hits:
        found = Hits.all_of(await ask(self._source, replace(self._query, text=text, limit=limit)))
        self._failures |= dict.fromkeys(found.failures)
        self._pairs += found.pairs
        self._unreachable |= found.unreachable
        return found

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
