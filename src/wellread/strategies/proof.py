"""A finished answer read once more by the model, beside the passages that it cites: one call, where there is something to ask.

At normal effort it is asked about the sentences that the program's own check is not sure of, at high effort about all that
passed as well. What the check is sure is not carried stays marked whatever the model says. Among the sentences stand two for
control: words of a passage, and a sentence that was made up. A model that takes the one for the other cannot tell, or was talked
into something, and is not listened to.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellread.errors import BadOutput, BudgetExhausted, ModelError
from wellread.events import Decided, Notice
from wellread.models.structured import numbers
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import calls, context
from wellread.text import verdicts
from wellread.text.sentences import sentences as split
from wellread.types import Answer, Passage, Sentence

_NOT_CARRIED = numbers("not_carried")
_MOST = 32  # sentences
_LEAST, _LOOKED_AT = 30, 400  # characters of words for control, and in which they are looked for
_CONTROLS = 200  # tokens for both
_TRUE, _MADE_UP = -1, -2  # in place of a sentence's number
_WHO = ("Ottoline Brandvold", "Casimir Threlkeld", "Philippa Oyelaran", "Bartholomew Quist")
_DID = ("translated all of this into Latin", "set these lines to music for two flutes", "read this aloud on a ferry")
_WHERE = ("near Ghent", "in Tromsø", "outside Valparaíso", "on Tasmania")


async def proofread(run: Run, answer: Answer, model: Model) -> Answer:
    """The answer with the verdicts that the model's reading leaves. Where it cannot be asked, the answer as it is."""
    asked = _asked_about(run, answer)
    if run.kit.effort == "low" or run.spent or not asked:
        return answer
    try:
        carried = await _carried(run, list(asked.values()), model)
    except (ModelError, BudgetExhausted) as problem:
        run.emit(Notice(f"the answer was not read a second time: {problem}"))
        return _paid(run, answer)
    faults = list(carried.values()).count(False)
    why = f"{faults} of {len(carried)} sentences are not carried" if faults else "every sentence asked about is carried"
    run.emit(Decided("read the answer again", why))
    sentences = list(answer.sentences)
    for index, (place, sentence) in enumerate(asked.items()):
        if index in carried:
            sentences[place] = sentence if carried[index] else replace(sentences[place], verdict="not carried")
    missing = verdicts.missing(sentences, answer.missing)
    outcome = verdicts.outcome(sentences, missing)
    return _paid(run, replace(answer, sentences=tuple(sentences), missing=missing, outcome=outcome))


def _asked_about(run: Run, answer: Answer) -> dict[int, Sentence]:
    """Sentences by their place, as they are when they are carried."""
    found: dict[int, Sentence] = {}
    for place, sentence in enumerate(answer.sentences):
        unsure = run.unsure.get(place)
        if sentence.verdict == "carried" and (unsure or run.kit.effort == "high"):
            found[place] = sentence
        elif unsure and unsure.verdict == "carried":
            found[place] = unsure
    return {place: sentence for place, sentence in list(found.items())[:_MOST] if sentence.citations}


async def _carried(run: Run, sentences: Sequence[Sentence], model: Model) -> dict[int, bool]:
    """By index whether the model finds a sentence carried, for those whose passages there is room to show."""
    frame = {"today": run.today, "foreign": context.foreign(run)}
    reply = 40 + 6 * len(sentences)
    bare = render("proof", **frame, passages="", sentences="\n".join(one.text for one in sentences))
    cited = {one.number: one.passage for sentence in sentences for one in sentence.citations}
    whole = [context.numbered(run, *one) for one in cited.items()]
    blocks = context.fitting(run, model, whole, _space(run, model, bare, reply))
    # of one that was cut, a sentence may stand on what is not there
    shown = {number for number, block, given in zip(cited, blocks, whole, strict=False) if block == given}
    asked = [index for index, one in enumerate(sentences) if shown.issuperset(each.number for each in one.citations)]
    if not asked:
        raise BudgetExhausted("tokens")
    lines = _with_controls(run, {index: sentences[index].text for index in asked}, cited)
    sheet = context.fence(run, "\n".join(f"{number}. {' '.join(line.split())}" for number, (_, line) in enumerate(lines, 1)))
    text = render("proof", **frame, passages="\n\n".join(blocks), sentences=sheet)
    found = await calls.data(run, text, _NOT_CARRIED, role="proof", model=model, temperature=0.0, max_tokens=reply)
    marked = {lines[number - 1][0] for number in found if 0 < number <= len(lines)}
    if _TRUE in marked or _MADE_UP not in marked:
        wrong = "finds fault with the words of a passage" if _TRUE in marked else "lets pass what was made up"
        raise BadOutput(model.name, f"it {wrong}")
    return {index: index not in marked for index in asked}


def _with_controls(run: Run, texts: Mapping[int, str], cited: Mapping[int, Passage]) -> list[tuple[int, str]]:
    """The sentences with their indices, and those for control somewhere among them."""
    number, passage = next(iter(cited.items()))
    lot = random.Random(run.marker)
    made_up = f"{lot.choice(_WHO)} {lot.choice(_DID)} {lot.choice(_WHERE)} in {lot.randint(1861, 1938)}. [{number}]"
    lines = list(texts.items())
    for control in ((_TRUE, _words(number, passage)), (_MADE_UP, made_up)):
        lines.insert(lot.randint(0, len(lines)), control)
    return lines


def _words(number: int, passage: Passage) -> str:
    """A short sentence of a passage."""
    beginning = passage.text[:_LOOKED_AT]
    whole = [one for start, end in split(beginning) if (one := beginning[start:end]).endswith((".", "!", "?", "。"))]
    return f"{min((one for one in whole if len(one) >= _LEAST), key=len, default=beginning)} [{number}]"


def _space(run: Run, model: Model, bare: str, reply: int) -> int | None:
    """Tokens for passages: what window and budget leave beside sentences, frame and reply."""
    left = run.budget.tokens_left()
    limits = [one for one in (context.room(model, [], reply), None if left is None else left - reply) if one is not None]
    return min(limits) - model.count_tokens(bare) - _CONTROLS if limits else None


def _paid(run: Run, answer: Answer) -> Answer:
    return replace(answer, usage=run.budget.usage, seconds=run.budget.seconds)
