"""The small evaluator as a second reader of an answer: what it reads in the passages must be what the sentences say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from wellread.protocols import AnswerReader, RivalReader
from wellread.text.cloze import DOUBTED, Cloze, clozes, title_words
from wellread.types import Passage, Rivals, Sentence

_MOST = 32  # pairs that are read to check an answer


async def reread(
    sentences: Sequence[Sentence], reader_of: Callable[[], AnswerReader | None], pairs: int
) -> tuple[Sequence[Sentence], int]:
    """The sentences, those doubted no longer carried, and how many pairs were read; at most `pairs` are. The reader is
    asked for only where there is something to read."""
    pairs = min(_MOST, pairs)
    reader = reader_of() if pairs and any(map(clozes, sentences)) else None
    if not isinstance(reader, RivalReader):
        return sentences, 0
    judged: list[Sentence] = []
    used = 0
    for sentence in sentences:
        passages = list({one.number: one.passage for one in sentence.citations}.values())
        for cloze in clozes(sentence):
            if used + len(passages) > pairs:
                break
            used += len(passages)
            if await doubt(cloze, passages, reader) >= DOUBTED:
                sentence = replace(sentence, verdict="not carried")
                break
        judged.append(sentence)
    return judged, used


async def doubt(cloze: Cloze, passages: Sequence[Passage], reader: RivalReader) -> float:
    """How much a reader doubts a name of a sentence: as much as with the passage where it doubts it least."""
    found = [await reader.rivals(cloze.question, passage, cloze.name) for passage in passages]
    return cloze.doubt(least_beaten(found), title_words(passages))


def least_beaten(found: Sequence[Rivals]) -> Rivals:
    return max(found, key=lambda one: one.own - one.other)
