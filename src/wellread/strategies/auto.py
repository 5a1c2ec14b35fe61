"""`auto`: the cheapest step that is sure enough.

    read the answer with the small evaluator, as quote does; sure enough: say it, no model is called
        with polish: one small call puts its quotes into sentences; they stay as they are where that fails the check
    else answer in one call from the chain that was found, as guided does; complete and carried: that is it
    else go on as react, from what is already there

It follows no published recipe. Each step says why it was taken. `sure` steers how much is left to the small model:
1 leaves it nothing. Without a language model the engine runs `quote` in its place.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from wellread.errors import BudgetExhausted, ModelError
from wellread.events import AnswerDelta, Decided, Event
from wellread.parameters import Share, param
from wellread.prompts.render import render
from wellread.protocols import trained
from wellread.ranking.evaluator import Evaluator
from wellread.run import Run
from wellread.strategies import calls, context
from wellread.strategies.attribution import attributed
from wellread.strategies.guided import Guided, GuidedParams, chained
from wellread.strategies.quote import Quote, QuoteParams, Reading
from wellread.strategies.react import React, ReactParams
from wellread.strategies.recipe import Recipe, Roles, stand_alone
from wellread.text.words import read
from wellread.types import Answer, Passage


@dataclass(frozen=True, slots=True)
class AutoParams(GuidedParams):
    sure: Share = param(0.85, "from this confidence on the small model's own answer is given; 1: never")
    polish: bool = param(False, "put that answer's quotes into sentences, with one small call")


class Auto(Recipe[AutoParams]):
    """Quote where that is sure, else one call, else a search with the model."""

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "The cheapest step that is sure enough: quote, then one model call, then a search with the model."
    Params: ClassVar = AutoParams

    async def answer(self, run: Run) -> Answer:
        question, found, sure = run.question, list[Passage](), False
        with run.until_spent():
            question = await stand_alone(run, self.params)
            quote = Quote(QuoteParams(min_confidence=self.params.sure))
            tracker = trained(run.kit.answer_reader(), run.language)
            if isinstance(tracker, Evaluator) and tracker.plan.singles:
                reached = await quote.reach(run, tracker, question)
                found = [
                    passage for one in reached.way for passage in chained(one.trail, self.params.passages, self.params.least)
                ]
                sure = reached.whole and reached.confidence >= self.params.sure < 1
                run.emit(Decided("quote" if sure else "ask the model", f"the small model is {reached.confidence:.0%} sure"))
                if sure:
                    return await self._quoted(run, quote, reached, question)
        return await self._with_model(run, question, found)

    async def _quoted(self, run: Run, quote: Quote, reached: Reading, question: str) -> Answer:
        held = _Held(run)
        with held:
            answer = await quote.conclude(run, reached)
        polish = self.params.polish and answer.outcome == "answered"
        if polish and (better := await polished(run, question, answer, self.params)):
            run.emit(AnswerDelta(better.text))
            return better
        held.release()
        return answer

    async def _with_model(self, run: Run, question: str, found: list[Passage]) -> Answer:
        shared = {one.name: getattr(self.params, one.name) for one in fields(GuidedParams)}
        guided, held = Guided(GuidedParams(**shared)), _Held(run)
        with held:
            answer = await (guided.answer_from(run, question, found) if found else guided.answer(run))
        if why := _lacking(answer):
            run.emit(Decided("go on searching", why))
            roles = {name: shared[name] for name in ("temperature", "rewrite_model", "answer_model", "answer_tokens")}
            further = await React(ReactParams(**roles, wikipedia=None)).go_on(run, question)
            if not _is_worth_giving(answer) or further.outcome != "unsure" or further.text:
                return further
            run.emit(Decided("answer a part", "searching on has found no more"))
        held.release()
        return answer


class _Held:
    """Keeps the words of an answer back until it is known whether it will be given."""

    def __init__(self, run: Run) -> None:
        self._run, self._emit = run, run.emit
        self._words: list[AnswerDelta] = []

    def __enter__(self) -> None:
        self._run.emit = self._keep

    def __exit__(self, *_: object) -> None:
        self._run.emit = self._emit

    def release(self) -> None:
        for delta in self._words:
            self._emit(delta)

    def _keep(self, event: Event) -> None:
        if isinstance(event, AnswerDelta):
            self._words.append(event)
        else:
            self._emit(event)


def _is_worth_giving(answer: Answer) -> bool:
    """Whether a lacking answer is better than none: a part of it stands on what was found, and the rest is marked."""
    return answer.outcome == "partial" or any(
        sentence.verdict == "carried" and sentence.citations for sentence in answer.sentences
    )


def _lacking(answer: Answer) -> str:
    """What an answer lacks for which it is worth going on; "" for one that can be given, or that a budget has ended."""
    if answer.outcome == "unsure":
        return answer.reason or "the passages do not answer it"
    if answer.outcome == "partial":
        return f"it answers only a part: {'; '.join(answer.missing)}"
    loose = sum(not sentence.supported for sentence in answer.sentences)
    if answer.outcome == "answered" and loose:
        return f"{loose} of {len(answer.sentences)} sentences are not carried by what was found"
    return ""


_REPLY = 200  # tokens


async def polished(run: Run, question: str, quoted: Answer, roles: Roles) -> Answer | None:
    """The same answer in sentences of the model's; None, and why, where it fails or says what the quotes do not carry."""
    run.emit(Decided("polish", "one call puts the quotes into sentences"))
    try:
        text = await _written(run, question, quoted, roles)
    except (ModelError, BudgetExhausted) as problem:
        return _kept(run, str(problem))
    if not text:
        return _kept(run, "the model gave no words")
    numbered = attributed(text, {citation.number: citation.passage for citation in quoted.citations})
    answer = await run.answer(numbered, short=quoted.short, confidence=quoted.confidence, nearest=quoted.nearest)
    loose = sum(not sentence.supported for sentence in answer.sentences)
    if loose or answer.outcome != "answered":
        return _kept(run, f"{loose} of {len(answer.sentences)} sentences are not carried" if loose else "it does not answer")
    if quoted.short and not _says(answer.text, quoted.short):
        return _kept(run, f"the sentences do not say “{quoted.short}”")
    return answer


async def _written(run: Run, question: str, quoted: Answer, roles: Roles) -> str:
    model = roles.answerer(run)
    quotes = {(one.number, one.start): one for sentence in quoted.sentences for one in sentence.citations}
    blocks = [context.numbered(run, one.number, one.passage, one.quote) for one in quotes.values()]
    prompt = render("polish", foreign=context.foreign(run), quotes="\n\n".join(blocks), question=question)
    return await calls.words(run, prompt, role="polish", model=model, temperature=roles.temperature, max_tokens=_REPLY)


def _says(text: str, short: str) -> bool:
    """Whether it still holds what was read out of the quotes, in whatever order."""
    return read(short).content.keys() <= read(text).content.keys()


def _kept(run: Run, why: str) -> None:
    run.emit(Decided("keep the quotes", why))
