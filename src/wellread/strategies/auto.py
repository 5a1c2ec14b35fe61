"""`auto`: the cheapest step that is sure enough.

    read the answer with the small evaluator, as quote does; sure enough: say it, no model is called
        with polish: one small call puts its quotes into sentences; they stay as they are where that fails the check
    else answer in one call from the chain that was found, as guided does; its sentences stream as far as the check carries them
        complete and carried: that is it; some not carried: one call mends these
        declined, and nothing found speaks of what was asked: stop, and say so
    else search once for what it says is missing, and ask once more; if that leads to no other name: stop
    else go on as react, from the passages that are there

It follows no published recipe. Each step says why it was taken. `sure` steers how much is left to the small model:
1 leaves it nothing. Without a language model the engine runs `quote` in its place.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, fields

from wellread.citations.check import check
from wellread.errors import BudgetExhausted, ModelError
from wellread.events import AnswerDelta, Decided, Event
from wellread.parameters import Share, param
from wellread.prompts.render import render
from wellread.questions.mentions import names
from wellread.run import Run
from wellread.strategies import calls, context, lookup, relevance, trail
from wellread.strategies.attribution import attributed
from wellread.strategies.compose import unsure
from wellread.strategies.guided import Guided, GuidedParams, chained
from wellread.strategies.proof import proofread
from wellread.strategies.quote import Quote, QuoteParams, Reading
from wellread.strategies.react import React, ReactParams
from wellread.strategies.recipe import AnsweringRoles, Recipe, Roles, stand_alone
from wellread.text.sentences import paragraphs
from wellread.text.words import read
from wellread.types import Answer, Passage

_REPLY = 200  # tokens of a small call
_MORE = 3  # passages of the search for what is missing
_SAME = 0.8  # of the words of two texts that ask the same
_TURNS = 3  # of react: two searches were made before


@dataclass(frozen=True, slots=True)
class AutoParams(GuidedParams):
    sure: Share = param(0.85, "from this confidence on the small model's own answer is given; 1: never")
    polish: bool = param(False, "put that answer's quotes into sentences, with one small call")


class Auto(Recipe[AutoParams]):
    """The cheapest step that is sure enough: quote, then one model call, then a search with the model."""

    async def answer(self, run: Run) -> Answer:
        question, found, sure = run.question, list[Passage](), False
        with run.until_spent():
            question = await stand_alone(run, self.params)
            quote = Quote(QuoteParams(min_confidence=self.params.sure))
            if follower := trail.follower(run):
                reached = await quote.reach(run, follower[0], question)
                found = [
                    passage for one in reached.way for passage in chained(one.trail, self.params.passages, self.params.least)
                ]
                sure = reached.whole and reached.confidence >= self.params.sure < 1
                run.emit(Decided("quote" if sure else "ask the model", f"the small model is {reached.confidence:.0%} sure"))
                if sure:
                    return await self._quoted(run, quote, reached, question)
        return await self._with_model(run, question, found)

    async def _quoted(self, run: Run, quote: Quote, reached: Reading, question: str) -> Answer:
        told = _Told(run, streams=not self.params.polish)
        with told:
            answer = await quote.conclude(run, reached)
        polish = self.params.polish and answer.outcome == "answered"
        if polish and (better := await polished(run, question, answer, self.params)):
            told.release(better.text)
            return better
        told.release()
        return answer

    async def _with_model(self, run: Run, question: str, found: list[Passage]) -> Answer:
        """One call from what was found; whatever it lacks is mended, or searched for, and told behind what was told."""
        guided, told = Guided(self.params), _Told(run)
        with told:
            answer = await (guided.answer_from(run, question, found) if found else guided.answer(run))
        carried = [sentence.supported for sentence in answer.sentences]
        if answer.outcome == "answered" and any(carried):
            return answer if all(carried) and told.release() else await self._mended(run, answer, told)
        if answer.outcome not in ("unsure", "partial", "answered"):  # a limit has ended it
            told.release()
            return answer
        if answer.outcome == "partial":
            told.release()
        told.drop()
        if answer.outcome == "unsure" and (unknown := _unspoken(run, question)):
            run.emit(Decided("stop", f"nothing that was found speaks of {unknown}"))
            return await unsure(run, f"nothing that was found speaks of {unknown}", [question])
        if _narrows(question, answer):
            before, answer = answer, await self._asked_again(run, question, guided, answer, told)
            if answer is not before and answer.missing and not _new_names(question, before, answer):
                run.emit(Decided("stop", "a search for what is missing has led no further"))
                return answer
        if answer.outcome == "answered" and any(sentence.supported for sentence in answer.sentences):
            return answer
        run.emit(Decided("go on searching", answer.reason or f"it answers only a part: {'; '.join(answer.missing)}"))
        roles = {one.name: getattr(self.params, one.name) for one in fields(AnsweringRoles)}
        react = React(ReactParams(**roles, wikipedia=None, max_turns=_TURNS))
        return await self._behind(run, answer, told, react.go_on(run, _rest(question, answer, told)))

    async def _asked_again(self, run: Run, question: str, guided: Guided, answer: Answer, told: _Told) -> Answer:
        """One search for what is missing, and one call more from what that and the first have found."""
        lacking = "; ".join(answer.missing)
        run.emit(Decided("search for what is missing", lacking))
        known = {passage.id for passage in run.passages.values()}
        new: list[Passage] = []
        with run.until_spent():
            hits = await run.search(lacking, limit=self.params.passages)
            new = [passage for passage in trail.readable(hits) if passage.id not in known][:_MORE]
        if not new:
            return answer
        shown = [*run.passages.values(), *new]
        rest = _rest(question, answer, told)
        return await self._behind(run, answer, told, guided.answer_from(run, rest, shown, most=len(shown)))

    async def _behind(self, run: Run, before: Answer, told: _Told, going_on: Awaitable[Answer]) -> Answer:
        """Append the answer of one step more to what was told before; that by itself where nothing comes of it."""
        begun = told.text
        with told:
            further = await going_on
        if not begun:
            told.release()
            return further
        if told.text == begun or further.outcome == "unsure":
            told.drop()
            run.emit(Decided("answer a part", "searching on has found no more"))
            return before
        told.release()
        return await run.answer(told.text, missing=further.missing)

    async def _mended(self, run: Run, answer: Answer, told: _Told) -> Answer:
        """One call that puts what the passages say in the place of sentences that they do not carry; else the marks stay."""
        loose = sum(not sentence.supported for sentence in answer.sentences)
        run.emit(Decided("mend", f"{loose} of {len(answer.sentences)} sentences are not carried"))
        model, put = self.params.answerer(run), None
        shown, heat = answer.passages.values(), self.params.temperature
        try:
            put = await calls.mended(run, run.question, told.held, shown, model, heat, _REPLY)
        except (ModelError, BudgetExhausted) as problem:
            run.emit(Decided("leave the marks", str(problem)))
        if put is not None:
            said = (told.shown + put).rstrip()
            better = await run.answer(said, missing=answer.missing, proof=lambda sentences: proofread(run, sentences, model))
            if better.text and sum(not sentence.supported for sentence in better.sentences) < loose:
                told.release(better.text)
                return better
        told.release()
        return answer


class _Told:
    """Streams an answer sentence by sentence as far as the check carries it, and keeps the rest back until that is decided on."""

    def __init__(self, run: Run, *, streams: bool = True) -> None:
        self._run, self._emit, self._streams = run, run.emit, streams
        self.text = ""  # shown or not
        self._shown = 0
        self._block = 0  # where the block begins that was shown last: what comes changes nothing before it
        self._loose: tuple[str, int] | None = None  # a sentence that the passages, so many, do not carry
        self._behind = False  # whether the next words begin behind others

    @property
    def shown(self) -> str:
        return self.text[: self._shown]

    @property
    def held(self) -> str:
        return self.text[self._shown :]

    def __enter__(self) -> None:
        self._behind = bool(self.text)
        self._run.emit = self._hear

    def __exit__(self, *_: object) -> None:
        self._run.emit = self._emit

    def release(self, text: str | None = None) -> bool:
        """Show what was kept back, or another end of the text in its place."""
        self.text = self.text if text is None else text
        if self.held:
            self._emit(AnswerDelta(self.held))
        self._shown = len(self.text)
        return True

    def drop(self) -> None:
        self.text = self.shown

    def _hear(self, event: Event) -> None:
        if not isinstance(event, AnswerDelta):
            self._emit(event)
            return
        self.text += ("\n\n" if self._behind else "") + event.text
        self._behind = False
        blocks = paragraphs(self.text[self._block :]) if self._streams else []
        spans = [(self._block + start, self._block + end) for block in blocks for start, end in block]
        for start, end in spans[:-1]:  # the last may go on
            if end > self._shown and self.text[end:].lstrip()[:1] not in ("[", ""):
                asked = self.text[start:end], len(self._run.passages)
                if asked == self._loose or not all(one.supported for one in check(asked[0], self._run.passages)):
                    self._loose = asked
                    return
                self._emit(AnswerDelta(self.text[self._shown : end]))
                self._shown = end
        if "`" not in self.text and "~" not in self.text:  # else code may go on from any block
            self._block += max((block[0][0] for block in blocks if self._block + block[0][0] <= self._shown), default=0)


def _rest(question: str, answer: Answer, told: _Told) -> str:
    """The question; behind an answer to a part of it, what of it is still open."""
    return render("rest", question=question, missing="; ".join(answer.missing)) if told.text else question


def _narrows(question: str, answer: Answer) -> bool:
    """Whether what is missing is something else than the whole question again: a search for that finds the same."""
    lacking, asked = relevance.content(" ".join(answer.missing)), relevance.content(question)
    return bool(lacking) and len(lacking & asked) < _SAME * len(lacking | asked)


def _new_names(question: str, before: Answer, after: Answer) -> bool:
    """Whether what is missing now has a name that was missing from question and answer before: a step further."""
    known = names(question) + [name for row in before.missing for name in names(row)]
    return any(name not in known for row in after.missing for name in names(row))


def _unspoken(run: Run, question: str) -> str:
    """The names of a question where nothing that was found has one of them; else ""."""
    asked, nowhere = names(question), lookup.nowhere(run, question)
    return " or ".join(f"“{name}”" for name in nowhere) if nowhere and len(nowhere) == len(asked) else ""


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
    if quoted.short and not read(quoted.short).content.keys() <= read(answer.text).content.keys():  # in whatever order
        return _kept(run, f"the sentences do not say “{quoted.short}”")
    return answer


async def _written(run: Run, question: str, quoted: Answer, roles: Roles) -> str:
    model = roles.answerer(run)
    quotes = {(one.number, one.start): one for sentence in quoted.sentences for one in sentence.citations}
    blocks = [context.numbered(run, one.number, one.passage, one.quote) for one in quotes.values()]
    prompt = render("polish", foreign=context.foreign(run), quotes="\n\n".join(blocks), question=question)
    return await calls.words(run, prompt, role="polish", model=model, temperature=roles.temperature, max_tokens=_REPLY)


def _kept(run: Run, why: str) -> None:
    run.emit(Decided("keep the quotes", why))
