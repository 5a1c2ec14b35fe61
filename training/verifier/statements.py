"""True statements read off what the first lines of an encyclopaedia say by their form."""

from __future__ import annotations

import random
import re

from training.verifier.facts import MONTHS


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _when(answer: str) -> str:
    if re.match(r"(?:in|on|at|during|from|by|after|before|since|near|around|about|between)\b", answer, re.I):
        return answer[:1].lower() + answer[1:]
    dated = any(month in answer for month in MONTHS) and re.search(r"\b\d{1,2}\b", answer)
    return f"{'on' if dated else 'in'} {answer}"


_DAY = rf"(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)})(?: \d{{1,2}},)? \d{{4}}|\d{{4}}"
_LIFE = re.compile(rf"^(?P<name>[^(]{{3,60}}?) ?\([^()]{{0,60}}?(?P<born>{_DAY}) ?[–—-] ?(?P<died>{_DAY})\)")
_BORN = re.compile(rf"^(?P<name>[^(]{{3,60}}?) ?\([^()]{{0,60}}?[Bb]orn:? (?:[^()]{{0,30}}? )?(?P<born>{_DAY})[^()]{{0,40}}\)")
_IS = re.compile(
    r"\)? (?:is|was) (?:an?|the) (?P<what>(?:[\w-]+ ){0,4}?[\w-]+?)(?= (?:who|from|for|and|of|in|by|best|known|which)\b|[,.])"
)
_BY = re.compile(
    r"\b(?P<verb>directed|written|produced|composed|founded|recorded|created|designed|built|published|sung|discovered|developed)"
    r"(?: and \w+)? by (?:(?:the )?[a-z][\w -]{2,40} )?(?P<who>[A-Z][\w'’-]+(?: (?:[A-Z]\.|[A-Z][\w'’-]+))+)"
)
_STARS = re.compile(r"\b(?:starring|stars|featuring) (?P<who>[A-Z][\w'’-]+(?: [A-Z][\w'’.-]+)+)")
_OUT = re.compile(rf"\breleased (?:on|in) (?P<when>{_DAY})")
_ACTIVE = {"written": "wrote", "sung": "sang"}


def read_off(title: str, text: str, rng: random.Random) -> list[str]:
    """What the first lines of a passage say, in sentences of another form."""
    head = text[:600]
    name = re.sub(r"\s*\([^)]*\)\s*$", "", title)
    made: list[str] = []
    what = _IS.search(head)
    who = f"the {what['what']} {name}" if what and rng.random() < 0.4 and len(what["what"].split()) <= 4 else name
    if life := _LIFE.match(head):
        made += [f"{who} was born {_when(life['born'])}", f"{who} died {_when(life['died'])}"]
        made.append(f"{who} lived from {life['born'][-4:]} to {life['died'][-4:]}")
        made.append(f"born {_when(life['born'])}, {who} died {_when(life['died'])}")
    elif born := _BORN.match(head):
        made.append(f"{who} was born {_when(born['born'])}")
        if what:
            made.append(f"born {_when(born['born'])}, {name} is a {what['what']}")
    for by in _BY.finditer(head):
        verb = _ACTIVE.get(by["verb"], by["verb"])
        made += [f"{by['who']} {verb} {who}", f"{who} was {by['verb']} by {by['who']}"] if by.start() < 300 else []
    if stars := _STARS.search(head[:300]):
        made += [f"{stars['who']} stars in {name}", f"{stars['who']} has a leading part in {name}"]
    if out := _OUT.search(head[:300]):
        made += [f"{who} came out {_when(out['when'])}", f"{who} was released in {out['when'][-4:]}"]
    if what:
        made.append(f"{name} is a {what['what']}")
    return [_capital(one) + "." for one in made]
