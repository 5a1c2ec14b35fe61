"""Federated and multi-hop search, by sources made of others: many asked at once, and `hops=2`, which finds passages that a
question leads to only through others.

Many are fused by rank, each page once, a failing one reported and skipped. Two steps: the first passages found for "When was the
founder of Apple born?" name the founder; searching for the question together with what such a passage says finds the passage
about him. With the evaluator this is a search along paths (`ranking.paths`). Without it, what the second step says is added to
what the first one said, and a passage that a first one refers to by a cross-reference counts more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wellread.errors import SourceError, Unreachable, WellreadError
from wellread.net.address import canonical
from wellread.privacy import search as ask
from wellread.protocols import Parts, Source
from wellread.sources.hits import fused
from wellread.text.places import bare_title
from wellread.types import Hit, Hits, Passage, Query

if TYPE_CHECKING:
    from wellread.ranking.judge import Chain


class Several(Source):
    """Sources as one. The order they are named in decides between equals."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.parts = tuple(sources)
        self.name = " + ".join(source.name for source in self.parts)
        self.hint = "\n".join(f"- {source.hint}" for source in self.parts)
        self.examples = "\n\n".join(source.examples for source in self.parts if source.examples)

    @property
    def members(self) -> Sequence[Source]:
        return self.parts

    async def search(self, query: Query) -> Sequence[Hit]:
        """`Hits` with the failures of some; `SourceError` only when all have failed."""
        asked = [source for source in self.parts if source.name not in query.without] or self.parts
        results = await asyncio.gather(*(_attempt(source, query) for source in asked))
        answered = [found for answers, found in results if answers]
        whole = _together(fused(answered, query.limit, _key), [found for _, found in results])
        if not answered:
            kind = Unreachable if len(whole.unreachable) == len(asked) > 0 else SourceError
            raise kind("all sources failed", "; ".join(whole.failures) or "there are none")
        return whole


async def _attempt(source: Source, query: Query) -> tuple[bool, Hits]:
    """Whether a source answers, with its hits and complaints; a plugin's unexpected error must not take the others down."""
    try:
        return True, Hits.all_of(await ask(source, query))
    except WellreadError as problem:
        message = str(problem)
        unreachable = {source.name: problem.message} if isinstance(problem, Unreachable) else {}
        said = message if message.startswith(source.name) else f"{source.name}: {message}"
        return False, Hits(failures=(said,), unreachable=unreachable)
    except Exception as problem:
        return False, Hits(failures=(f"{source.name}: unexpected {type(problem).__name__}",))


def _key(hit: Hit) -> str:
    """Passages of a local index stay apart although they share a page."""
    return canonical(hit.url) if hit.url and hit.document is None else hit.id


Ask = Callable[[str, int], Awaitable[Sequence[Hit]]]
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
    """A source whose passages are followed. What else the source can do, it still can: see `Source.parts`."""

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

    def tuned(self, **options: int) -> TwoSteps:
        return TwoSteps(self._inner.tuned(**options), self._kit, by_effort=self._by_effort)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def search(self, query: Query) -> Sequence[Hit]:
        """The passages of the likeliest paths, best first."""
        if not query.follow or (self._by_effort and self._kit.effort == "low"):
            return await ask(self._inner, query)
        from wellread.ranking.evaluator import follower

        said: list[Hits] = []

        async def asked(text: str, limit: int) -> Sequence[Hit]:
            said.append(Hits.all_of(await ask(self._inner, replace(query, text=text, limit=limit))))
            return said[-1]

        following = Following(query.text, asked, self._inner)
        tracker = follower(self._kit, query.language)
        most = 0 if query.pairs is None and self._by_effort else query.pairs
        if tracker is None or (most is not None and most < tracker.plan.pairs):
            return _together(await following.by_scores(query.limit), said)
        first = following.remember(await asked(query.text, max(query.limit, tracker.plan.singles)))
        trail = await tracker.trail(query.text, first, following.candidates)
        ranked = [replace(following.met[passage.id], score=score) for passage, score in trail.passages[: query.limit]]
        return _together(ranked, said, trail.pairs)


def _together(hits: Sequence[Hit], said: Sequence[Hits], pairs: int = 0) -> Hits:
    """The hits, with what went wrong in all searches and what they cost."""
    failures = dict.fromkeys(why for one in said for why in one.failures)
    unreachable = {name: why for one in said for name, why in one.unreachable.items()}
    return Hits(tuple(hits), tuple(failures), pairs + sum(one.pairs for one in said), unreachable)


class Following:
    """The second step, for whoever takes one: what passages lead to is asked for by `ask`, and looked up in `source` by title."""

    def __init__(self, question: str, ask: Ask, source: Source) -> None:
        self._question, self._ask, self._source = question, ask, source
        self.met: dict[str, Hit] = {}  # everything that was found on the way

    def remember(self, hits: Sequence[Hit]) -> list[Passage]:
        """The hits as passages, the same hit always as the same passage."""
        return [self.met.setdefault(hit.id, hit).passage() for hit in hits if hit.words.strip()]

    async def candidates(self, chains: Sequence[Chain]) -> list[list[list[Passage]]]:
        """Candidates for the next hop after each chain: what its last passage refers to, and what is found together with it."""
        return list(await asyncio.gather(*(self._after(chain[-1]) for chain in chains)))

    async def by_scores(self, limit: int) -> list[Hit]:
        """Both steps without the evaluator: what a passage is worth in the second adds to what it is in the first."""
        depth = max(limit, _DEPTH)
        first = await self._scored(self._question, depth)
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
        best = sorted(total, key=lambda key: (-total[key], key not in leads[:1]))[:limit]
        return [replace(self.met[key], score=total[key]) for key in best]

    async def _after(self, last: Passage) -> list[list[Passage]]:
        references = self.remember(await linked(self._source, last))
        return [mentioned(references, last), self.remember(await self._ask(second_query(self._question, last), AFTER))]

    async def _after_lead(self, lead: str, depth: int) -> tuple[dict[str, float], set[str]]:
        passage = self.met[lead].passage()
        references = {one.id for one in self.remember(await linked(self._source, passage))}
        return await self._scored(second_query(self._question, passage), depth), references

    async def _scored(self, text: str, depth: int) -> dict[str, float]:
        """Scores by id, best first. Services have scales of their own, or none: then places count."""
        found = await self._ask(text, depth)
        self.remember(found)
        most = max((hit.score for hit in found), default=0.0)
        scores = {hit.id: hit.score / max(1.0, most) if most else 1 / (place + 1) for place, hit in enumerate(found)}
        return {key: score for key, score in scores.items() if key in self.met}


async def linked(source: Source, passage: Passage) -> list[Hit]:
    """Hits that a passage's cross-references lead to, and documents whose titles it names; none where no titles are known."""
    return [hit for title in (*passage.links, passage.text) for hit in await source.find_title(title)]


def second_query(question: str, passage: Passage) -> str:
    """The question with what a passage says first: finds what the passage leads to."""
    return f"{question} {passage.title} {passage.text[:_LEAD]}"


def mentioned(references: Sequence[Passage], passage: Passage) -> list[Passage]:
    """References in the order in which the passage names them."""
    text = passage.text.casefold()
    places = {one.title: text.find(bare_title(one.title).casefold()) for one in references}
    return sorted(references, key=lambda one: (places[one.title] < 0, places[one.title]))
