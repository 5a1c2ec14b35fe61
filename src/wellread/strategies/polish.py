"""Quotes put into words: one small call, and the quotes themselves where that goes wrong."""

from __future__ import annotations

from wellread.errors import BudgetExhausted, ModelError
from wellread.events import Decided
from wellread.prompts.render import render
from wellread.run import Run
from wellread.strategies import calls, context
from wellread.strategies.attribution import attributed
from wellread.strategies.roles import Roles
from wellread.text.words import read
from wellread.types import Answer

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
