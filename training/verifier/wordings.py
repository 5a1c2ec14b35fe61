"""Sentences of passages, worded a little otherwise by rule, and still true: the subject's name for a pronoun, asides left out,
dates and numbers written otherwise, two sentences made one."""

from __future__ import annotations

import random
import re

from training.evaluator.cloze import sentences_of
from training.verifier.claims import Text

_PRONOUN = re.compile(
    r"^(?:He|She|It|They)\b|^(?:His|Her|Its|Their)\b|^The (?:film|song|album|book|novel|series|band|company|team)\b"
)
_ASIDE = re.compile(r"\s*\([^()]{1,120}\)")
_APPOSITION = re.compile(r", (?:which|who|where|an?|the|also|formerly|known|including) [^,;.]{4,80},(?= )")
_LEADING = re.compile(
    r"^(?:In|On|At|During|After|Before|Since|From|By|As|With|Following|Despite|Although) [^,]{4,80}, (?=[A-Z\w])"
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAY = re.compile(rf"\b(?:(?P<d>\d{{1,2}}) (?P<m>{_MONTHS})|(?P<m2>{_MONTHS}) (?P<d2>\d{{1,2}}),) (?P<y>\d{{4}})\b")
_NUMBER = re.compile(r"(?<![\d.,$£€/:-])\b(?:[2-9]|1[0-2])\b(?![\d.,%/:-]|\s*(?:%|million|billion|km|m\b))")
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_FEWEST, _MOST = 6, 40


def usable(text: str) -> list[str]:
    return [one for one in sentences_of(text) if _FEWEST <= len(one.split()) <= _MOST and one[0].isupper()]


def surface(title: str) -> str:
    return re.sub(r"\s*\([^)]*\)\s*$", "", title)


def reworded(passage: Text, rng: random.Random) -> str | None:
    """A sentence of a passage, or two, in slightly other words."""
    found = usable(passage.text)
    if not found:
        return None
    place = rng.randrange(len(found))
    said = _plain(found[place], passage.title, rng)
    if rng.random() < 0.25 and len(found) > 1:
        other = _plain(found[place - 1 if place else 1], passage.title, rng)
        if len(said.split()) + len(other.split()) <= _MOST:
            said = f"{said.rstrip('.')}{rng.choice((' and ', ', and ', ', while ', '; '))}{_lowered(other)}"
    return said if len(said.split()) >= 4 else None


def _plain(sentence: str, title: str, rng: random.Random) -> str:
    name = surface(title)
    if rng.random() < 0.7 and (found := _PRONOUN.match(sentence)):
        owns = found.group() in ("His", "Her", "Its", "Their")
        sentence = f"{name}{'’s' if owns else ''}{sentence[found.end() :]}" if name[:1].isupper() else sentence
    if rng.random() < 0.6:
        sentence = _ASIDE.sub("", sentence)
    if rng.random() < 0.5:
        sentence = _APPOSITION.sub(",", sentence, count=1) if rng.random() < 0.5 else _APPOSITION.sub("", sentence, count=1)
    if rng.random() < 0.5 and (found := _LEADING.match(sentence)):
        head, rest = found.group().rstrip(", "), sentence[found.end() :]
        sentence = rest[0].upper() + rest[1:]
        if rng.random() < 0.6:
            sentence = f"{sentence.rstrip('.')} {head[0].lower()}{head[1:]}."
    if rng.random() < 0.6:
        style = rng.randrange(4)
        sentence = _DAY.sub(lambda match: _dated(match, style), sentence)
    if rng.random() < 0.5:
        sentence = _NUMBER.sub(lambda match: _WORDS[int(match.group())], sentence)
    return " ".join(sentence.split())


def _dated(match: re.Match[str], style: int) -> str:
    day, month, year = match["d"] or match["d2"], match["m"] or match["m2"], match["y"]
    return (f"{day} {month} {year}", f"{month} {day}, {year}", f"{month} {year}", f"{year}")[style]


def _lowered(sentence: str) -> str:
    first = sentence.split()[0]
    return (
        sentence[0].lower() + sentence[1:]
        if first in ("The", "A", "An", "In", "On", "At", "It", "He", "She", "They", "His", "Her", "Its")
        else sentence
    )
