"""A finished answer read once more by the model, beside the passages that it cites: at high effort, one call.

It can only find fault. A sentence that the program's own check marked stays marked whatever the model says, so that nothing
in a passage can talk its way to a citation. Among the sentences stands one of a passage's own: a model that marks that one
cannot tell, and is not listened to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wellread.errors import BadOutput, BudgetExhausted, ModelError
from wellread.events import Decided, Notice
from wellread.models.structured import numbers
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import calls, context
from wellread.text.sentences import sentences as split
from wellread.types import Answer, Passage, Sentence

_NOT_CARRIED = numbers("not_carried")
_MOST = 32  # sentences
_LEAST, _LOOKED_AT = 30, 400  # characters of a sentence for control, and in which it is looked for
_CONTROL = 150  # tokens for it


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
    frame = {"today": run.today, "foreign": context.foreign(run)}
    reply = 40 + 6 * len(sentences)
    bare = render("proof", **frame, passages="", sentences="\n".join(one.text for one in sentences))
    cited = {one.number: one.passage for sentence in sentences for one in sentence.citations}
    blocks = [context.numbered(run, *one) for one in cited.items()]
    blocks = context.fitting(run, model, blocks, _space(run, model, bare, reply))
    shown = set(list(cited)[: len(blocks)])
    asked = [index for index, one in enumerate(sentences) if shown.issuperset(each.number for each in one.citations)]
    if not asked:
        raise BudgetExhausted("tokens")
    lines: list[tuple[str, int | None]] = [(sentences[index].text, index) for index in asked]
    lines.insert(len(lines) // 2, (_control(*next(iter(cited.items()))), None))
    sheet = context.fence(run, "\n".join(f"{number}. {' '.join(line.split())}" for number, (line, _) in enumerate(lines, 1)))
    text = render("proof", **frame, passages="\n\n".join(blocks), sentences=sheet)
    found = await calls.data(run, text, _NOT_CARRIED, role="proof", model=model, temperature=0.0, max_tokens=reply)
    marked = {lines[number - 1][1] for number in found if 0 < number <= len(lines)}
    if None in marked:
        raise BadOutput(model.name, "it finds fault with the words of a passage")
    return {index for index in marked if index is not None}


def _space(run: Run, model: Model, bare: str, reply: int) -> int | None:
    """Tokens for passages: what window and budget leave beside sentences, frame and reply."""
    left = run.budget.tokens_left()
    limits = [one for one in (context.room(model, [], reply), None if left is None else left - reply) if one is not None]
    return min(limits) - model.count_tokens(bare) - _CONTROL if limits else None


def _control(number: int, passage: Passage) -> str:
    """Words of a passage: a model that finds fault with these cannot tell."""
    whole = [passage.text[start:end] for start, end in split(passage.text[:_LOOKED_AT])]
    return f"{next((one for one in whole if len(one) >= _LEAST), passage.text[:_LOOKED_AT])} [{number}]"


def _paid(run: Run, answer: Answer) -> Answer:
    return replace(answer, usage=run.budget.usage, seconds=run.budget.seconds)
