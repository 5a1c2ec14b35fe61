"""quote: answers without a language model, in the sources' own words.

    search the question (of a two-part question, its first part)
    take apart what was found into sentences; the one that covers the question best is the first
    if something of the question is still open, follow one cross-reference from there:
        the sentence of a linked or co-found document that covers most of the rest is the second
    quote them verbatim with their numbers, or say that nothing fits

It follows no published recipe: it is what makes the first minute work offline and without a key.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from wellread.events import AnswerDelta, Answered, Decided, Event, Ranked
from wellread.parameters import param
from wellread.run import Run
from wellread.strategies import evidence
from wellread.strategies.evidence import Asked, Candidate
from wellread.types import Effort, Passage

if TYPE_CHECKING:
    from wellread.strategies.trail import Tracker

_PARTS = re.compile(
    r",?\s+and\s+(?=(?:(?:in|on|at|for|by|of) )?(?:who|whom|whose|what|when|where|which|how|why)\b)", re.IGNORECASE
)
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
# Sentences compared by meaning, by effort: the rest have too few words in common. Each costs about 20 ms.
_EMBEDDED: Mapping[Effort, int] = {"low": 4, "normal": 10, "high": 20}
_BEHIND = 0.3


@dataclass(frozen=True, slots=True)
class QuoteParams:
    """What `--param` can set."""

    results: int = param(8, "passages looked at")
    max_sentences: int = param(3, "sentences quoted at most")
    min_confidence: float = param(0.5, "below this it says that nothing fits")
    follow: bool = param(True, "follow a cross-reference when the question needs a second step")

    def __post_init__(self) -> None:
        if self.results < 1 or self.max_sentences < 1:
            raise ValueError("results and max_sentences must be at least 1")


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with how well it fits."""

    candidate: Candidate
    score: float
    confidence: float = 0.0


class Quote:
    name: ClassVar[str] = "quote"
    summary: ClassVar[str] = "Quote the sentences that answer, with their sources; needs no language model."
    needs_model: ClassVar[bool] = False
    Params: ClassVar[type[QuoteParams]] = QuoteParams

    def __init__(self, params: QuoteParams) -> None:
        self.params = params

    async def stream(self, run: Run) -> AsyncIterator[Event]:
        """With the evaluator where the effort allows it, else by words and meaning alone."""
        tracker = run.kit.answer_reader() if run.kit.effort != "low" else None
        if tracker is None:
            steps = self._by_words(run)
        else:
            from wellread.strategies.trail import Tracker

            steps = self._by_reading(run, tracker) if isinstance(tracker, Tracker) else self._by_words(run)
        async for event in steps:
            yield event

    async def _by_reading(self, run: Run, tracker: Tracker) -> AsyncIterator[Event]:
        """Search, follow paths, read the answer, quote what carries it."""
        from wellread.strategies import trail

        found = await self._search(run, run.question, tracker.plan.singles)
        if not found:
            yield Answered(run.answer("", outcome="unsure", reason="nothing was found"))
            return
        path = await trail.follow(run, tracker, found)
        kept = path.passages[: self.params.results]
        yield Ranked(
            "evaluator", tuple(p.id for p, _ in kept), tuple(round(s, 4) for _, s in kept), len(path.passages) - len(kept)
        )
        best = path.answers[0] if path.answers else None
        if best is None or best.confidence < self.params.min_confidence:
            sure = f", {best.confidence:.0%} sure" if best else ""
            why = f"nothing found answers the question (best match: {kept[0][0].title}{sure})"
            yield Answered(run.answer("", outcome="unsure", reason=why, confidence=best.confidence if best else 0.0))
            return
        yield Decided(f"answer: {best.text}", " → ".join(passage.title for passage in best.chain))
        text = _quoted(run, trail.carrying(run, best)[: self.params.max_sentences])
        yield AnswerDelta(text)
        yield Answered(run.answer(text, short=best.text, confidence=best.confidence))

    async def _by_words(self, run: Run) -> AsyncIterator[Event]:
        """Search, choose, follow a cross-reference, quote."""
        parts = _PARTS.split(run.question, maxsplit=1)
        found = await self._search(run, parts[0])
        if not found:
            yield Answered(run.answer("", outcome="unsure", reason="nothing was found"))
            return
        question = evidence.asked(parts[0], found)
        ranked = await self._rank(run, question, evidence.candidates(found))
        yield _ranking(ranked)
        best = ranked[0]
        if best.confidence < self.params.min_confidence:
            why = f"nothing found fits the question (best match: {best.candidate.passage.title}, {best.confidence:.0%} sure)"
            yield Answered(run.answer("", outcome="unsure", reason=why, confidence=best.confidence))
            return
        chosen = [best.candidate]
        if self.params.follow and self.params.max_sentences > 1:
            chosen += await self._follow(run, best.candidate, found, parts)
            yield Decided("two steps" if len(chosen) > 1 else "one step")
        if len(chosen) == 1:
            chosen += _close_second(ranked)
        text = _quoted(run, chosen[: self.params.max_sentences])
        yield AnswerDelta(text)
        yield Answered(run.answer(text, confidence=best.confidence))

    async def _search(self, run: Run, text: str, limit: int = 0) -> list[Passage]:
        hits = await run.search(text, limit=max(limit, self.params.results))
        return [Passage.of(hit) for hit in hits if (hit.text or hit.snippet).strip()]

    async def _rank(self, run: Run, question: Asked, sentences: Sequence[Candidate]) -> list[Scored]:
        """The sentences by words; the best of them again by words and meaning, best first."""
        most = _EMBEDDED[run.kit.effort]
        words = sorted(((_by_words(question, one), one) for one in sentences), key=lambda pair: -pair[0])[:most]
        if run.kit.effort == "low":  # so far behind in words, meaning hardly ever makes up for it
            words = [pair for pair in words if pair[0] > words[0][0] - _BEHIND]
        embedder = run.kit.embedder()
        asked = await run.timed(embedder.embed([question.text], kind="query"))
        texts = [f"{evidence.bare_title(one.passage.title)}: {one.text}" for _, one in words]
        meanings = (await run.timed(embedder.embed(texts, kind="passage"))) @ asked[0]
        scored = [
            Scored(one, score + 2 * float(meaning), _confidence(question, one, float(meaning)))
            for (score, one), meaning in zip(words, meanings, strict=True)
        ]
        return sorted(scored, key=lambda one: -one.score)

    async def _follow(self, run: Run, first: Candidate, found: Sequence[Passage], parts: Sequence[str]) -> list[Candidate]:
        """The sentence that answers what the first leaves open; none when nothing is open."""
        more = await self._search(run, run.question) if len(parts) > 1 else []
        pool = {passage.id: passage for passage in (*found, *more)}
        for passage in await evidence.linked(run, first.passage):
            pool.setdefault(passage.id, passage)
        question = evidence.asked(parts[-1], list(pool.values()))
        open_before = 0.0 if len(parts) > 1 else question.coverage(evidence.keys_of(first))
        ranked = sorted(
            (
                (*_second_step(question, first, one, open_before), one)
                for one in evidence.candidates(list(pool.values()))
                if (one.passage.id, one.start) != (first.passage.id, first.start)
            ),
            key=lambda row: -row[0],
        )
        if not ranked or not _needed(parts, ranked[0][1], open_before):
            return []
        return [ranked[0][2]]


def _by_words(question: Asked, one: Candidate) -> float:
    return question.coverage(evidence.keys_of(one)) + 0.2 * evidence.holds_wanted(question, one) - 0.03 * one.rank


def _second_step(question: Asked, first: Candidate, one: Candidate, open_before: float) -> tuple[float, float]:
    """How well a sentence continues the first: what it adds, and whether one leads to the other."""
    title, came_from = evidence.bare_title(one.passage.title).casefold(), evidence.bare_title(first.passage.title).casefold()
    gain = question.coverage(evidence.keys_of(first) | evidence.keys_of(one)) - open_before
    score = gain + 0.2 * evidence.holds_wanted(question, one) + 0.1 * (came_from in one.text.casefold())
    if one.passage.title == first.passage.title:
        return score - 0.1, gain
    if title in first.text.casefold():  # the first sentence names what the second is about
        return score + 0.4, gain
    if title in question.text.casefold():  # the other side of a comparison
        return score + 0.4, gain
    return score - (0.0 if title in first.passage.text.casefold() else 0.2), gain


def _needed(parts: Sequence[str], gain: float, covered: float) -> bool:
    """Whether the question has a second step: it says so, or much of it is still open and can be covered."""
    return len(parts) > 1 or _CHOICE.search(parts[0]) is not None or (covered < 0.8 and gain >= 0.05)


def _confidence(question: Asked, one: Candidate, meaning: float) -> float:
    """How sure it is that the sentence answers: a logistic fit on the shipped questions (docs/log.md)."""
    covered = question.coverage(evidence.read(f"{one.passage.title}. {one.passage.text}").content)
    logit = 3.1 * covered + 15.5 * meaning - 11.3
    return 1 / (1 + math.exp(-logit))


def _close_second(ranked: Sequence[Scored]) -> list[Candidate]:
    """A runner-up that fits nearly as well is quoted too."""
    return [one.candidate for one in ranked[1:2] if ranked[0].score - one.score < 0.15]


def _quoted(run: Run, chosen: Sequence[Candidate]) -> str:
    return " ".join(f"{' '.join(one.text.split())} [{run.number(one.passage)}]" for one in chosen)


def _ranking(ranked: Sequence[Scored]) -> Ranked:
    ids = tuple(f"{one.candidate.passage.id}@{one.candidate.start}" for one in ranked)
    return Ranked("words and meaning", ids, tuple(round(one.score, 4) for one in ranked))
