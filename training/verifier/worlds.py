"""Passages about made-up people, works and places, with claims on them: no text is needed to make them.

Each line of `relations.txt` has the forms of one fact. A passage tells several facts, each in one form; a true claim tells one
of them in another; an untrue one has another filler of the passage in a place, two exchanged, or says another fact's words of
the same fillers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from training.verifier.facts import COUNTED, MONTHS, ORDERED, words

Fillers = dict[str, str]
_SLOT = re.compile(r"\{(\w)\}")
_PERSON, _WORK, _BODY, _PLACE, _YEARS, _NUMBERS = "PQ", "WV", "OU", "LM", "YZ", "NK"
_SAME_KIND = (_PERSON, _WORK, _BODY, _PLACE, _YEARS, _NUMBERS)
_KIN = words("""
    father mother son daughter brother sister husband wife uncle aunt cousin nephew niece grandson
""")
_ROLES = words("""
    president chairman director mayor governor captain editor principal dean conductor secretary treasurer minister
    judge
""")
_WORKERS = words("""
    teacher pharmacist nurse farmer engineer lawyer manager doctor sailor driver soldier clerk baker tenant student
""")
_OTHERS = words("""
    patient pupil customer passenger guest employer insurer landlord visitor owner neighbour merchant thief
""")
_GOODS = words("""
    bread steel copper wool rings violins gold tea glass silver timber manuscripts coal cotton a
    comet maps rubber milk tools paper salt paintings fish rice medicine cells crops books
""")
_FIELDS = words("""
    chemistry law medicine physics music history geology botany smoking erosion fever drought dust iron clay wood
    stress mathematics philosophy cancer influenza pollution noise radiation
""")
_AWARDS = [
    "Golden Lantern",
    "Silver Compass",
    "Harlow Prize",
    "National Book Medal",
    "Order of Merit",
    "Crystal Award",
    "State Prize",
]
_FIRST = words("""
    James Mary Anna Peter Karl Louise Ravi Mei Omar Sofia Ivan Greta Paul Nadia Hugo Clara Tomas Elena Victor Ruth
    Samuel Lucia Henry Ingrid Marco Aisha Daniel Freya Joseph Marta Simon Yuki George Irene Walter Petra Leon Diana
    Felix Rosa
""")
_PARTS = words("""
    bar ven dor kel mar tin sal rov hus gar lin per thos wick ford mond dale brook stan ley ham ker vic ran zel pol dra
    nov
""")
_THINGS = words("""
    River Winter Glass Night Garden Stone Harbour Letters Shadow Bridge Orchard Summer Mirror Station Lantern Island
    Storm Silence Road Feather Clock Forest Window Kingdom Ashes
""")
_ENDS = {
    "O": (
        "Company",
        "University",
        "United",
        "Records",
        "Bank",
        "Museum",
        "Institute",
        "Party",
        "Society",
        "Rovers",
        "College",
        "Group",
    )
}


class World(NamedTuple):
    """A passage and claims on it: the true one first, then what is untrue."""

    title: str
    text: str
    claims: tuple[tuple[str, tuple[str, ...]], ...]


@cache
def relations() -> list[list[str]]:
    lines = Path(__file__).with_name("relations.txt").read_text(encoding="utf-8").splitlines()
    return [[form.strip() for form in line.split(" | ")] for line in lines if line and not line.startswith("#")]


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(_PARTS) for _ in range(rng.choice((2, 2, 3)))).capitalize()


def _filler(slot: str, rng: random.Random) -> str:
    """A new one for a slot."""
    if slot in _PERSON:
        return f"{rng.choice(_FIRST)} {_word(rng)}" if rng.random() < 0.85 else _word(rng)
    if slot in _WORK:
        one, other = rng.sample(_THINGS, 2)
        return rng.choice(
            (f"The {one}", f"{one} and {other}", f"The {one} of {_word(rng)}", f"{one} {other}", f"A {other} in {_word(rng)}")
        )
    if slot in _BODY:
        return f"{_word(rng)} {rng.choice(_ENDS['O'])}" if rng.random() < 0.8 else _word(rng).upper()[:4]
    if slot in _PLACE:
        return _word(rng) if rng.random() < 0.7 else f"{rng.choice(('New', 'Port', 'North', 'Saint', 'Upper'))} {_word(rng)}"
    if slot in _YEARS:
        return str(rng.randint(1750, 2020))
    if slot == "D":
        return f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(1750, 2020)}"
    if slot in _NUMBERS:
        return str(rng.choice((rng.randint(2, 30), rng.randint(20, 99), rng.randint(100, 999) * 10, rng.randint(2, 90) * 1000)))
    rows = {"R": _ROLES, "C": _KIN, "A": _AWARDS, "G": _GOODS, "F": _FIELDS}
    return rng.choice(rows[slot])


def _filled(forms: list[str], cast: dict[str, list[str]], rng: random.Random, known: Mapping[str, Sequence[str]]) -> Fillers:
    """Fillers for a fact, some of them from facts told before."""
    fillers: Fillers = {}
    common = "{R}s" in forms[0] or "The {R}" in forms[0]
    for slot in dict.fromkeys(_SLOT.findall(" ".join(forms))):
        row = next((kind for kind in _SAME_KIND if slot in kind), slot)
        met = [one for one in cast.get(row, []) if one not in fillers.values()]
        if met and rng.random() < 0.45 and row not in (_YEARS, _NUMBERS, "D"):
            fillers[slot] = rng.choice(met)
            continue
        new = rng.choice(known[row]) if known.get(row) and rng.random() < 0.5 else _filler(slot, rng)
        if new in fillers.values():
            new = _filler(slot, rng)
        if common and slot in "RC":
            new = rng.choice(_WORKERS if slot == "R" else _OTHERS)
        if slot == "K" and "album" in forms[0]:
            new = rng.choice(ORDERED)
        fillers[slot] = new
        cast.setdefault(row, []).append(new)
    if fillers.keys() >= set(_YEARS) and fillers["Y"] > fillers["Z"]:
        fillers |= {"Y": fillers["Z"], "Z": fillers["Y"]}
    return fillers


def _said(form: str, fillers: Fillers) -> str:
    text = _SLOT.sub(lambda match: fillers[match[1]], form).strip().rstrip(",")
    if form.rstrip().endswith(",") or re.search(r"\([^()]*\)$", text):  # a name with something beside it is no sentence yet
        text += " is mentioned often"
    return text[:1].upper() + text[1:] + "."


def _shorter(text: str, fillers: Fillers, rng: random.Random) -> str:
    """People by their last names, dates by the year, as those do who write about a passage."""
    for slot, filler in fillers.items():
        if slot in _PERSON and " " in filler and rng.random() < 0.3:
            text = text.replace(filler, filler.split()[-1])
        if slot == "D" and rng.random() < 0.3:
            text = text.replace(f"on {filler}", f"in {filler[-4:]}")
        if slot == "D" and rng.random() < 0.3 and filler in text:
            day, month, year = filler.split()
            text = text.replace(filler, f"{month} {day}, {year}")
        if slot in _NUMBERS and filler.isdigit() and int(filler) <= 12 and rng.random() < 0.5:
            text = re.sub(rf"\b{filler}\b", COUNTED[int(filler) - 1], text)
        elif slot in _NUMBERS and len(filler) > 3 and filler.isdigit():
            text = text.replace(filler, f"{int(filler):,}")
    return text


def _wrong(fillers: Fillers, cast: dict[str, list[str]], rng: random.Random) -> Fillers | None:
    """Other fillers: one replaced by another of its kind, or two exchanged."""
    for first, second in rng.sample([kind for kind in _SAME_KIND], len(_SAME_KIND)):
        if first in fillers and second in fillers and rng.random() < 0.35:
            return fillers | {first: fillers[second], second: fillers[first]}
    slot = rng.choice(list(fillers))
    row = next((kind for kind in _SAME_KIND if slot in kind), slot)
    others = [one for one in cast.get(row, []) if one not in fillers.values()]
    if slot == "D" and rng.random() < 0.6:
        day, month, year = fillers[slot].split()
        changes = (f"{day} {month} {int(year) + rng.choice((-3, -1, 1, 2, 10))}", f"{int(day) % 28 + 1} {month} {year}")
        return fillers | {slot: rng.choice((*changes, f"{day} {rng.choice([m for m in MONTHS if m != month])} {year}"))}
    if not others or rng.random() < 0.2:
        new = _filler(slot, rng)
        return fillers | {slot: new} if new != fillers[slot] and slot not in "RC" else None
    return fillers | {slot: rng.choice(others)}


def _told_otherwise(forms: list[str], fillers: Fillers, rng: random.Random) -> str | None:
    """Another fact's words for the same fillers."""
    fits = [other for other in relations() if other is not forms and set(_SLOT.findall(" ".join(other))) <= fillers.keys()]
    fits = [other for other in fits if ("{R}s" in other[0]) == ("{R}s" in forms[0])]
    return _said(rng.choice(rng.choice(fits)), fillers) if fits else None


def _once_more(text: str, title: str, rng: random.Random) -> str:
    """A sentence that opens with the passage's subject, with a pronoun instead."""
    if text.startswith(f"{title} ") and rng.random() < 0.6:
        return rng.choice(("He", "She", "It")) + text[len(title) :]
    return text


def _joined(facts: Sequence[tuple[str, tuple[str, ...]]], rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Two facts in one claim; untrue where one of them is."""
    (first, untrue), (second, wrong) = rng.sample(list(facts), 2)
    joint = rng.choice((", and ", "; ", ", while ", " and "))

    def both(one: str, other: str) -> str:
        return f"{one.rstrip('.')}{joint}{other}"

    return both(first, second), (*(both(one, second) for one in untrue[:1]), *(both(first, one) for one in wrong[:1]))


def world(rng: random.Random, besides: Sequence[str] = (), known: Mapping[str, Sequence[str]] | None = None) -> World:
    """One passage with its claims. `besides` are sentences that say nothing of them, `known` are names by the slots they fit."""
    cast: dict[str, list[str]] = {}
    chosen = rng.sample(relations(), rng.randint(2, 7))
    told = [(forms, _filled(forms, cast, rng, known or {}), rng.randrange(len(forms))) for forms in chosen]
    slots = told[0][1]
    title = slots.get("P") or slots.get("W") or slots.get("O") or slots.get("L") or next(iter(slots.values()))
    said = [_said(forms[place], fillers) for forms, fillers, place in told]
    said = said[:1] + [_once_more(one, title, rng) for one in said[1:]]
    for one in rng.sample(list(besides), min(len(besides), rng.choice((0, 0, 1, 2, 3)))):
        said.insert(rng.randrange(len(said) + 1), one)
    facts = [_claimed(forms, fillers, place, cast, rng) for forms, fillers, place in told]
    if rng.random() < 0.5:
        facts.append(_joined(facts, rng))
    return World(title, " ".join(said), tuple(facts))


def _claimed(
    forms: list[str], fillers: Fillers, place: int, cast: dict[str, list[str]], rng: random.Random
) -> tuple[str, tuple[str, ...]]:
    """A fact that was told in one form, claimed in another; and what is untrue of it."""
    form = rng.choice([one for n, one in enumerate(forms) if n != place] if rng.random() < 0.85 else forms)
    untrue: set[str] = set()
    for _ in range(2):
        if other := _wrong(fillers, cast, rng):
            untrue.add(_shorter(_said(form if rng.random() < 0.7 else rng.choice(forms), other), other, rng))
    if rng.random() < 0.3 and (other_words := _told_otherwise(forms, fillers, rng)):
        untrue.add(_shorter(other_words, fillers, rng))
    true = _shorter(_said(form, fillers), fillers, rng)
    return true, tuple(sorted(untrue - {true}))
