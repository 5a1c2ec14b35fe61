"""Sentences as named entities, numbers and words in their places; and numbers that follow from those of a passage: an age from
two years, a century from a year, a rounded sum."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from wellread.core.values import frozen
from wellread.text import lexicon
from wellread.text.weighted_cache import remembered
from wellread.text.words import Token, Words, key_at, read, stem, tokens_of

Kind = Literal["name", "year", "number", "ordinal", "day"]
_YEAR = re.compile(r"#(?:1\d|20)\d\d")
_ERAS = frozenset(["bc", "bce", "ce", "ad"])
_MONTHS = frozenset(lexicon.MONTHS)


class Mention(NamedTuple):
    """A name or a number, and the tokens that it takes."""

    kind: Kind
    forms: frozenset[str]
    start: int
    end: int

    def is_same(self, other: Mention) -> bool:
        return self.kind == other.kind and (self.forms <= other.forms or other.forms <= self.forms)


@frozen
class Line:
    """A sentence in order. `stems` has "" for words without content."""

    tokens: list[Token]
    stems: list[str]
    mentions: list[Mention]

    def following(self, place: int) -> str:
        """The next word with content behind a place, as a stem; empty where the clause ends."""
        for at in range(place + 1, len(self.tokens)):
            if self.stems[at] or self.tokens[at].kind == "stop":
                return self.stems[at]
        return ""


@remembered(1_000_000)
def arranged(text: str) -> Line:
    """One sentence."""
    words, tokens = read(text), tokens_of(text)
    stems = [""] * len(tokens)
    mentions: list[Mention] = []
    scratch = Words()
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "number" or token.form in lexicon.NUMBER_WORDS:
            key, behind = key_at(tokens, index, scratch)
            mentions.append(Mention(_number_kind(key, tokens, index, behind), frozenset((key,)), index, behind))
            stems[index] = key
            index = behind
            continue
        if token.capital and token.form in words.names and token.form not in _MONTHS:
            index = _read_name(tokens, index, stems, mentions)
            continue
        if token.kind == "word" and token.form not in lexicon.STOPWORDS:
            stems[index] = stem(token.form)
        index += 1
    return Line(tokens, stems, mentions)


def exchanges(line: Line, sentence: str) -> list[str]:
    """The sentence with its two names in each other's place: who did it to whom. Of more names nobody knows which belong so."""
    names = [one for one in line.mentions if one.kind == "name"]
    if len(names) != 2 or names[0].is_same(names[1]):
        return []
    spelled = (r"\W+".join(re.escape(token.raw) for token in line.tokens[name.start : name.end]) for name in names)
    first, second = (re.search(spelling, sentence) for spelling in spelled)
    if not first or not second or first.end() > second.start():
        return []
    between = sentence[first.end() : second.start()]
    return [f"{sentence[: first.start()]}{second[0]}{between}{first[0]}{sentence[second.end() :]}"]


def _read_name(tokens: list[Token], index: int, stems: list[str], mentions: list[Mention]) -> int:
    start, forms = index, set[str]()
    while index < len(tokens) and (
        (tokens[index].capital and tokens[index].form not in lexicon.STOPWORDS)
        or (index > start and tokens[index].joined and tokens[index].kind == "word")  # "Hae-jin"
    ):
        forms.add(tokens[index].form)
        stems[index] = stem(tokens[index].form)
        index += 1
    if not forms:
        return index + 1
    mentions.append(Mention("name", frozenset(forms - lexicon.TITLES or forms), start, index))
    return index


def _number_kind(key: str, tokens: list[Token], index: int, behind: int) -> Kind:
    token = tokens[index]
    beside = {one.form for one in (*tokens[max(0, index - 1) : index], *tokens[behind : behind + 1])}
    if token.raw.isdigit() and len(token.raw) <= 2 and beside & _MONTHS:
        return "day"
    era = not beside.isdisjoint(_ERAS) or (
        behind + 2 < len(tokens) and tokens[behind + 1].kind == "number" and tokens[behind + 2].form in _ERAS  # "66 and 70 AD"
    )
    if key.endswith("0s") or (token.raw.isdigit() and (era or _YEAR.fullmatch(f"#{token.raw}"))):
        return "year"
    if token.tail in ("st", "nd", "rd", "th") or token.form in lexicon.ORDINALS:
        return "ordinal"
    return "number"


_YEARS = {"year": 1, "years": 1, "decade": 10, "decades": 10, "century": 100, "centuries": 100}
_MOST_BETWEEN = 2000  # years
_LATEST = 2100
_CENTURIES = range(1, 22)
_OLDEST = 120
_NOT_YET = frozenset(["almost", "nearly", "under", "below", "less", "fewer", "most", "up", "within", "short"])
_BEYOND = frozenset(["over", "above", "more", "least", "exceeds", "exceeded", "beyond", "plus"])
_ABOUT = frozenset(["about", "around", "roughly", "approximately", "some", "circa", "ca", "close"])
_REACH = 3  # words before a number that may call it rounded
_AGED = frozenset(["age", "aged", "at", "was", "is", "turned", "when", "old"])


@frozen
class Known:
    """The numbers of passages. What follows from them is looked up, never compared with each: passages may list every year
    there was."""

    all: Sequence[float]  # in order
    others: Sequence[float]  # those that are no years
    years: int  # a bit for each

    @classmethod
    def of(cls, counts: Iterable[str]) -> Known:
        values = {key: number for key in counts if (number := _value(key)) is not None}
        years = {number for key, number in values.items() if _YEAR.fullmatch(key)}
        others = {number for key, number in values.items() if not _YEAR.fullmatch(key)}
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
    return _is_near(value, one, claim, alike)


def is_small_count(one: Mention, claim: Line) -> bool:
    """Whether a number is a word that counts what a passage lists: "three guests". Nobody lists years."""
    return (
        one.end == one.start + 1  # unlike a number that has no place in the sentence
        and claim.tokens[one.start].form in lexicon.UNITS
        and not (one.end < len(claim.tokens) and claim.tokens[one.end].form in ("year", "years"))
    )


def enumerates(one: Mention, claim: Line) -> bool:
    """Whether an ordinal only says which of the answer's points comes now: "Third, fish …", "A fourth theory …"."""
    before = [token.raw for token in claim.tokens[: one.start]]
    behind = claim.tokens[one.end].raw if one.end < len(claim.tokens) else ""
    return claim.tokens[one.start].form in lexicon.ORDINALS and (
        (not before and behind == ",") or (before == ["A"] and behind != "of")
    )


def _value(key: str) -> float | None:
    try:
        return float(key.strip("#s"))
    except ValueError:
        return None


def _is_age(one: Mention, value: float, claim: Line) -> bool:
    before = [token for token in claim.tokens[max(0, one.start - 2) : one.start] if token.form != "of"]  # "at the age of 36"
    beside = (*before[-1:], *claim.tokens[one.end : one.end + 1])
    counts = one.end < len(claim.tokens) and claim.stems[one.end] and claim.tokens[one.end].form not in _AGED
    return one.kind == "number" and not counts and value in range(2, _OLDEST) and any(token.form in _AGED for token in beside)


def _lie_apart(span: float, unit: int, years: int, said: Collection[float]) -> bool:
    """Whether two years lie so far apart, give or take what was rounded. Where the claim names years, it counts from one."""
    if span > _MOST_BETWEEN:
        return False
    room = max(1, unit * 0.6)
    counted = years & _bits(year for year in said if 0 <= year < _LATEST) if said else years
    apart = range(max(1, math.ceil(span - room)), math.floor(span + room) + 1)
    return any(years & (counted << one | counted >> one) for one in apart)


def _bits(numbers: Iterable[float]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << int(number)
    return bits


def _is_near(value: float, one: Mention, claim: Line, known: Sequence[float]) -> bool:
    """Whether a number that is called rounded is one of these, rounded to as many digits as it has: "about 1,200" for 1,198,
    "over 90,000" for 95,000. Who gives more digits than the passage does not round."""
    before = {token.form for token in claim.tokens[max(0, one.start - _REACH) : one.start]}
    if value <= 0 or not before & (_NOT_YET | _BEYOND | _ABOUT):
        return False
    step = _step(value)
    low = value - step if before & _NOT_YET else value - step / 2 if before & _ABOUT else value
    high = value + step if before & _BEYOND else value + step / 2 if before & _ABOUT else value
    return any(_step(other) < step for other in known[bisect_left(known, low) : bisect_right(known, high)])


def _step(value: float) -> float:
    """What the last digit of a number counts that is not 0: 100 of 1,200."""
    digits = f"{value:.12g}"
    if "e" in digits or "." in digits:
        return 10.0 ** -len(digits.partition(".")[2]) if "e" not in digits else 1.0
    return 10.0 ** (len(digits) - len(digits.rstrip("0")))
