"""Verdicts on the sentences of an answer: the rules', those of a closer reader (entailment), and what they make of the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from wellread.citations.check import Weighed, weighed
from wellread.citations.evidence import Evidence
from wellread.citations.missing import told
from wellread.core.values import frozen
from wellread.protocols import AnswerReader
from wellread.text.markers import strip_markers
from wellread.types import Outcome, Passage, Sentence

_SOMETHING = "a part of the question"
MOST = 32  # sentences of an answer that are read, whatever else was


def missing(sentences: Sequence[Sentence], said: Iterable[str]) -> tuple[str, ...]:
    """What an answer says is missing: in the form it was asked for, and in sentences, each once."""
    rows = [" ".join(row.split()) for row in said]
    for sentence in sentences:
        if sentence.verdict == "says what is missing":
            rows.append(strip_markers(sentence.text))
        elif sentence.verdict == "carried" and (said := told(strip_markers(sentence.text))).claim:
            rows.append(said.missing)  # "…, but the material does not say when"
    return tuple(dict.fromkeys(row.strip() for row in rows if re.search(r"\w", row)))


def judged(text: str, passages: Mapping[int, Passage], question: str, said: Iterable[str]) -> tuple[list[Weighed], list[str]]:
    """The sentences of an answer, and what it says is missing, as far as that says no more: a name or number that nobody has is
    no lack but a claim."""
    evidence = Evidence(passages, (), question)
    lacking = [row if not evidence.smuggles(row) else _SOMETHING for row in said if re.search(r"\w", row)]
    return weighed(text, passages, question), lacking


def outcome(sentences: Sequence[Sentence], lacking: Sequence[str]) -> Outcome:
    """`answered`; `partial` where something is missing; `unsure` where nothing else is said."""
    if not lacking:
        return "answered"
    says = any(sentence.verdict != "says what is missing" for sentence in sentences)
    return "partial" if says else "unsure"


@frozen
class Read:
    """A sentence with its verdict and, where the reader is not sure of that, the sentence with the other one."""

    sentence: Sentence
    otherwise: Sentence | None = None


async def reread(judged: Sequence[Weighed], reader_of: Callable[[], AnswerReader | None], most: int) -> tuple[list[Read], int]:
    """The sentences with their verdicts, and how many were read; at most `most` are. The reader is asked for only
    where there is something to read; where there is none, the rules' verdicts stand."""
    reader = reader_of() if most and any(one.claim for one in judged) else None
    if reader is None:
        return [Read(one.sentence) for one in judged], 0
    chosen = [(place, one.claim) for place, one in enumerate(judged) if one.claim is not None][:most]
    read = [Read(one.sentence) for one in judged]
    said = await reader.carries([claim for _, claim in chosen])
    for (place, _), judgement in zip(chosen, said, strict=False):  # nothing is said where it cannot tell
        carried = replace(judged[place].sentence, verdict="carried", citations=judged[place].citations)
        doubted = replace(judged[place].sentence, verdict="not carried")
        verdict, otherwise = (carried, doubted) if judgement.carried else (doubted, carried)
        read[place] = Read(verdict, None if judgement.sure else otherwise)
    return read, len(chosen)
