"""Numbers that follow from those of a passage: an age from two years, a century from a year, a rounded sum."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from wellread.text import lexicon
from wellread.text.arrangement import Line, Mention

_YEARS = {"year": 1, "years": 1, "decade": 10, "decades": 10, "century": 100, "centuries": 100}
_MOST_BETWEEN = 2000  # years
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


def follows(one: Mention, claim: Line, counts: Iterable[str]) -> bool:
    """Whether a number of a claim follows from the numbers of its passages, as far as its surroundings tell what it counts."""
    key = next(iter(one.forms))
    value = _value(key)
    if value is None:
        return False
    known = {key: number for key in counts if (number := _value(key)) is not None}
    years = sorted({number for key, number in known.items() if _PLAIN_YEAR.fullmatch(key)})
    said = {number for one in claim.mentions if one.kind == "year" and (number := _value(next(iter(one.forms)))) is not None}
    alike = [number for key, number in known.items() if one.kind == "year" or not _PLAIN_YEAR.fullmatch(key)]
    behind = next((token.form for token in claim.tokens[one.end : one.end + 3] if token.kind == "word"), "")
    if one.kind == "ordinal" and behind in ("century", "centuries"):
        return any((year - 1) // 100 + 1 == value for year in years)
    if (unit := _YEARS.get(behind)) or _is_age(one, value, claim):
        return _lie_apart(value * (unit or 1), unit or 1, years, said) or _is_near(value, one, claim, alike)
    told_in_thousands = any(
        value / scale in known.values() and _LEAST_IN_TABLES <= value / scale < _IN_TABLES for scale in _SCALES
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


def _lie_apart(span: float, unit: int, years: Sequence[float], said: Collection[float]) -> bool:
    """Whether two years lie so far apart, give or take what was rounded. Where the claim names years, it counts from one."""
    if span > _MOST_BETWEEN:
        return False
    return any(
        abs(later - earlier - span) <= max(1, unit * 0.6) and (not said or earlier in said or later in said)
        for earlier in years
        for later in years
        if later > earlier
    )


def _is_near(value: float, one: Mention, claim: Line, known: Iterable[float]) -> bool:
    before = {token.form for token in claim.tokens[max(0, one.start - _REACH) : one.start]}
    room = _ROUNDED * value if one.kind != "year" else _ROUNDED_YEARS
    least = value - room if before & (_NOT_YET | _ABOUT) else value
    most = value + room if before & (_BEYOND | _ABOUT) else value
    return least < most and any(least <= number <= most for number in known)
