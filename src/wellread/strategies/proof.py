"""Self-check (LLM as a judge) of a finished answer, which the model reads once more beside the passages that it cites: one call,
where there is something to ask.

At normal effort it is asked about the sentences that the program's own check is not sure of, at high effort about all that
passed as well, and at both about marked inferences. What the check is sure is not carried stays marked whatever the model says.
Among the sentences stand some for control: words of a passage, and two sentences of passages in which a number or a name was
changed. A model that takes the one for the other cannot tell, or was talked into something, and is not listened to. Nobody who
writes a passage knows what these sentences will be, nor by which numbers sentences are called: both are drawn anew each time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellread.citations.check import concludes
from wellread.citations.verdicts import Read
from wellread.errors import BadOutput, BudgetExhausted, ModelError
from wellread.events import Decided, Notice
from wellread.models.structured import numbers
from wellread.prompts.render import render
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import calls, context
from wellread.text.sentences import sentences as split
from wellread.types import Passage, Sentence

Line = tuple[int, str]  # an index, or what a control is, and the words
_NOT_CARRIED = numbers("not_carried")
_MOST = 32  # sentences
_LEAST, _LOOKED_AT = 30, 400  # characters of words for control, and in which they are looked for
_CONTROLS = 300  # tokens for all of them
_TRUE, _CHANGED = -1, -2  # in place of a sentence's index
_NEAR_MISSES = 2  # sentences in which something was changed
_BEGINS, _GOES_ON = ("Bar", "Ced", "Dol", "Fen", "Har", "Kor", "Lum", "Mar", "Ost", "Per", "Rav", "Tor"), ("a", "e", "i", "o")
_ENDS = ("bin", "dell", "gren", "kov", "lund", "mont", "nik", "quist", "rick", "stad", "ton", "veld")
_DID = ("wrote a book on {}", "gave a talk on {}", "paid for a study of {}", "had doubts about {}", "asked a court about {}")
_NUMBER = re.compile(
    r"\b(?:in|of|on|by|is|was|has|had|and|the) ([1-9]\d{1,5})\b(?![.,:/–+-]?\d|[+–]| (?:or|to|at)\b)"
)  # no bound
_NAME = re.compile(r"[a-z,] ([A-Z][a-z]{3,})\b")
_WORD = re.compile(r"\b[a-z]{6,}\b")


async def proofread(run: Run, read: Sequence[Read], model: Model) -> list[Sentence]:
    """The sentences of an answer with the verdicts that the model's reading leaves; as they are where it cannot be asked."""
    sentences, asked = [one.sentence for one in read], _asked_about(run, read)
    if run.kit.effort == "low" or run.spent or not asked:
        return sentences
    try:
        carried = await _carried(run, list(asked.values()), model)
    except (ModelError, BudgetExhausted) as problem:
        run.emit(Notice(f"the answer was not read a second time: {problem}"))
        return sentences
    faults = list(carried.values()).count(False)
    why = f"{faults} of {len(carried)} sentences are not carried" if faults else "every sentence asked about is carried"
    run.emit(Decided("read the answer again", why))
    for index, (place, sentence) in enumerate(asked.items()):
        if index in carried:
            sentences[place] = sentence if carried[index] else replace(sentences[place], verdict="not carried")
    return sentences


def _asked_about(run: Run, read: Sequence[Read]) -> dict[int, Sentence]:
    """Sentences by their place, as they are when they are carried."""
    found: dict[int, Sentence] = {}
    for place, one in enumerate(read):
        sentence, unsure = one.sentence, one.otherwise
        if sentence.verdict == "carried" and (unsure or run.kit.effort == "high" or concludes(sentence.text)):
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
    lot = random.Random("\n".join((run.marker, *(one.text for one in sentences))))
    material = {number: passage for number, passage in cited.items() if number in shown}
    lines = _with_controls(lot, {index: sentences[index].text for index in asked}, material)
    called = dict(zip(lot.sample(range(100, 1000), len(lines)), lines, strict=True))
    sheet = context.fence(run, "\n".join(f"{number}. {' '.join(line.split())}" for number, (_, line) in called.items()))
    text = render("proof", **frame, passages="\n\n".join(blocks), sentences=sheet)
    found = await calls.data(run, text, _NOT_CARRIED, role="proof", model=model, temperature=0.0, max_tokens=reply)
    if wrong := _wrong(found, called):
        raise BadOutput(model.name, f"it {wrong}")
    marked = {called[number][0] for number in found}
    return {index: index not in marked for index in asked}


def _wrong(found: Sequence[int], called: Mapping[int, Line]) -> str | None:
    """A sign that a model did not read, or did as somebody told it; None where there is none."""
    if not called.keys() >= set(found):
        return "finds fault with sentences that it was not asked about"
    marked = {called[number][0] for number in found}
    if _TRUE in marked:
        return "finds fault with the words of a passage"
    passed = any(index == _CHANGED and number not in found for number, (index, _) in called.items())
    return "lets pass what was made up" if passed else None


def _with_controls(lot: random.Random, texts: Mapping[int, str], material: Mapping[int, Passage]) -> list[Line]:
    """The sentences with their indices, and those for control somewhere among them: near misses, as far as there are."""
    number, passage = lot.choice(list(material.items()))
    words = min(_whole(passage), key=len, default=passage.text[:_LOOKED_AT])
    controls = [(_TRUE, f"{words} [{number}]"), *_changed(lot, material)]
    if len(controls) <= _NEAR_MISSES:
        about = lot.choice(_WORD.findall(passage.text[:_LOOKED_AT]) or ["this"])
        made_up = f"{_name(lot)} {_name(lot)} {lot.choice(_DID).format(about)} in {_name(lot)} in {lot.randint(1861, 1938)}."
        controls.append((_CHANGED, f"{made_up} [{number}]"))
    lines = list(texts.items())
    for control in controls:
        lines.insert(lot.randint(0, len(lines)), control)
    return lines


def _name(lot: random.Random) -> str:
    return lot.choice(_BEGINS) + lot.choice(_GOES_ON) + lot.choice(_ENDS)


def _changed(lot: random.Random, material: Mapping[int, Passage]) -> list[Line]:
    """Sentences of passages with another number, or another name, than they have; none where there is neither."""
    said = "\n".join(passage.text for passage in material.values())
    places = [
        (number, sentence, place)
        for number, passage in material.items()
        for sentence in _whole(passage)
        for place in list(_NUMBER.finditer(sentence)) or list(_NAME.finditer(sentence))
    ]
    found: dict[str, Line] = {}
    for number, sentence, place in lot.sample(places, len(places)):
        other = str(_another(lot, int(place[1]))) if place[1].isdigit() else _name(lot)
        if other not in said and len(found) < _NEAR_MISSES:
            found[sentence] = (_CHANGED, f"{sentence[: place.start(1)]}{other}{sentence[place.end(1) :]} [{number}]")
    return list(found.values())


def _another(lot: random.Random, given: int) -> int:
    """A number that nobody takes for this one, rounded or not; of a year, a year."""
    least, most = (3, 60) if 1000 <= given <= 2100 else (given // 4 + 3, given // 2 + 6)
    away = lot.randint(least, most)
    return given - away if given > away and lot.random() < 0.5 else given + away


def _whole(passage: Passage) -> list[str]:
    """The sentences at the beginning of a passage."""
    beginning = passage.text[:_LOOKED_AT]
    whole = [one for start, end in split(beginning) if (one := beginning[start:end]).endswith((".", "!", "?", "。"))]
    return [one for one in whole if len(one) >= _LEAST]


def _space(run: Run, model: Model, bare: str, reply: int) -> int | None:
    """Tokens for passages: what window and budget leave beside sentences, frame and reply."""
    left = run.budget.tokens_left()
    limits = [one for one in (context.room(model, [], reply), None if left is None else left - reply) if one is not None]
    return min(limits) - model.count_tokens(bare) - _CONTROLS if limits else None
