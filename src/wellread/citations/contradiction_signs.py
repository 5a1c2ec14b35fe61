"""What speaks against a sentence that cites passages, sign by sign, and how much each sign weighs.

Freely worded sentences are true far more often than a missing word or a "not" tells. How often each sign is seen at true and at
untrue ones is printed by benchmarks/citations_claims.py; what was weighed, docs/log/citations.md says.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from wellread.citations import roles
from wellread.citations.amounts import exchanged, is_measure
from wellread.citations.arrangement import Line, Mention, arranged
from wellread.citations.derived import is_small_count
from wellread.citations.evidence import EQUAL, LINE, Asked, Evidence, Window, has_number, union
from wellread.text import lexicon
from wellread.text.words import Words, stem

_ALIKE = 0.7  # from here on a passage's sentence says the same thing, so its numbers count
_LINES = 8  # sentences of the passages that are compared by who does what in them
_PASSAGES = frozenset(("material", "passage", "passages", "source", "sources", "document", "documents"))
_CONTRASTING = frozenset(("but", "rather", "instead", "since", "because", "only", "although", "though", "yet", "all", "every"))


# A sign of one decides; of the lesser ones it takes two.
WEIGHTS = {
    "holds too little": 1.0,
    "few words, half held": 1.0,
    "speaks of the passages": 1.0,
    "foreign name": 1.0,
    "foreign year": 1.0,
    "foreign number": 1.0,
    "miscounted": 1.0,
    "other amount": 1.0,
    "other measure": 1.0,
    "uncounted": 0.5,
    "number elsewhere": 1.0,
    "bare not": 0.5,
    "bare not, closely worded": 0.5,
    "bare not, contrasted": 0.5,
    "asserted there": 0.5,
    "asserted there, closely worded": 0.5,
    "denied there": 0.5,
    "denied there, closely worded": 0.5,
    "called untrue": 1.0,
    "called false": 1.0,
    "opposite": 1.0,
    "prefixed": 1.0,
    "exchanged": 1.0,
    "turned round": 0.5,
    "misrelated": 1.0,
    "misdated": 1.0,
    "opposed": 1.0,
    "unconnected": 1.0,
    "replaced": 1.0,
    "displaced year": 1.0,
    "displaced": 1.0,
}
DOUBTED = 1.0  # from here on a sentence is not carried
# A year, date, number, unit or name that the passages do not have, or have otherwise: no reader overrules these, at any effort.
VETOES = frozenset((
    "foreign name", "foreign year", "foreign number", "miscounted", "other measure", "misdated", "replaced", "unconnected",
    "called false",
))  # fmt: skip
_TOO_LITTLE = 0.35  # share of a sentence's weight that its passages must hold
_SPOKEN_OF = 0.4  # of one that says what they lack: that is in none of them, and what it adds must be
_FEW, _HALF = 4, 0.5  # of a sentence of so few words, so much
_WORDED, _CLOSELY = 0.5, 0.7  # shares from which a "not" tells, the more the closer


def doubt(found: Iterable[str]) -> float:
    """How much speaks against a sentence, all signs together."""
    return sum(WEIGHTS[name] for name in found)


@dataclass(frozen=True)
class Reading:
    """A sentence beside the passages that it cites."""

    evidence: Evidence
    body: str
    asked: Asked
    windows: Mapping[int, Window]
    held: Mapping[int, Mapping[int, int]]

    @cached_property
    def line(self) -> Line:
        return arranged(self.body[:LINE])

    @cached_property
    def share(self) -> float:
        """How much of the sentence the windows hold."""
        return self.asked.share(union(window.bits for window in self.windows.values()))

    @cached_property
    def reach(self) -> float:
        """How much of it stands anywhere in the passages."""
        everywhere = union(bits for places in self.held.values() for bits in places.values())
        return self.asked.share(everywhere | union(window.bits for window in self.windows.values()))

    @cached_property
    def near(self) -> list[tuple[float, Words]]:
        """The sentences of the windows, with how much of the claim each holds."""
        return [
            (self.asked.share(self.held[number].get(place, 0)), self.evidence.sources[number].words[place])
            for number, window in self.windows.items()
            for place in range(window.first, window.last + 1)
        ]

    @cached_property
    def alike(self) -> set[str]:
        """The forms of the windows and of the sentences that are nearly as much like it as the one most like it."""
        shares = {bits: self.asked.share(bits) for found in self.held.values() for bits in set(found.values())}
        least = 0.6 * max(shares.values(), default=0.0)
        places = ((self.evidence.sources[number].words, found) for number, found in self.held.items())
        close = (words[place].forms for words, found in places for place, bits in found.items() if shares[bits] >= least)
        return set[str]().union(*(words.forms for _, words in self.near), *close)

    @cached_property
    def told(self) -> list[Line]:
        """The sentences of the passages that are most like it, in order."""
        last_first = ((number, *one) for number, found in self.held.items() for one in sorted(found.items(), reverse=True))
        near = heapq.nlargest(_LINES, ((self.asked.share(bits), number, place) for number, place, bits in last_first))
        return [self.evidence.sources[number].line(place) for _, number, place in near]


def signs(reading: Reading, cited: Sequence[int]) -> list[str]:
    """What speaks against the sentence, by the names of the weights."""
    words, share = reading.asked.words, reading.share
    found = {
        "holds too little": share < _TOO_LITTLE,
        "few words, half held": len(words.content) <= _FEW and share < _HALF,
        "speaks of the passages": share < _SPOKEN_OF and _refuses(words) and not words.forms.isdisjoint(_PASSAGES),
        "foreign name": bool(reading.evidence.unknown_names(words, cited)) or reading.evidence.leads_astray(reading.body, cited),
        "opposite": _opposite(reading),
        "prefixed": _prefixed(reading),
        "number elsewhere": _misplaces(reading),
        **_amounts(reading),
        **_numbers(reading, cited),
        **_negations(reading),
    }
    faults = {name for name, _ in roles.faults(reading.line, reading.told, reading.asked.weights)}
    return [*(name for name, shows in found.items() if shows), *sorted(faults)]


def _numbers(reading: Reading, cited: Sequence[int]) -> dict[str, bool]:
    unknown = reading.evidence.unknown_numbers(reading.line, reading.asked.words, cited)
    counted = [one for one in unknown if is_small_count(one, reading.line)]
    years = [one for one in unknown if one.kind == "year"]
    return {
        "foreign year": bool(years),
        "foreign number": len(unknown) > len(years) + len(counted),
        "uncounted": bool(counted),
        "miscounted": any(_is_counted_otherwise(one, reading) for one in counted),
    }


def _negations(reading: Reading) -> dict[str, bool]:
    words, share = reading.asked.words, reading.share
    bare = _bare_not(reading)
    asserted, denied = _contradicted(reading)
    contrasted = not words.forms.isdisjoint(_CONTRASTING)
    return {
        "bare not": bare and not contrasted,
        "bare not, closely worded": bare and not contrasted and share >= _WORDED,
        "bare not, contrasted": bare and contrasted and share >= _WORDED,
        "asserted there": asserted and share >= _WORDED,
        "asserted there, closely worded": asserted and share >= _CLOSELY,
        "denied there": denied,
        "denied there, closely worded": denied and share >= _CLOSELY,
        "called untrue": _denies_otherwise(reading),
        "called false": _calls_false(reading),
    }


def _is_counted_otherwise(one: Mention, reading: Reading) -> bool:
    """Whether the passages count the same things and come to another number."""
    things = reading.line.following(one.end - 1)
    return bool(things) and any(
        other.kind == "number" and line.following(other.end - 1) == things for line in reading.told for other in line.mentions
    )


def _refuses(words: Words) -> bool:
    return bool(words.negated) or any(stem(form) in lexicon.REFUSING for form in words.forms)


def _contradicted(reading: Reading) -> tuple[bool, bool]:
    """Whether the passages assert a word that the sentence denies, and whether they deny one that it asserts. For each word, the
    sentences decide that have it and are most like the claim."""
    asserted = denied = False
    for key in reading.asked.words.content:
        having = [(share, key in other.negated) for share, other in reading.near if key in other.content]
        top = max((share for share, _ in having), default=0.0)
        said = key in reading.asked.words.negated
        if having and all(negated != said for share, negated in having if share >= top - EQUAL):
            asserted |= said
            denied |= not said
    if asserted and denied and _says_not_as_often(reading):
        return False, False  # each says it of another word
    return asserted, denied


def _says_not_as_often(reading: Reading) -> bool:
    closest = max(reading.near, key=lambda one: one[0])[1]
    return len(closest.negated) == len(reading.asked.words.negated)


def _denies_otherwise(reading: Reading) -> bool:
    """Whether one calls a myth what the other tells as true."""
    top = max((share for share, _ in reading.near), default=0.0)
    denies = reading.asked.words.denies
    return top > 0 and all(other.denies != denies for share, other in reading.near if share >= top - EQUAL)


def _amounts(reading: Reading) -> dict[str, bool]:
    """Whether the sentence has an amount that is nowhere in the passages, where they have another."""
    sources = reading.evidence.sources
    near = "\n".join(sources[number].between(one.first, one.last) for number, one in reading.windows.items())
    strange = exchanged(reading.body[:LINE], near)
    found = [one for one in strange if all(one not in sources[number].amounts for number in reading.windows)]
    return {"other amount": bool(found), "other measure": any(map(is_measure, found))}


def _calls_false(reading: Reading) -> bool:
    """Whether the sentence calls a lie what the passages tell, with a "not" or without one as they do."""
    forms = set[str]().union(*(words.forms for _, words in reading.near))
    alike = bool(reading.asked.words.negated) == any(words.negated for _, words in reading.near)
    return alike and bool(lexicon.CALLED_FALSE.search(reading.body)) and forms.isdisjoint(lexicon.FALSE)


def _bare_not(reading: Reading) -> bool:
    """Whether the sentence says "not" where the words that carry it say nothing of the kind."""
    forms = set[str]().union(*(words.forms for _, words in reading.near))
    told = any(right in forms and stem(left) in reading.asked.words.negated for left, right in _OPPOSITES)  # "not open": closed
    return bool(reading.near) and _refuses(reading.asked.words) and not told and not any(map(_is_negative, forms))


def _opposite(reading: Reading) -> bool:
    """Whether the sentence has the opposite of a word of the passages."""
    said, forms = reading.asked.words.forms, reading.alike
    return any(
        left in said
        and right not in said
        and right in forms
        and left not in forms
        and stem(left) not in reading.asked.words.negated
        for left, right in _OPPOSITES
    )


def _prefixed(reading: Reading) -> bool:
    """Whether the passages have "unknown" where the sentence has "known"."""
    said, forms = reading.asked.words.forms, reading.alike
    return any(
        form not in forms and any(prefix + form in forms and prefix + form not in said for prefix in _PREFIXES)
        for form in said
        if len(form) > 4
    )


def _misplaces(reading: Reading) -> bool:
    """Whether the passages give a number of the sentence to something else: the sentences most like it
    have other numbers, and where this one stands, nothing of the claim is said that is not said there."""
    asked = reading.asked
    if not asked.words.numbers:
        return False
    told = _said(reading)
    closest = max((one.share for one in told), default=0.0)
    found = asked.share(union(one.facts for one in told))  # words found nowhere tell nothing
    if not closest or closest < _ALIKE * found:
        return False
    alike = [one for one in told if one.share >= closest - EQUAL]
    if not all(one.words.numbers for one in alike):
        return False
    said = union(one.facts for one in alike)
    titles = set[str]().union(*(reading.evidence.sources[number].around for number in reading.held))
    return any(_is_elsewhere(key, told, closest, said) for key in asked.words.numbers if key not in titles)


def _said(reading: Reading) -> list[_Said]:
    """What each sentence that shares words with the claim says of it, numbers aside."""
    said: list[_Said] = []
    for number, places in reading.held.items():
        known = reading.evidence.sources[number]
        beside = known.beside(reading.asked)
        for place, bits in places.items():
            facts = (bits | beside) & ~reading.asked.numbers
            said.append(_Said(known.words[place], facts, reading.asked.share(facts)))
    return said


class _Said(NamedTuple):
    words: Words
    facts: int  # bits of the claim's words
    share: float  # of the claim


def _is_elsewhere(key: str, told: Sequence[_Said], closest: float, said: int) -> bool:
    """Whether a number stands only in sentences that are less like the claim and add nothing to it."""
    holders = [one for one in told if has_number(one.words.counts, key)]
    return bool(holders) and not any(one.share >= closest - EQUAL or one.facts & ~said for one in holders)


_OPPOSITES = (*lexicon.OPPOSITES, *((right, left) for left, right in lexicon.OPPOSITES))
_PREFIXES = ("un", "in", "im", "il", "ir", "dis")
_AUXILIARIES = ("did", "does", "do", "is", "was", "were", "are", "could", "would", "should", "has", "have", "had", "ca", "wo")


def _is_negative(form: str) -> bool:
    if form in lexicon.NEGATIVE or (form.endswith("nt") and form[:-2] in _AUXILIARIES):
        return True
    return stem(form) in lexicon.NEGATIVE_STEMS or (
        len(form) > 6 and form.startswith(("un", "non")) and not form.startswith(lexicon.NOT_PREFIXED)
    )
