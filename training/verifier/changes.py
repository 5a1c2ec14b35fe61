"""What makes a true sentence untrue: another name, date, number, an exchange, a negation, other words."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from training.verifier.facts import COUNTED, DATE, MONTHS, ORDERED, PEOPLE, Fact, Sorts, alike, facts, listed, names

from wellread.text.lexicon import IRREGULAR, OPPOSITES, STOPWORDS
from wellread.text.words import stem


class Scene(NamedTuple):
    """The passage that a claim is about, and names from elsewhere."""

    text: str
    found: Sequence[Fact]
    elsewhere: Sequence[str]
    sorts: Sorts


Change = Callable[[str, Scene, random.Random], str | None]
_BE = re.compile(r"\b(is|are|was|were|has|had|can|could|will|would|may|must|should)\b(?! (?:not|never))")
_VERB = re.compile(r"\b(?:(?P<ed>[a-z]{3,}ed)|(?P<irregular>" + "|".join(IRREGULAR) + r"))\b")
_NOT = re.compile(r"\b(?:not|never|no longer) |\bno (?=[a-z])|n't\b")
_WORD = re.compile(r"(?<![\w'’-])[a-z]{4,}(?![\w'’-])")
_PAIRS = {left: right for left, right in (*OPPOSITES, *((b, a) for a, b in OPPOSITES))}
_OPPOSED = re.compile(r"\b(?:" + "|".join(_PAIRS) + r")\b")


def changed(claim: str, scene: Scene, rng: random.Random) -> str | None:
    """An untrue sentence that looks much like the true one; None where no way fits."""
    ways: list[tuple[float, Change]] = [
        (5, _other_name), (3, _exchange), (2, _other_date), (1.5, _other_number), (2, _negation), (1, _opposite),
        (0.8, _other_word), (1.5, _other_subject),
    ]  # fmt: skip
    for _ in range(5):
        way = rng.choices([way for _, way in ways], [weight for weight, _ in ways])[0]
        if (made := way(claim, scene, rng)) and made != claim and made not in scene.text:
            return made[:1].upper() + made[1:]
    return None


def _put(claim: str, fact: Fact, new: str) -> str:
    return claim[: fact.start] + new + claim[fact.end :]


def _shape(name: str) -> tuple[int, bool]:
    return min(len(name.split()), 2), name in PEOPLE


def _other_name(claim: str, scene: Scene, rng: random.Random) -> str | None:
    mine = names(claim)
    if not mine:
        return None
    old = rng.choice([*mine, mine[0]])
    others = [fact.text for fact in scene.found if fact.kind == "name"] if rng.random() < 0.75 else list(scene.elsewhere)
    others = [
        one
        for one in others
        if not alike(one, old.text) and (one in PEOPLE) == (old.text in PEOPLE) and not listed(scene.text, one, old.text)
    ]
    if rng.random() < 0.9:
        sort = scene.sorts.of(old.text)
        others = [one for one in others if scene.sorts.of(one) == sort] or ([] if rng.random() < 0.5 else others)
    if rng.random() < 0.6:
        others = [one for one in others if _shape(one) == _shape(old.text)] or others
    if rng.random() < 0.7:
        others = [one for one in others if one not in claim] or others
    return _put(claim, old, rng.choice(others)) if others else None


def _exchange(claim: str, scene: Scene, rng: random.Random) -> str | None:
    """Two names, or two dates or numbers, change places."""
    found = facts(claim)
    pairs = [
        (a, b)
        for n, a in enumerate(found)
        for b in found[n + 1 :]
        if a.kind == b.kind
        and a.text != b.text
        and not listed(claim, a.text, b.text)
        and (a.kind != "name" or not alike(a.text, b.text))
    ]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    return claim[: a.start] + b.text + claim[a.end : b.start] + a.text + claim[b.end :]


def _other_date(claim: str, scene: Scene, rng: random.Random) -> str | None:
    mine = [fact for fact in facts(claim) if fact.kind in ("date", "year")]
    if not mine:
        return None
    old = rng.choice(mine)
    others = [fact.text for fact in scene.found if fact.kind == old.kind and fact.text not in claim]
    if others and rng.random() < 0.5:
        return _put(claim, old, rng.choice(others))
    match = DATE.fullmatch(old.text)
    part = rng.choice(("year", "month", "day")) if match else "year"
    if match and part == "month":
        month = match["month"] or match["us"] or match["bare"]
        return _put(claim, old, old.text.replace(month, rng.choice([one for one in MONTHS if one != month])))
    if match and part == "day" and (day := match["day"] or match["usday"]):
        other = str(rng.choice([n for n in range(1, 29) if str(n) != day]))
        return _put(claim, old, re.sub(rf"\b{day}\b", other, old.text, count=1))
    year = old.text[-4:]
    return _put(claim, old, old.text[:-4] + _other_year(year, rng))


def _other_year(year: str, rng: random.Random) -> str:
    return str(int(year) + rng.choice((-1, 1)) * rng.choice((1, 1, 2, 3, 4, 5, 7, 8, 9, 10, 10, 20, 100)))


def _other_number(claim: str, scene: Scene, rng: random.Random) -> str | None:
    mine = [fact for fact in facts(claim) if fact.kind == "number"]
    if not mine:
        return None
    old = rng.choice(mine)
    others = [
        fact.text
        for fact in scene.found
        if fact.kind == "number" and fact.text not in claim and fact.text.isalpha() == old.text.isalpha()
    ]
    if others and rng.random() < 0.5:
        return _put(claim, old, rng.choice(others))
    for row in (COUNTED, ORDERED):
        if old.text in row:
            return _put(claim, old, rng.choice([one for one in row[1:] if one != old.text]))
    digits = list(old.text)
    at = rng.choice([place for place, digit in enumerate(digits) if digit.isdigit()])
    digits[at] = rng.choice([digit for digit in "123456789" if digit != digits[at]])
    return _put(claim, old, "".join(digits))


def _negation(claim: str, scene: Scene, rng: random.Random) -> str | None:
    if _NOT.search(claim):
        return _NOT.sub("", claim, count=1)
    no = "not" if rng.random() < 0.85 else "never"
    if match := _BE.search(claim):
        return f"{claim[: match.end()]} {no}{claim[match.end() :]}"
    if match := _VERB.search(claim):
        base = IRREGULAR.get(match[0]) or stem(match[0])
        base += "e" if match["ed"] and match[0][:-1].endswith(base + "e") and base[-1:] in "cvzsugr" else ""
        refusal = rng.choice((f"did not {base}", f"never {match[0]}", f"failed to {base}", f"did not {base}"))
        return f"{claim[: match.start()]}{refusal}{claim[match.end() :]}"
    return None


def _opposite(claim: str, scene: Scene, rng: random.Random) -> str | None:
    found = list(_OPPOSED.finditer(claim))
    if not found:
        return None
    match = rng.choice(found)
    return claim[: match.start()] + _PAIRS[match[0]] + claim[match.end() :]


def _ending(word: str) -> str:
    return next((end for end in ("ing", "ed", "ly", "tion", "ers", "ies", "ity", "al", "er", "s") if word.endswith(end)), "")


def _other_word(claim: str, scene: Scene, rng: random.Random) -> str | None:
    """A small word of the passage in the place of another with the same ending."""
    mine = [match for match in _WORD.finditer(claim) if match[0] not in STOPWORDS]
    if not mine:
        return None
    old = rng.choice(mine)
    known = {stem(word) for word in _WORD.findall(claim)}
    others = [
        word
        for word in dict.fromkeys(_WORD.findall(scene.text))
        if word not in STOPWORDS
        and _ending(word) == _ending(old[0])
        and stem(word) not in known
        and abs(len(word) - len(old[0])) < 6
    ]
    return claim[: old.start()] + rng.choice(others) + claim[old.end() :] if others else None


def _other_subject(claim: str, scene: Scene, rng: random.Random) -> str | None:
    """What stands before the first verb, replaced by a phrase or a name of the passage."""
    match = _BE.search(claim) or _VERB.search(claim)
    if not match or match.start() < 3 or match.start() > 60:
        return None
    old = claim[: match.start()].strip()
    phrases = re.findall(r"\b[Tt]he (?:[a-z]+ )?[a-z]{4,}\b(?= )", scene.text) if not names(old) else []
    sorts = {scene.sorts.of(fact.text) for fact in names(old)}
    phrases += [fact.text for fact in scene.found if fact.kind == "name" and scene.sorts.of(fact.text) in sorts]
    phrases = [
        one
        for one in phrases
        if not alike(one.removeprefix("the ").removeprefix("The "), old) and not listed(scene.text, one, old)
    ]
    return f"{rng.choice(phrases)} {claim[match.start() :]}" if phrases else None
