"""quote with the evaluator: follow the question through passages, read the answer, quote what carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from wellread.ranking.answers import Best
from wellread.ranking.evaluator import Candidates, Trail
from wellread.ranking.judge import Chain
from wellread.ranking.paths import Plan
from wellread.run import Run
from wellread.sentences import sentences
from wellread.strategies import evidence
from wellread.strategies.evidence import Candidate
from wellread.types import Passage
from wellread.words import read

_LEAD = 300  # characters of a passage that join the question when what follows it is looked for
_AFTER = 12  # passages looked at after each chain


@runtime_checkable
class Tracker(Protocol):
    """An evaluator that searches along paths."""

    @property
    def plan(self) -> Plan: ...
    async def trail(self, question: str, ranked: Sequence[Passage], candidates: Candidates) -> Trail: ...


async def follow(run: Run, tracker: Tracker, found: Sequence[Passage]) -> Trail:
    """Search along paths from what was found; the pairs that were read show in the usage."""

    async def after(chain: Chain) -> list[list[Passage]]:
        last = chain[-1]
        references = await evidence.linked(run, last)
        hits = await run.search(f"{run.question} {last.title} {last.text[:_LEAD]}", limit=_AFTER)
        return [_mentioned(references, last), [Passage.of(hit) for hit in hits if (hit.text or hit.snippet).strip()]]

    async def candidates(chains: Sequence[Chain]) -> list[list[list[Passage]]]:
        return await run.gather([after(chain) for chain in chains])

    trail = await run.timed(tracker.trail(run.question, found, candidates))
    run.budget.pairs(trail.pairs)
    return trail


def _mentioned(references: Sequence[Passage], passage: Passage) -> list[Passage]:
    """References in the order in which the passage names them."""
    text = passage.text.casefold()
    places = {one.title: text.find(evidence.bare_title(one.title).casefold()) for one in references}
    return sorted(references, key=lambda one: (places[one.title] < 0, places[one.title]))


def carrying(run: Run, best: Best[Passage]) -> list[Candidate]:
    """The sentences that carry an answer: the one it stands in, and one of each passage that led there."""
    question = evidence.asked(run.question, best.chain)
    chosen: list[Candidate] = []
    for place, passage in enumerate(best.chain):
        every = evidence.candidates([passage])
        if not every:
            continue
        if place == best.verdict.passage and best.kind == "span" and best.verdict.end > best.verdict.start:
            chosen.append(_holding(passage, best.verdict.start, every))
        else:
            others = {title.casefold() for one in best.chain if one != passage for title in [evidence.bare_title(one.title)]}
            chosen.append(max(every, key=lambda one: _leading(question, one, others)))
    return chosen


def _holding(passage: Passage, start: int, every: Sequence[Candidate]) -> Candidate:
    for one in every:
        if one.start <= start < one.end:
            return one
    a, b = next((span for span in sentences(passage.text) if span[1] > start), (0, len(passage.text)))
    return Candidate(passage, a, b, read(passage.text[a:b]), 0)


def _leading(question: evidence.Asked, one: Candidate, others: set[str]) -> float:
    """How well a sentence shows the way: it covers the question and names where the chain goes on."""
    named = any(title in one.text.casefold() for title in others)
    return question.coverage(evidence.keys_of(one)) + 0.5 * named
