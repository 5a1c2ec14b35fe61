"""How every run ends: with its strategy's answer, or with quotations where a limit or a broken model leaves it none."""

from __future__ import annotations

from dataclasses import replace

from wellread.errors import ModelError
from wellread.events import AnswerDelta, Event, Notice
from wellread.run import Run, Strategy
from wellread.types import Answer


async def concluded(strategy: Strategy, run: Run, broken: ModelError | None = None) -> Answer:
    """The strategy's answer. One that a limit or its model left without words is quoted from what was found, and says so.

    A model that is known to be `broken` is not asked.
    """
    told, answer = _Told(run), None
    try:
        with run.until_spent():
            answer = await strategy.answer(run) if broken is None else None
    except ModelError as problem:
        broken = problem
    if broken:
        run.emit(Notice(f"the model failed, so the answer is quoted: {broken}"))
    if answer and (answer.text or not run.spent):
        return answer
    if not told.text and (broken or not run.found):
        answer = await _quoted(run)
    if answer is None or (not answer.text and run.spent):
        from wellread.strategies.compose import Draft, cut_short

        draft = Draft(run)
        draft.text = told.text
        answer = await cut_short(run, draft)
    return answer if broken is None else _with_note(answer, broken)


async def _quoted(run: Run) -> Answer | None:
    """What `quote` answers, which needs no model."""
    from wellread.strategies.quote import Quote, QuoteParams

    with run.until_spent():
        return await Quote(QuoteParams()).answer(run)
    return None


def _with_note(answer: Answer, problem: ModelError) -> Answer:
    if not answer.text:
        return replace(answer, outcome="failed", reason=str(problem))
    return replace(answer, notes=(f"the model failed, so this is quoted: {problem}", *answer.notes))


class _Told:
    """Hears the words of an answer that were shown already: what comes after them can only be added."""

    def __init__(self, run: Run) -> None:
        self.text, self._emit = "", run.emit
        run.emit = self._hear

    def _hear(self, event: Event) -> None:
        if isinstance(event, AnswerDelta):
            self.text += event.text
        self._emit(event)
