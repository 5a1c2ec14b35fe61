"""How every run ends: with its strategy's answer, or with quotations where a limit or a broken model leaves it none."""

from __future__ import annotations

from wellread.errors import ModelError
from wellread.events import AnswerDelta, Event, Notice
from wellread.run import Run, Strategy
from wellread.types import Answer


async def concluded(strategy: Strategy, run: Run, broken: ModelError | None = None) -> Answer:
    """The strategy's answer. One that a limit or its model left without words is quoted from what was found, and says so.

    A model that is known to be `broken` is not asked.
    """
    told, tell, answer, run.broken = list[str](), run.emit, None, broken

    def hear(event: Event) -> None:  # what was shown already: what comes after can only be added
        if isinstance(event, AnswerDelta):
            told.append(event.text)
        tell(event)

    run.emit = hear
    try:
        with run.until_spent():
            answer = await strategy.answer(run) if broken is None or strategy.needs_model == "optional" else None
    except ModelError as problem:
        run.broken = problem
    if run.broken:
        run.model_name = run.model_name if told and broken is None else None  # it has written nothing of what comes
        run.emit(Notice(f"the model failed, so the answer is quoted: {run.broken}"))
        run.notes.append(f"the model failed, so this is quoted: {run.broken}")
    if answer and (answer.text or not run.spent):
        return answer
    if not told and (run.broken or not run.found):
        from wellread.strategies.quote import Quote, QuoteParams  # which needs no model

        with run.until_spent():
            answer = await Quote(QuoteParams()).answer(run)
    if answer is None or (not answer.text and run.spent):
        from wellread.strategies.compose import Draft, cut_short

        draft = Draft(run)
        draft.text = "".join(told)
        answer = await cut_short(run, draft)
    return answer
