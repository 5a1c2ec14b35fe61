"""Whether a sentence gives its names and numbers the parts that its passages give them.

Names and numbers may all be there and still be exchanged: another agent, the date of something else. Two signs show it.
A verb's agent: behind "by", or before the verb. And who stands closest: a name or number is out of place where another
one of its kind, which the sentence does not mention, stands closer to the words around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise, takewhile

from wellread.citations.arrangement import Line, Mention
from wellread.text import lexicon
from wellread.text.words import Token, stem

_CLAUSE = 5  # words around a verb; a line that has none of them speaks of something else
_TOGETHER = 8  # words between two names that a sentence connects by itself
_VISITING = frozenset(map(stem, ("visit", "travel", "go", "trip", "journey", "tour", "arrive", "return", "stay")))
# Several may do these at once (an artist and a label release), or they say too little alone to tell who did what.
_BY_ANYONE = frozenset(
    map(stem, ("released", "based", "became", "took", "did", "went", "came", "had", "born", "known", "called"))
)
_JOINING = frozenset(("and", "but", "while", "whereas"))
_CLAUSE_WORDS = 2
_NEAR = 4  # words; how fast closeness fades
_SIDE, _FRAME = 4, 6  # words that are looked at on either side, and that must be the same on both together
_EDGE = Token("stop", "")
_CLOSER = 1.15  # times as close as the one that is said
_AT_LEAST = 0.05  # and by so much, where 1 is: all words stand beside it


_TURNED: dict[str, tuple[str, ...]] = {}
for _left, _right in lexicon.TURNING:
    _TURNED[_left] = (*_TURNED.get(_left, ()), _right)
    _TURNED[_right] = (*_TURNED.get(_right, ()), _left)


_ALSO = {"last": ("final", "latest"), "first": ("initial", "1"), "before": ("prior",), "after": ("following",)}
FAULTS = (
    "exchanged",
    "turned round",
    "misrelated",
    "misdated",
    "opposed",
    "unconnected",
    "replaced",
    "displaced year",
    "displaced",
)


def faults(claim: Line, told: Sequence[Line], weights: Mapping[str, float]) -> Iterable[tuple[str, Mention]]:
    """The names and numbers of a claim whose place in the passages another one has, by what shows it."""
    shown = (_exchanged, _turned_round, _misrelated, _misdated, _opposed, _unconnected, _replaced)
    for name, find in zip(FAULTS, shown, strict=False):
        if fault := find(claim, told):
            yield name, fault
    for one in claim.mentions:
        if _is_displaced(one, claim, told, weights):
            yield "displaced year" if one.kind == "year" else "displaced", one


def _opposed(claim: Line, told: Sequence[Line]) -> Mention | None:
    """A word like "before" where the passages have "after" in front of the same word, and nowhere what the claim says."""
    for place, token in enumerate(claim.tokens):
        for opposite in _TURNED.get(token.form, ()):
            following = claim.following(place)
            same = (token.form, *_ALSO.get(token.form, ()))
            if not following or any(following == line.following(at) for line in told for form in same for at in line.at(form)):
                continue
            if any(following == line.following(at) for line in told for at in line.at(opposite)):
                return Mention("name", frozenset((token.form,)), place, place + 1)
    return None


def _unconnected(claim: Line, told: Sequence[Line]) -> Mention | None:
    """A name that the passages have, but nowhere with what the claim says of it, nor close to the claim's other names: a
    post that names Simon, and a museum in Madagascar, does not send him there."""
    names = [one for one in claim.mentions if one.kind == "name"]
    others = [one for one in names if not one.is_same(names[0])]
    if not others:
        return None
    inside = {place for one in claim.mentions for place in range(one.start, one.end)}
    says = {key for place, key in enumerate(claim.stems) if key and place not in inside}
    says |= _VISITING if any(a.form == "been" and b.form == "to" for a, b in pairwise(claim.tokens)) else set()
    for line in told:
        here = [one for one in line.mentions if _any_same([one], names)]
        if here and says & set(line.stems):
            return None
        if any(not a.is_same(b) and abs(a.start - b.start) <= _TOGETHER for a in here for b in here):
            return None
    return others[-1]


def _turned_round(claim: Line, told: Sequence[Line]) -> Mention | None:
    """Someone who takes another's part: the passages have "against X", the claim has X and "against Y"."""
    known: dict[str, list[Mention]] = {}
    for line in told:
        for key, names in line.governed().items():
            known.setdefault(key, []).extend(names)
    for key, names in claim.governed().items():
        others = known.get(key, [])
        if not others or _any_same(names, others):
            continue
        free = [one for one in claim.mentions if one.kind == "name" and not _any_same([one], names)]
        if any(_any_same([one], others) for one in free):
            return names[0]
    return None


def _misrelated(claim: Line, told: Sequence[Line]) -> Mention | None:
    """Someone's father who is called the son."""
    known: dict[str, set[str]] = {}
    for line in told:
        for form, kin in line.related().items():
            known.setdefault(form, set()).add(kin)
    for form, kin in claim.related().items():
        if form in known and kin not in known[form]:
            return next(one for one in claim.mentions if form in one.forms)
    return None


def _misdated(claim: Line, told: Sequence[Line]) -> Mention | None:
    """A date that no line has, where lines have dates in its month or on its day: its parts come from several."""
    known = [date for line in told for date in line.dates()]
    for date in claim.dates():
        rivals = [other for other in known if date.is_rival(other)]
        if rivals and not any(date.agrees(other) for other in known):
            return date.mention
    return None


def _replaced(claim: Line, told: Sequence[Line]) -> Mention | None:
    """A name or number where the passages have another one between the same words."""
    for one in claim.mentions:
        alike = [(other, *_beside(claim, one, line, other)) for line in told for other in line.mentions if other.kind == one.kind]
        own = max((before + behind for other, before, behind in alike if other.is_same(one)), default=0)
        others = (before + behind for other, before, behind in alike if min(before, behind) > 1 and not other.is_same(one))
        if max(others, default=0) >= max(_FRAME, own + 2):
            return one
    return None


def _beside(claim: Line, one: Mention, line: Line, other: Mention) -> tuple[int, int]:
    """How many words before and behind two of a kind are the same, the nearest first; that both begin there is one, too."""
    before = _same((*reversed(claim.tokens[: one.start]), _EDGE), (*reversed(line.tokens[: other.start]), _EDGE))
    return before, _same(claim.tokens[one.end :], line.tokens[other.end :])


def _same(ours: Iterable[Token], theirs: Iterable[Token]) -> int:
    pairs = islice(zip(ours, theirs, strict=False), _SIDE)
    return sum(1 for _ in takewhile(lambda pair: (pair[0].form or pair[0].raw) == (pair[1].form or pair[1].raw), pairs))


def _is_displaced(one: Mention, claim: Line, told: Sequence[Line], weights: Mapping[str, float]) -> bool:
    if one.kind in ("day", "name") or any(one.forms & line.title for line in told) or claim.tokens[one.start].form == "one":
        return False
    kinds = {other.kind for line in told for other in line.mentions if other.forms == one.forms}
    if one.kind not in kinds:
        return one.kind == "number" and kinds == {"day"}  # "number 12" of "March 12"
    own, best = _contest(one, claim, told, weights)
    return best > _CLOSER * own and best > own + _AT_LEAST


def _contest(one: Mention, claim: Line, told: Sequence[Line], weights: Mapping[str, float]) -> tuple[float, float]:
    """How close a number stands to the words around it, and how close the closest other does."""
    around = _around(claim, one, weights)
    own = best = 0.0
    for line in told:
        for other in line.mentions:
            if other.kind != one.kind:
                continue
            close = _closeness(line, other, around)
            if other.is_same(one):
                own = max(own, close)
            elif not any(other.is_same(said) for said in claim.mentions) and _counts_alike(line, other, claim):
                best = max(best, close)
    return own, best


def _counts_alike(line: Line, one: Mention, claim: Line) -> bool:
    """Whether a number of a line counts what the claim speaks of: "366,273 households" is no number of people."""
    return one.kind != "number" or one.end >= len(line.stems) or not line.stems[one.end] or line.stems[one.end] in claim.stems


def _around(claim: Line, one: Mention, weights: Mapping[str, float]) -> dict[str, float]:
    """The other words of the claim, by their weight and how close they stand."""
    around: dict[str, float] = {}
    first, last = _clause(claim, one)
    for place, key in enumerate(claim.stems):
        if key and first <= place < last and not one.start <= place < one.end:
            around[key] = max(around.get(key, 0.0), weights.get(key, 1.0) * _fade(_gap(place, one)))
    total = sum(around.values()) or 1.0
    return {key: weight / total for key, weight in around.items()}


def _clause(claim: Line, one: Mention) -> tuple[int, int]:
    """The part of a claim between "and" and "but" that a number stands in; all of it where that part says too little."""
    joints = [place for place, token in enumerate(claim.tokens) if token.form in _JOINING or token.raw == ";"]
    first = max((place for place in joints if place < one.start), default=0)
    last = min((place for place in joints if place >= one.end), default=len(claim.tokens))
    words = sum(bool(key) and not key.startswith("#") for key in claim.stems[first:last])
    return (first, last) if words >= _CLAUSE_WORDS else (0, len(claim.tokens))


def _closeness(line: Line, one: Mention, around: Mapping[str, float]) -> float:
    best: dict[str, float] = {}
    for place, key in enumerate(line.stems):
        if key in around and not one.start <= place < one.end:
            best[key] = max(best.get(key, 0.0), _fade(_gap(place, one)))
    return sum(around[key] * close for key, close in best.items())


def _gap(place: int, one: Mention) -> int:
    return one.start - place if place < one.start else place - one.end + 1


def _fade(gap: int) -> float:
    return 1.0 / (1.0 + (gap - 1) / _NEAR)


def _exchanged(claim: Line, told: Sequence[Line]) -> Mention | None:
    """Someone the claim makes the agent of a verb whose agent the passages name otherwise."""
    by = claim.actors()
    for place, verb in enumerate(claim.stems):
        if not verb or verb in _BY_ANYONE or not claim.is_verb(place):
            continue
        agents = by[verb][0] if verb in by else [] if claim.is_passive(place) else claim.subjects(place)
        if not agents:
            continue
        close = {key for key in claim.stems[max(0, place - _CLAUSE) : place + _CLAUSE] if key and key != verb}
        close -= {key for one in agents for key in claim.stems[one.start : one.end]}
        verdicts = [found for line in told if not close or close & _speaks_of(line) for found in _agrees(line, verb, agents)]
        if verdicts and not any(verdicts):
            return agents[0]
    return None


def _speaks_of(line: Line) -> set[str]:
    return {*line.stems, *map(stem, line.title)}


def _agrees(line: Line, verb: str, agents: Sequence[Mention]) -> Iterable[bool]:
    """For each time a line uses a verb with an agent: whether it is one of these."""
    by = line.actors()
    for place in line.places(verb):
        if verb in by:
            yield _any_same(agents, by[verb][0])
        elif not line.is_passive(place) and line.is_verb(place):
            before = line.subjects(place)
            if _any_same(agents, before):
                yield True
            elif any(not line.is_pronoun(one) for one in before):  # whom a pronoun stands for, the title only guesses
                yield False


def _any_same(some: Iterable[Mention], others: Sequence[Mention]) -> bool:
    return any(one.is_same(other) for one in some for other in others)
