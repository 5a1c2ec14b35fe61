"""The small evaluator as a second reader of an answer: what it reads in the passages must be what the sentences say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from wellread.protocols import AnswerReader
from wellread.text.cloze import clozes, title_words
from wellread.types import Sentence

_MOST = 32  # pairs that are read to check an answer


async def reread(
    sentences: Sequence[Sentence], reader_of: Callable[[], AnswerReader | None], pairs: int
) -> tuple[Sequence[Sentence], int]:
    """The sentences, those contradicted no longer carried, and how many pairs were read; at most `pairs` are. The reader is
    asked for only where there is something to read."""
    pairs = min(_MOST, pairs)
    reader = reader_of() if pairs and any(map(clozes, sentences)) else None
    if reader is None:
        return sentences, 0
    judged: list[Sentence] = []
    used = 0
    for sentence in sentences:
        passages = list({one.number: one.passage for one in sentence.citations}.values())
        titles = title_words(passages)
        for cloze in clozes(sentence):
            if used + len(passages) > pairs:
                break
            used += len(passages)
            found = await reader.read(cloze.question, passages)
            if found and cloze.contradicted(found[0], titles):
                sentence = replace(sentence, verdict="not carried")
                break
        judged.append(sentence)
    return judged, used
