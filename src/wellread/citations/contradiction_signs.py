"""Signs that passages contradict a sentence which cites them: what they lack, and what they have otherwise.

Each sign earned its place on sentences with human labels, or is a veto: docs/log/citations.md has the table.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile

from wellread.citations.arrangement import Line, Mention, arranged, exchanges, is_small_count
from wellread.citations.evidence import EQUAL, Asked, Evidence, Window, union
from wellread.text import lexicon
from wellread.text.amounts import exchanged
from wellread.text.dates import dates_in
from wellread.text.words import Token, Words
from wellread.types import Claim

# A year, date, number, unit or name that the passages do not have, or have otherwise, or a "not" in their own words or gone from
# them: no reader overrules these, at any effort.
VETOES = frozenset(("foreign name", "foreign number", "miscounted", "other measure", "misdated", "replaced", "denied"))
_OWN_WORDS = 0.8  # share of a sentence from which on it is in its passages' words
_TOO_LITTLE = 0.35  # share of a sentence's weight that its passages must hold
_LINES = 8  # sentences of the passages that are compared word by word
_SIDE, _FRAME = 4, 6  # words that are looked at on either side, and that must be the same on both together
_EDGE = Token("stop", "")


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
        return arranged(self.body)

    @cached_property
    def share(self) -> float:
        """How much of the sentence the windows hold."""
        return self.asked.share(union(window.bits for window in self.windows.values()))

    @property
    def claim(self) -> Claim:
        """What a closer reader is shown, the passages that hold most of it first."""
        best = sorted(self.windows, key=lambda number: -self.asked.share(self.windows[number].bits))
        passages = [self.evidence.sources[number].passage for number in best]
        return Claim(self.body, passages, self.share, exchanges(self.line, self.body))

    @cached_property
    def near(self) -> list[tuple[float, Words]]:
        """The sentences of the windows, with how much of the claim each holds."""
        return [
            (self.asked.share(self.held[number].get(place, 0)), self.evidence.sources[number].words[place])
            for number, window in self.windows.items()
            for place in range(window.first, window.last + 1)
        ]

    @cached_property
    def told(self) -> list[Line]:
        """The sentences of the passages that are most like it."""
        last_first = ((number, *one) for number, found in self.held.items() for one in sorted(found.items(), reverse=True))
        near = heapq.nlargest(_LINES, ((self.asked.share(bits), number, place) for number, place, bits in last_first))
        return [arranged(self.evidence.sources[number].between(place, place)) for _, number, place in near]


def signs(reading: Reading) -> list[str]:
    """What speaks against the sentence; those that are no vetoes are for every reader to weigh."""
    evidence, words, cited = reading.evidence, reading.asked.words, reading.windows
    unknown = evidence.unknown_numbers(reading.line, words, cited)
    counted = [one for one in unknown if is_small_count(one, reading.line)]
    negated = _negated(reading)
    found = {
        "holds too little": reading.share < _TOO_LITTLE,
        "negated": negated,
        "denied": negated and (reading.share >= _OWN_WORDS if words.negated else _without_not(reading)),
        "foreign name": bool(evidence.unknown_names(words, cited)) or evidence.leads_astray(reading.body, cited),
        "foreign number": len(unknown) > len(counted),
        "miscounted": any(_is_counted_otherwise(one, reading) for one in counted),
        "other measure": _other_measure(reading),
        "misdated": _misdated(reading),
        "replaced": _replaced(reading.line, reading.told),
    }
    return [name for name, shows in found.items() if shows]


def _negated(reading: Reading) -> bool:
    """Whether one side has a "not" that the other has not: the sentence where the words that carry it say nothing of the kind,
    or the passages at a word that it asserts. For each word, the sentences decide that have it and are most like the claim."""
    words = reading.asked.words
    if words.negated:
        return bool(reading.near) and not any(other.negated or other.forms & lexicon.NEGATIVE for _, other in reading.near)
    for key in words.content:
        having = [(share, key in other.negated) for share, other in reading.near if key in other.content]
        top = max((share for share, _ in having), default=0.0)
        if having and all(negated for share, negated in having if share >= top - EQUAL):
            return True
    return False


def _without_not(reading: Reading) -> bool:
    """Whether the sentence is one of the passages, its "not" left out."""
    said, *told = ([one.form for one in line.tokens if one.kind != "stop"] for line in (reading.line, *reading.told))
    return any(len(said) < len(one) and said == [form for form in one if form not in lexicon.NEGATORS] for one in told)


def _is_counted_otherwise(one: Mention, reading: Reading) -> bool:
    """Whether the passages count the same things and come to another number."""
    things = reading.line.following(one.end - 1)
    return bool(things) and any(
        other.kind == "number" and line.following(other.end - 1) == things for line in reading.told for other in line.mentions
    )


def _other_measure(reading: Reading) -> bool:
    """Whether the sentence has an amount that is nowhere in the passages, where they have another."""
    sources = reading.evidence.sources
    near = "\n".join(sources[number].between(one.first, one.last) for number, one in reading.windows.items())
    strange = exchanged(reading.body, near)
    return any(all(one not in sources[number].amounts for number in reading.windows) for one in strange)


def _misdated(reading: Reading) -> bool:
    """Whether no passage has a date of the sentence, where they have dates in its month or on its day: its parts come from
    several, or one of them from nowhere."""
    told = [date for number in reading.windows for date in reading.evidence.sources[number].dates if date.month]
    return any(
        any(date.is_rival(other) for other in told) and not any(date.agrees(other) for other in told)
        for date in dates_in(reading.body)
        if date.month
    )


def _replaced(claim: Line, told: Sequence[Line]) -> bool:
    """Whether the passages have another name or number between the same words."""
    for one in claim.mentions:
        alike = [(other, *_beside(claim, one, line, other)) for line in told for other in line.mentions if other.kind == one.kind]
        own = max((before + behind for other, before, behind in alike if other.is_same(one)), default=0)
        others = (before + behind for other, before, behind in alike if min(before, behind) > 1 and not other.is_same(one))
        if max(others, default=0) >= max(_FRAME, own + 2):
            return True
    return False


def _beside(claim: Line, one: Mention, line: Line, other: Mention) -> tuple[int, int]:
    """How many words before and behind two of a kind are the same, the nearest first; that both begin there is one, too."""
    before = _same((*reversed(claim.tokens[: one.start]), _EDGE), (*reversed(line.tokens[: other.start]), _EDGE))
    return before, _same(claim.tokens[one.end :], line.tokens[other.end :])


def _same(ours: Iterable[Token], theirs: Iterable[Token]) -> int:
    pairs = islice(zip(ours, theirs, strict=False), _SIDE)
    return sum(1 for _ in takewhile(lambda pair: (pair[0].form or pair[0].raw) == (pair[1].form or pair[1].raw), pairs))
