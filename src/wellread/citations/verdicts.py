"""What the verdicts on its sentences make of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from wellread.citations.check import Weighed, weighed
from wellread.citations.evidence import Evidence
from wellread.citations.missing import told
from wellread.text.markers import strip_markers
from wellread.types import Outcome, Passage, Sentence

_SOMETHING = "a part of the question"


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
    """The sentences of an answer, and what it says is missing."""
    return weighed(text, passages, question), without_claims(said, passages, question)


def without_claims(said: Iterable[str], passages: Mapping[int, Passage], question: str) -> list[str]:
    """What a model says is missing, as far as it says no more: a name or number that nobody has is no lack but a claim."""
    evidence = Evidence(passages, (), question)
    return [row if not evidence.smuggles(row) else _SOMETHING for row in said if re.search(r"\w", row)]


def outcome(sentences: Sequence[Sentence], lacking: Sequence[str]) -> Outcome:
    """`answered`; `partial` where something is missing; `unsure` where nothing else is said."""
    if not lacking:
        return "answered"
    says = any(sentence.verdict != "says what is missing" for sentence in sentences)
    return "partial" if says else "unsure"
