"""Numbers that follow from those of a passage: an age from two years, a century from a year, a rounded sum."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from wellread.text import lexicon
from wellread.text.arrangement import Line, Mention

_YEARS = {"year": 1, "years": 1, "decade": 10, "decades": 10, "century": 100, "centuries": 100}
_MOST_BETWEEN = 2000  # years
_LATEST = 2100
_CENTURIES = range(1, 22)
_OLDEST = 120
_SCALES = (1e3, 1e6)  # tables say once that their numbers are thousands
_LEAST_IN_TABLES = 100  # what is less is rarely told in them
_IN_TABLES = 1e6  # more than this is not told in thousands
_NOT_YET = frozenset(["almost", "nearly", "under", "below", "less", "fewer", "most", "up", "within", "short"])
_BEYOND = frozenset(["over", "above", "more", "least", "exceeds", "exceeded", "beyond", "plus"])
_ABOUT = frozenset(["about", "around", "roughly", "approximately", "some", "circa", "ca", "close", "or"])
_REACH = 3  # words before a number that may call it rounded
_ROUNDED = 0.12  # how far off a rounded number may be
_PLAIN_YEAR = re.compile(r"#(?:1\d|20)\d\d")
_ROUNDED_YEARS = 5


@dataclass(frozen=True, slots=True)
class Known:
    """The numbers of passages. What follows from them is looked up, never compared with each: passages may list every year
    there was."""

    all: Sequence[float]  # in order
    others: Sequence[float]  # those that are no years
    years: int  # a bit for each

    @classmethod
    def of(cls, counts: Iterable[str]) -> Known:
        values = {key: number for key in counts if (number := _value(key)) is not None}
        years = {number for key, number in values.items() if _PLAIN_YEAR.fullmatch(key)}
        others = {number for key, number in values.items() if not _PLAIN_YEAR.fullmatch(key)}
        return cls(sorted(set(values.values())), sorted(others), _bits(years))


def follows(one: Mention, claim: Line, known: Known) -> bool:
    """Whether a number of a claim follows from the numbers of its passages, as far as its surroundings tell what it counts."""
    key = next(iter(one.forms))
    value = _value(key)
    if value is None:
        return False
    alike = known.all if one.kind == "year" else known.others
    behind = next((token.form for token in claim.tokens[one.end : one.end + 3] if token.kind == "word"), "")
    if one.kind == "ordinal" and behind in ("century", "centuries"):
        return value in _CENTURIES and known.years >> int(100 * (value - 1) + 1) & _bits(range(100)) != 0
    if (unit := _YEARS.get(behind)) or _is_age(one, value, claim):
        said = {number for one in claim.mentions if one.kind == "year" and (number := _value(next(iter(one.forms)))) is not None}
        return _lie_apart(value * (unit or 1), unit or 1, known.years, said) or _is_near(value, one, claim, alike)
    told_in_thousands = any(
        _LEAST_IN_TABLES <= value / scale < _IN_TABLES and _any_within(known.all, value / scale, value / scale)
        for scale in _SCALES
    )
    return told_in_thousands or _is_near(value, one, claim, alike)


def is_small_count(one: Mention, claim: Line) -> bool:
    """Whether a number is a word that counts what a passage lists: "three guests". Nobody lists years."""
    return (
        claim.tokens[one.start].form in lexicon.UNITS
        and one.end == one.start + 1
        and not (one.end < len(claim.tokens) and claim.tokens[one.end].form in ("year", "years"))
    )


def _value(key: str) -> float | None:
    try:
        return float(key.strip("#s"))
    except ValueError:
        return None


def _is_age(one: Mention, value: float, claim: Line) -> bool:
    if value > _OLDEST or value < 2:
        return False
    return one.end >= len(claim.tokens) or not claim.stems[one.end] or claim.tokens[one.end].form in ("when", "old")


def _lie_apart(span: float, unit: int, years: int, said: Collection[float]) -> bool:
    """Whether two years lie so far apart, give or take what was rounded. Where the claim names years, it counts from one."""
    if span > _MOST_BETWEEN:
        return False
    room = max(1, unit * 0.6)
    counted = years & _bits(year for year in said if year < _LATEST) if said else years
    apart = range(max(1, math.ceil(span - room)), math.floor(span + room) + 1)
    return any(years & (counted << one | counted >> one) for one in apart)


def _bits(numbers: Iterable[float]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << int(number)
    return bits


def _is_near(value: float, one: Mention, claim: Line, known: Sequence[float]) -> bool:
    before = {token.form for token in claim.tokens[max(0, one.start - _REACH) : one.start]}
    room = _ROUNDED * value if one.kind != "year" else _ROUNDED_YEARS
    least = value - room if before & (_NOT_YET | _ABOUT) else value
    most = value + room if before & (_BEYOND | _ABOUT) else value
    return least < most and _any_within(known, least, most)


def _any_within(numbers: Sequence[float], least: float, most: float) -> bool:
    """Whether one of the numbers, which are in order, lies there."""
    return bisect_left(numbers, least) < bisect_right(numbers, most)
