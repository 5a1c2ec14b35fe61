"""quote on "Which was released first, A or B?": the value of each side is read by itself, and a program compares them.

Where one side's value is not found, is not sure enough, or stands in a sentence about something else, nothing is decided here and
the question is read as any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from wellread.events import AnswerDelta, Decided
from wellread.questions import comparisons
from wellread.questions.comparisons import Comparison, Value
from wellread.run import Run
from wellread.strategies.likely_sentences import Candidate
from wellread.text.words import fold
from wellread.types import Answer

_NEARLY = 0.7  # of what is sure enough: a value of the right kind in a sentence that names its side speaks for itself
_LIFTED = 0.6  # how sure such a value makes at most what was less sure

Ask = Callable[[str], Awaitable[tuple[Candidate, str, float] | None]]  # a sentence, the words in it that answer, how sure that is


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: its value, the sentence it stands in, and how sure that is."""

    value: Value
    sentence: Candidate
    confidence: float


async def compare(
    run: Run, asked: Comparison, ask: Ask, quoted: Callable[[Sequence[Candidate]], str], least: float
) -> Answer | None:
    """The side that wins, the sentences that both values stand in, and the comparison; None where it cannot be decided so."""
    read: list[Side] = []
    for side in asked.sides:
        found = await ask(asked.question(side))
        sentence, words, sure = found or (None, "", 0.0)
        value = asked.value(side, words)
        if sentence is None or value is None or not _is_about(side, sentence) or sure < _NEARLY * least:
            return None
        read.append(Side(value, sentence, sure))
    values = (read[0].value, read[1].value)
    winner = comparisons.decide(asked, *values)
    if winner is None:
        return None
    told = comparisons.shown(asked, values, winner)
    run.emit(Decided(f"answer: {asked.sides[winner]}", told))
    text = quoted([read[winner].sentence, read[1 - winner].sentence])
    run.emit(AnswerDelta(text))
    weakest = min(one.confidence for one in read)
    sure = max(weakest, min(weakest / _NEARLY, _LIFTED))
    run.notes.append(told)
    return await run.answer(text, short=asked.sides[winner], confidence=sure)


def _is_about(side: str, sentence: Candidate) -> bool:
    """Whether the sentence, or the title it stands under, names the side."""
    said = {fold(word) for word in f"{sentence.passage.title} {sentence.text}".replace(",", " ").split()}
    wanted = [fold(word.strip("().,“”\"'")) for word in side.split() if word.lower() not in ("the", "a", "an")]
    return sum(word in said for word in wanted) >= 0.6 * len(wanted)
