"""Changes by rule that make a true sentence untrue: other names and numbers, names in each other's place, "not", opposites.

What stands in the passages is put where it does not belong, so that a word alone gives nothing away.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from training.evaluator.cloze import answers_in
from training.verifier.claims import Claim, Text, untrue

_HELPER = re.compile(r"\b(?:is|are|was|were|has|have|had|can|could|will|would|should|may|must|did|does|do)\b(?! not\b|n['’]t)")
_NOT = re.compile(
    r"\b(?:(?:is|are|was|were|has|have|had|can|could|will|would|should|must)(?P<one> not|n['’]t)\b)"
    r"|\bnever (?=\w)|\b(?:did|does|do) not (?=\w)"
)
_MORE = """before:after earlier:later first:last above:below older:younger larger:smaller higher:lower faster:slower more:less
more:fewer north:south east:west both:neither all:some always:sometimes only:also without:with with:without increase:decrease
increases:decreases increased:reduced early:late left:right maternal:paternal grandfather:uncle director:producer
directed:produced wrote:edited
novel:play actor:director actress:singer singer:actor born:buried founded:closed capital:suburb British:American
American:Canadian French:Italian German:Austrian English:Scottish king:prince queen:princess short:long old:new under:over
inside:outside public:private begin:stop began:stopped start:stop minimum:maximum least:most enable:disable enabled:disabled
can:cannot cannot:can must:may need:want cause:prevent causes:prevents import:export include:exclude includes:excludes
most:least won:lost wins:loses winner:loser increased:decreased rose:fell agrees:refuses agreed:refused accepted:rejected
accept:reject admits:denies admitted:denied support:oppose supported:opposed supports:opposes largest:smallest
oldest:youngest oldest:newest highest:lowest longest:shortest best:worst allowed:forbidden allowed:banned legal:illegal
open:closed opened:closed northern:southern eastern:western son:daughter father:mother brother:sister begin:end began:ended
same:different true:false always:never male:female men:women man:woman man:women woman:man won:defeated private:public
rare:common rare:often elder:younger eldest:youngest primary:secondary silver:bronze gold:bronze gold:silver agrees:opposes
agree:oppose agreed:opposed upper:lower rural:urban permanent:temporary evenly:unevenly raise:lower easy:difficult
doubled:tripled doubled:quadrupled doubled:halved tripled:quadrupled tripled:halved"""
_PAIRS = [tuple(pair.split(":")) for pair in _MORE.split()]
OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    word: tuple({b if a == word else a for a, b in _PAIRS if word in (a, b)}) for pair in _PAIRS for word in pair
}
_OPPOSED = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, OTHER_WORDS), key=len, reverse=True)) + r")\b")
_YEAR = "January February March April May June July August September October November December"
_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty")
_COUNT = re.compile(r"\b(?:" + "|".join(_COUNTS) + r")\b", re.IGNORECASE)
_MONTHS = _YEAR.split()


def changes(true: str, passages: Sequence[Text], rng: random.Random, most: int) -> list[Claim]:
    """Up to `most` untrue sentences, of different kinds first."""
    kinds = [*_KINDS]
    rng.shuffle(kinds)
    made: list[Claim] = []
    for kind in (*kinds, *kinds):
        if len(made) >= most:
            break
        found = next(_KINDS[kind](true, passages, rng), None)
        if found and found != true and all(found != one.text for one in made):
            made.append(untrue(true, found, kind))
    return made


@lru_cache(maxsize=20_000)
def things(text: str) -> tuple[tuple[str, str], ...]:
    """Names, dates and numbers of a text with their kinds, each once."""
    return tuple(dict.fromkeys((text[start:end], kind) for start, end, kind in answers_in(text)))


def alike(old: str, kind: str, passages: Sequence[Text], avoid: str, rng: random.Random) -> str | None:
    """Another name, date or number out of the passages, of about the same form, that a sentence does not have."""
    low = avoid.lower()
    found = [
        word
        for passage in passages
        for word, of in (*things(passage.text), *(((passage.title, "name"),) if kind == "name" else ()))
        if of == kind and word.lower() not in low and old.lower() not in word.lower() and word.lower() not in old.lower()
    ]
    close = [word for word in found if abs(len(word.split()) - len(old.split())) <= 1 and word[0].isdigit() == old[0].isdigit()]
    return rng.choice(close or found) if found else None


def _names(true: str, passages: Sequence[Text], rng: random.Random) -> Iterator[str]:
    places = [place for place in answers_in(true) if place[2] == "name"]
    rng.shuffle(places)
    for start, end, kind in places:
        if other := alike(true[start:end], kind, passages, true, rng):
            yield true[:start] + other + true[end:]


def _figures(true: str, passages: Sequence[Text], rng: random.Random) -> Iterator[str]:
    places = [place for place in answers_in(true) if place[2] != "name"]
    rng.shuffle(places)
    for start, end, kind in places:
        old = true[start:end]
        other = alike(old, kind, passages, true, rng) if rng.random() < 0.6 else None
        yield true[:start] + (other or another_figure(old, rng)) + true[end:]
    if found := [*_COUNT.finditer(true)]:
        match = rng.choice(found)
        word = rng.choice([count for count in _COUNTS if count != match.group().lower()])
        yield true[: match.start()] + (word.capitalize() if match.group()[0].isupper() else word) + true[match.end() :]


def another_figure(old: str, rng: random.Random) -> str:
    """A date or number with one thing in it changed."""
    month = next((month for month in _MONTHS if month in old), None)
    if month and rng.random() < 0.4:
        return old.replace(month, rng.choice([other for other in _MONTHS if other != month]))
    digits = [place for place, letter in enumerate(old) if letter.isdigit()]
    year = re.search(r"\b(?:1\d|20)\d\d\b", old)
    if year and rng.random() < 0.6:
        shift = rng.choice((-1, 1)) * rng.choice((1, 2, 3, 5, 10, 11, 20, 30, 100))
        return old[: year.start()] + str(int(year.group()) + shift) + old[year.end() :]
    if not digits:
        return old
    place = rng.choice(digits)
    choices = [digit for digit in "0123456789" if digit != old[place] and (digit != "0" or place > digits[0])]
    return old[:place] + rng.choice(choices) + old[place + 1 :]


def _exchanged(true: str, passages: Sequence[Text], rng: random.Random) -> Iterator[str]:
    places = [place for place in answers_in(true) if place[2] == "name"]
    pairs = [(a, b) for n, a in enumerate(places) for b in places[n + 1 :] if not _beside(true[a[1] : b[0]])]
    rng.shuffle(pairs)
    for (a, b, _), (c, d, _) in pairs:
        if true[a:b].lower() not in true[c:d].lower() and true[c:d].lower() not in true[a:b].lower():
            yield true[:a] + true[c:d] + true[b:c] + true[a:b] + true[d:]


def _beside(between: str) -> bool:
    """Whether two names are one after the other in a list, where their order says nothing."""
    return re.fullmatch(r"[\s,]*(?:and|or|&|with|,)?[\s,\"]*(?:the )?", between) is not None or between[-5:] == " and "


def _negated(true: str, passages: Sequence[Text], rng: random.Random) -> Iterator[str]:
    nots = [*_NOT.finditer(true)]
    if nots:
        match = rng.choice(nots)
        if match["one"]:
            yield true[: match.start("one")] + true[match.end("one") :]
        else:
            yield true[: match.start()] + true[match.end() :]
    elif found := [*_HELPER.finditer(true)]:
        match = rng.choice(found[:3])
        word = rng.choice((" not", " not", " not", " never")) if match.group() not in ("did", "do", "does") else " not"
        yield true[: match.end()] + word + true[match.end() :]


def _opposed(true: str, passages: Sequence[Text], rng: random.Random) -> Iterator[str]:
    if found := [*_OPPOSED.finditer(true)]:
        match = rng.choice(found)
        yield true[: match.start()] + rng.choice(OTHER_WORDS[match.group()]) + true[match.end() :]


_KINDS = {"name": _names, "figure": _figures, "exchanged": _exchanged, "negation": _negated, "opposite": _opposed}
