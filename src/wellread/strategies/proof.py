"""A finished answer read once more by the model, beside the passages that it cites: at high effort, one call.

It can only find fault. A sentence that the program's own check marked stays marked whatever the model says, so that nothing
in a passage can talk its way to a citation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wellread.errors import BudgetExhausted, ModelError
from wellread.events import Decided, Notice
from wellread.models.structured import numbers
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import calls, context
from wellread.types import Answer, Sentence

_NOT_CARRIED = numbers("not_carried")
_MOST = 32  # sentences


async def proofread(run: Run, answer: Answer, model: Model) -> Answer:
    """The answer with what the model finds fault with marked. Where it cannot be asked, the answer as it is."""
    doubtable = [place for place, one in enumerate(answer.sentences) if one.verdict == "carried" and one.citations][:_MOST]
    if run.kit.effort != "high" or run.spent or not doubtable:
        return answer
    try:
        faults = await _faults(run, [answer.sentences[place] for place in doubtable], model)
    except (ModelError, BudgetExhausted) as problem:
        run.emit(Notice(f"the answer was not read a second time: {problem}"))
        return _paid(run, answer)
    marked = {doubtable[index] for index in faults}
    why = f"{len(marked)} of {len(doubtable)} sentences are not carried" if marked else "every sentence is carried"
    run.emit(Decided("read the answer again", why))
    sentences = [
        replace(one, verdict="not carried") if place in marked else one for place, one in enumerate(answer.sentences)
    ]  # fmt: skip
    return _paid(run, replace(answer, sentences=tuple(sentences)))


async def _faults(run: Run, sentences: Sequence[Sentence], model: Model) -> set[int]:
    """Which of the sentences are not carried, by index."""
    cited = {one.number: one.passage for sentence in sentences for one in sentence.citations}
    frame = {"today": run.today, "foreign": context.foreign(run)}
    told = [f"{number}. {' '.join(one.text.split())}" for number, one in enumerate(sentences, 1)]
    bare = render("proof", **frame, passages="", sentences=context.fence(run, "\n".join(told)))
    reply = 40 + 6 * len(sentences)
    room = context.room(model, [], reply)
    left = run.budget.tokens_left()
    limits = [one for one in (room, None if left is None else left - reply) if one is not None]
    space = min(limits) - model.count_tokens(bare) if limits else None
    blocks = context.fitting(run, model, [context.numbered(run, *one) for one in cited.items()], space)
    shown = set(list(cited)[: len(blocks)])
    asked = [index for index, one in enumerate(sentences) if shown.issuperset(each.number for each in one.citations)]
    if not asked:
        raise BudgetExhausted("tokens")
    sheet = context.fence(run, "\n".join(told[index] for index in asked))
    text = render("proof", **frame, passages="\n\n".join(blocks), sentences=sheet)
    found = await calls.data(run, text, _NOT_CARRIED, role="proof", model=model, temperature=0.0, max_tokens=reply)
    return {number - 1 for number in found} & set(asked)


def _paid(run: Run, answer: Answer) -> Answer:
    return replace(answer, usage=run.budget.usage, seconds=run.budget.seconds)
