"""Names, dates and numbers of a text, as far as patterns see them, and its sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["date", "year", "number", "name"]


def words(text: str) -> list[str]:
    return text.split()


MONTHS = words("""
    January February March April May June July August September October November December
""")
_MONTH = f"(?:{'|'.join(MONTHS)})"
DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}}) (?P<month>{_MONTH})"
    rf"|(?P<us>{_MONTH}) (?P<usday>\d{{1,2}}),|(?P<bare>{_MONTH})),? (?P<year>\d{{4}})\b"
)
_YEAR = re.compile(r"\b(?:1[0-9]\d\d|20[0-3]\d)\b")
COUNTED = words("""
    one two three four five six seven eight nine ten eleven twelve
""")
ORDERED = words("""
    first second third fourth fifth sixth seventh eighth ninth tenth
""")
_NUMBER = re.compile(rf"\b\d(?:[\d,.]*\d)?\b|\b(?:{'|'.join(COUNTED[1:] + ORDERED)})\b")
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_ONE = rf"(?:{_CAPITAL}\.|{_CAPITAL}[\w'’-]*)"
_NAME = re.compile(rf"\b{_ONE}(?:(?: (?:of|de|van|von|der|du|la|le|al|bin))* {_ONE})*")
_NO_NAMES = frozenset(
    words("""
    The A An In On At By For From With After Before During This That These Those As When While Since It He She They His
    Her Its Their But And Also However Although If Some Many Most Other Such One Two Three There Here Both Each Under
    Until Upon To Of Or Not No What Who Which Where How Why I We You All Another Following According Because Despite
    Over Later Today Then Thus Through Among Between Early Born Based Originally Currently First Second Third
""")
)  # fmt: skip
_SENTENCE = re.compile(r"(?<=[a-z\d)\"”'’][.!?])\s+(?=[A-Z\"“])")
PEOPLE = frozenset(
    words("""
    American British English French German Italian Spanish Russian Indian Japanese Chinese Canadian Australian Irish
    Scottish Welsh Dutch Swedish Norwegian Danish Finnish Polish Greek Turkish Korean Mexican Brazilian Israeli Iranian
    African European
""")
)


class Fact(NamedTuple):
    start: int
    end: int
    kind: Kind
    text: str


def facts(text: str) -> list[Fact]:
    """Dates before years before numbers before names, none over another; in order."""
    found: list[Fact] = []
    for kind, pattern in (("date", DATE), ("year", _YEAR), ("number", _NUMBER), ("name", _NAME)):
        for match in pattern.finditer(text):
            start, end = match.span()
            parts = match[0].split()
            if kind == "name":
                while parts and parts[0] in _NO_NAMES:
                    start += len(parts.pop(0)) + 1
                if all(part in MONTHS for part in parts) or end - start < 3:
                    continue
                end -= 2 if text[start:end].endswith(("'s", "’s")) else 0
            if all(end <= other.start or start >= other.end for other in found):
                found.append(Fact(start, end, kind, text[start:end]))
    return sorted(found)


def names(text: str) -> list[Fact]:
    return [fact for fact in facts(text) if fact.kind == "name"]


def sentences_of(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in _SENTENCE.split(line) if part.strip()]


def alike(one: str, other: str) -> bool:
    """Whether two names may be the same one's."""
    a, b = ({word.strip("'’.").lower() for word in name.split()} for name in (one, other))
    return bool(a & b) or one.lower() in other.lower() or other.lower() in one.lower()


def listed(text: str, one: str, other: str) -> bool:
    """Whether a text has two names side by side, as a list does: what is said of one may be said of the other."""
    for a, b in ((one, other), (other, one)):
        for match in re.finditer(re.escape(a), text):
            between = text[match.end() : match.end() + 120]
            at = between.find(b)
            if at >= 0 and not re.search(r"\b[a-z]{3,}\b", re.sub(r"\band\b|\bthe\b", "", between[:at])):
                return True
    return False


Sort = Literal["person", "place", "other"]
_PERSON = re.compile(r"\) (?:is|was) an? (?:[\w-]+ ){1,5}")
_PLACED = re.compile(rf"\b(?:in|at|near|from|of) (?P<name>{_ONE}(?: {_ONE})*)(?=[,. ])")


class Sorts:
    """Whether a name is a person's or a place's, by where names stand in many passages."""

    def __init__(self, passages: Iterable[tuple[str, str]]) -> None:
        self._first: set[str] = set()
        placed: Counter[str] = Counter()
        for title, text in passages:
            if re.search(r"\(.{0,40}\b1\d{3}\b", text[:120]) and _PERSON.search(text[:250]) and 2 <= len(title.split()) <= 4:
                self._first.add(title.split()[0])
            placed.update(match["name"] for match in _PLACED.finditer(text))
        self._places = {name for name, count in placed.items() if count >= 6 and name.split()[0] not in self._first}

    def of(self, name: str) -> Sort:
        if name in self._places:
            return "place"
        parts = name.split()
        return "person" if len(parts) > 1 and parts[0] in self._first else "other"
