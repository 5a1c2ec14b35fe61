"""A closer reader of an answer: of each sentence that the rules judged by signs, whether its passages carry it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wellread.citations.check import Signs, Weighed
from wellread.protocols import AnswerReader
from wellread.types import Passage, Sentence

MOST = 32  # sentences of an answer that are read, whatever else was


@dataclass(frozen=True, slots=True)
class Read:
    """A sentence with its verdict and, where the reader is not sure of that, the sentence with the other one."""

    sentence: Sentence
    otherwise: Sentence | None = None


async def reread(judged: Sequence[Weighed], reader_of: Callable[[], AnswerReader | None], most: int) -> tuple[list[Read], int]:
    """The sentences with their verdicts, and how many were read; at most `most` are. The reader is asked for only where there
    is something to read; where there is none, the rules' verdicts stand."""
    reader = reader_of() if most and any(one.signs for one in judged) else None
    if reader is None:
        return [Read(one.sentence) for one in judged], 0
    read: list[Read] = []
    used = 0
    for one in judged:
        if one.signs is None or used == most:
            read.append(Read(one.sentence))
            continue
        used += 1
        said = await reader.carries(one.signs.body, cited(one.signs), one.signs.share)
        if said is None:  # it cannot tell
            read.append(Read(one.sentence))
            continue
        carried = replace(one.sentence, verdict="carried", citations=one.signs.citations)
        doubted = replace(one.sentence, verdict="not carried")
        verdict, otherwise = (carried, doubted) if said.carried else (doubted, carried)
        read.append(Read(verdict, None if said.sure else otherwise))
    return read, used


def cited(signs: Signs) -> list[Passage]:
    """The passages, the one that holds most of the sentence first."""
    ranked = sorted(signs.citations, key=lambda one: -one.support)
    return list({one.number: one.passage for one in ranked}.values())
