"""Questions of two halves: "Which planet has the most moons, and who discovered its largest one?"."""

from __future__ import annotations

import re

_ASKING = r"(?:(?:in|on|at|for|by|of) )?(?:who|whom|whose|what|when|where|which|how|why)\b"
_BETWEEN = re.compile(rf",?\s+and\s+(?={_ASKING})", re.IGNORECASE)
_ONE = re.compile(r"\b(which|what) one\b", re.IGNORECASE)
_OF_WHAT = re.compile(r"\b(?:which|what) (?!(?:is|are|was|were|do|does|did|can|should)\b)(\w+)", re.IGNORECASE)
_BACK = re.compile(
    r"\b(?:(?:that|this|the same) (?:country|city|town|person|planet|man|woman|place|river|island|state|one)"
    r"|it|he|him|she|they|them|(?P<place>there))\b(?!['’])|\b(?P<own>its|his|her|their|that country['’]s|that person['’]s)\b",
    re.IGNORECASE,
)


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
    return first == second and not refers_back(parts[-1])


def refers_back(part: str) -> bool:
    """Whether the second half speaks of the first one's answer: "it", "that country"."""
    return _BACK.search(part) is not None


def resolved(part: str, answer: str) -> str:
    """The second half with the first one's answer in the place of "it" or "that country"."""
    if not answer:
        return part
    found = _BACK.search(part)
    if found is None:
        return f"{part} ({answer})"
    put = f"{answer}'s" if found["own"] else f"in {answer}" if found["place"] else answer
    return part[: found.start()] + put + part[found.end() :]
