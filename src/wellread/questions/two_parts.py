"""Question decomposition in two steps: two halves ("Which planet has the most moons, and who discovered its largest one?"), or
one that describes what it asks about instead of naming it ("the capital of the country where the Taj Mahal stands").

A description holds a question of its own, "in which country the Taj Mahal stands", and what it asks for in the place of the
description makes a plain question of the rest. Only forms in which it is plain where the description ends are taken apart.
"""

from __future__ import annotations

from functools import lru_cache

from wellread.core.values import frozen
from wellread.questions.followups import put, references
from wellread.questions.kinds import ASKING
from wellread.text import patterns as re

_BETWEEN = re.compile(rf",?\s+and\s+(?=(?:(?:in|on|at|for|by|of) )?(?:{ASKING})\b)", re.IGNORECASE)
_ONE = re.compile(r"\b(which|what) one\b", re.IGNORECASE)
_OF_WHAT = re.compile(r"\b(?:which|what) (?!(?:is|are|was|were|do|does|did|can|should)\b)(\w+)", re.IGNORECASE)


def halves(question: str) -> list[str]:
    """The question, or its two halves, "which one" in the second with what it is one of; where that is not said, no halves."""
    parts = _BETWEEN.split(question, maxsplit=1)
    if len(parts) == 1 or not _ONE.match(parts[1]):
        return parts
    noun = _OF_WHAT.search(parts[0])
    return [parts[0], _ONE.sub(rf"\g<1> {noun[1]}", parts[1])] if noun else [question]


def stand_alone(parts: list[str]) -> bool:
    """Whether both halves ask alike, and the second is not about the answer to the first."""
    first, second = (part.split(maxsplit=1)[0].casefold() for part in (parts[0], parts[-1]))
    return first == second and not references(parts[-1])


def resolved(part: str, answer: str) -> str:
    """The second half with the first one's answer in the place of "it" or "that country"."""
    found = references(part)
    return part if not answer else put(part, found[0], answer) if found else f"{part} ({answer})"


_DONE = r"born|buried|crowned|die|educated|elected|killed|live|married|raised"
_PREPOSITION = r"after|at|by|during|for|from|in|into|of|on|over|through|to|under|with"
_RELATIVE = rf"who|that|which|whose|where|whom|(?:{_PREPOSITION}) (?:whom|which)"
_AUX = r"is|are|was|were|do|does|did"
_ASKING = rf"(?:{ASKING})"
_CLAIM = r"(?:view|conclusion|fact|idea|claim|theory|belief|principle|opinion|name)s?"  # what follows "that" says what it is
_DESCRIBED = re.compile(
    rf"(?P<before>.*?\bthe )(?P<noun>(?:(?!(?:{_DONE}|{_PREPOSITION}|and|or|{_CLAIM})\b)[\w-]+ ){{1,3}}?)"
    rf"(?:(?P<early>{_DONE}) )?(?P<relative>{_RELATIVE}) (?P<clause>(?!{_ASKING}\b)[^,;?]+?)(?: (?P<late>{_DONE}))?\?"
)
# "Who was the man who …?" asks for the man himself; behind "did the man who …" the clause has no plain end.
_ITSELF = re.compile(rf"(?:who|what|which)(?:['’]s| (?:{_AUX}))(?: the (?:full |real )?names? of)? the ", re.IGNORECASE)
_INVERTED = re.compile(rf"\b(?:{_AUX}|has|have|had|can|could|will|would) the \Z", re.IGNORECASE)
_ASKS = re.compile(
    rf"\A(?!.*\b(?:how (?:do|does|did|can|could|should|would|to)|why)\b).*\b{_ASKING}\b", re.IGNORECASE
)  # for a name or number
_NOT_ALONE = re.compile(rf"\b(?:{_ASKING}|and|it|they|them|he|she|him)\b", re.IGNORECASE)  # the clause asks more, or refers back
_LONGEST = 400  # characters


@frozen
class Described:
    """The question that a description holds, and the other one around the place of what it describes."""

    first: str
    before: str
    after: str

    def second(self, answer: str) -> str:
        return f"{self.before}{answer}{self.after}?"


@lru_cache(1_000)
def described(question: str) -> Described | None:
    """The two questions in one; None where it names what it is about, or where it is not plain what belongs to what."""
    asked = " ".join(question.split())
    found = _DESCRIBED.fullmatch(asked) if len(asked) <= _LONGEST else None
    if found is None or not _ASKS.match(found["before"]):
        return None
    if _ITSELF.fullmatch(found["before"]) or _NOT_ALONE.search(found["clause"]):
        return None
    done = found["early"] or found["late"]
    if (found["early"] and found["late"]) or bool(_INVERTED.search(found["before"])) != bool(done):
        return None
    return Described(_asked(found), found["before"].removesuffix("the "), f" {done}" if done else "")


def _asked(found: re.Match[str]) -> str:
    relative, noun, clause = found["relative"].lower(), found["noun"].strip(), found["clause"]
    if relative == "whose":
        return f"Which {noun}'s {clause}?"
    if relative == "where":
        return f"In which {noun} {clause}?"
    before, _, _ = relative.rpartition(" ")
    return f"{before.capitalize()} which {noun} {clause}?" if before else f"Which {noun} {clause}?"
