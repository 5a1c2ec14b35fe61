"""Sentences of passages as they are, nearly as they are, and with one year, date, number, unit, name or "not" changed.

Made by program while a test or benchmark runs, so that no text of others is kept here. The passages are drawn by a checksum.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from wellread.text import lexicon
from wellread.text.sentences import sentences
from wellread.types import Passage

FOLDERS = ("squad2_en_part", "clapnq", "musique_train100", "pubmedqa", "mtrag")
KINDS = ("year", "shortened", "date", "number", "unit", "name")
_MONTHS = [name.capitalize() for name in lexicon.MONTHS]
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?P<day>[1-9]|[12]\d|3[01]) (?P<month>{_MONTH})\b|\b(?P<named>{_MONTH}) (?P<on>[1-9]|[12]\d|3[01])\b(?!\d)"
)
_FULL = re.compile(rf"\bon (?:(?:\d{{1,2}}) (?:{_MONTH})|(?:{_MONTH}) (?:\d{{1,2}}),?) (?P<year>1\d{{3}}|20\d\d)\b")
_YEAR = re.compile(r"(?<![\d.,$£€–-])(?:1[1-9]\d\d|20[0-2]\d)(?![\d%–-]|[.,]\d)")
_NUMBER = re.compile(
    r"(?<![\w.,/:$£€–-])(?:[2-9]|[1-9]\d{1,2}|[1-9]\d{0,2}(?:,\d{3})+|\d+\.\d+)(?![\w%/:–-]|[.,]\d| (?:and|or|to) \d)"
)
_FAMILIES = (
    ("million", "billion", "thousand"), ("kilometers", "miles", "meters", "feet"), ("km", "miles", "m", "ft"),
    ("kg", "tonnes", "grams"), ("minutes", "seconds", "hours", "days"), ("years", "months", "weeks", "days"), ("mg", "kg", "g"),
    ("°C", "°F"), ("dollars", "euros", "pounds"),
)  # fmt: skip
_UNIT = re.compile(rf"(?<=\d )(?:{'|'.join(sorted({word for one in _FAMILIES for word in one}, key=len, reverse=True))})(?!\w)")
_NAME = re.compile(r"(?<=[a-z,] )(?!(?:I|The|A|An|In|On)\b)[A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})*(?![\w-])")


_VERB = re.compile(r"\b(?:is|are|was|were|has|had|could|will|would|may|must|should)\b")
_NOT = re.compile(r"\b(?:not|no|never|none|neither|nor|without|cannot)\b|n't", re.IGNORECASE)


class Changed(NamedTuple):
    """A sentence beside its passage; `kind` is what was changed in it, "" for nothing."""

    kind: str
    text: str
    passage: Passage


def passages(data: Path, most: int) -> list[Passage]:
    """Passages of English prose, those with the smallest checksums of each folder."""
    found: list[Passage] = []
    for folder in FOLDERS:
        with gzip.open(data / folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [row for row in map(json.loads, lines) if row.get("language", "en") == "en" and 300 < len(row["text"]) < 3_000]
        rows.sort(key=lambda row: hashlib.sha256(row["text"].encode()).digest())
        found += [Passage(f"{folder}:{row['id']}", row["text"], title=row["title"]) for row in rows[: most // len(FOLDERS)]]
    return found


def changed(given: Sequence[Passage], a_kind: int) -> list[Changed]:
    """Up to so many sentences of each kind, one of a kind from a passage."""
    lot = random.Random(32)
    said = {one for passage in given for one in _NAME.findall(passage.text)}
    names = sorted(one for one in said if not lexicon.STOPWORDS.intersection(one.lower().split()))
    found: dict[str, list[Changed]] = {kind: [] for kind in KINDS}
    for passage in given:
        for kind in KINDS:
            made = next(_made(kind, passage, names, lot), None) if len(found[kind]) < a_kind else None
            if made:
                found[kind].append(Changed(kind, made, passage))
    return [one for ones in found.values() for one in ones]


def denied(given: Sequence[Passage]) -> list[Changed]:
    """A sentence of each passage with a "not" put in, or its own taken out."""
    found: list[Changed] = []
    for passage in given:
        made = (_turned(one) for one in _whole(passage))
        found += [Changed("not", text, passage) for text in made if text][:1]
    return found


def _turned(sentence: str) -> str | None:
    nots = _NOT.findall(sentence)
    place = _VERB.search(sentence)
    if nots == ["not"]:
        return sentence.replace(" not ", " ", 1)
    return None if nots or not place else _put(sentence, place, f"{place[0]} not")


def unchanged(given: Sequence[Passage]) -> list[Changed]:
    """A sentence of each passage word for word, and one with a clause moved, a word left out or a few put before it."""
    lot = random.Random(33)
    found: list[Changed] = []
    for passage in given:
        whole = [one for one in _whole(passage) if not one.endswith("?")]
        if whole:
            found.append(Changed("", lot.choice(whole), passage))
            found += [Changed("", near, passage) for one in lot.sample(whole, len(whole))[:2] for near in _nearly(one, passage)][
                :1
            ]
    return found


def _whole(passage: Passage) -> list[str]:
    spans = sentences(passage.text)
    texts = [" ".join(passage.text[start:end].split()) for start, end in spans]
    return [
        one for one in texts if 40 < len(one) < 400 and one[0].isupper() and one[-1] in ".?" and "|" not in one and "[" not in one
    ]


def _nearly(sentence: str, passage: Passage) -> Iterator[str]:
    """The same said a little otherwise."""
    head, comma, rest = sentence.rstrip(".").partition(", ")
    if comma and re.match(r"(?:In|On|At|By|During|After|Before|Since) ", head) and re.match(r"[a-z]", rest):
        yield f"{rest[0].upper()}{rest[1:]} {head[0].lower()}{head[1:]}."
    for word in ("also ", "however, ", "very ", "often "):
        if word in sentence:
            yield sentence.replace(word, "", 1)
    small = sentence.split()[0] in ("The", "It", "In", "A", "This", "They", "He", "She")
    yield f"According to the text, {sentence[0].lower() if small else sentence[0]}{sentence[1:]}"


def _made(kind: str, passage: Passage, names: Sequence[str], lot: random.Random) -> Iterator[str]:
    whole = _whole(passage)
    lot.shuffle(whole)
    for sentence in whole:
        if made := _CHANGES[kind](sentence, f"{passage.title} {passage.text}", names, lot):
            yield made


def _put(sentence: str, place: re.Match[str], other: str, group: int | str = 0) -> str:
    return sentence[: place.start(group)] + other + sentence[place.end(group) :]


def _year(sentence: str, told: str, names: Sequence[str], lot: random.Random) -> str | None:
    place = _YEAR.search(sentence)
    others = [str(int(place[0]) + step) for step in (-1, 1, -2, 3, -10, 7)] if place else []
    free = [one for one in others if one not in told]
    return _put(sentence, place, lot.choice(free)) if place and free else None


def _shortened(sentence: str, told: str, names: Sequence[str], lot: random.Random) -> str | None:
    place = _FULL.search(sentence)
    free = [one for step in (-1, 1, -2) if place and (one := str(int(place["year"]) + step)) not in told]
    return _put(sentence, place, f"in {lot.choice(free)}") if place and free else None


def _date(sentence: str, told: str, names: Sequence[str], lot: random.Random) -> str | None:
    place = _DATE.search(sentence)
    if place is None:
        return None
    month, day = ("month", "day") if place["month"] else ("named", "on")
    if lot.random() < 0.5:
        free = [one for one in _MONTHS if one not in told]
        return _put(sentence, place, lot.choice(free), month) if free else None
    free = [str(one) for one in range(1, 29) if not re.search(rf"\b{one}\b", told)]
    return _put(sentence, place, lot.choice(free), day) if free else None


def _number(sentence: str, told: str, names: Sequence[str], lot: random.Random) -> str | None:
    for place in _NUMBER.finditer(sentence):
        if re.match(rf"\s(?:{_MONTH})\b", sentence[place.end() :]) or re.search(
            rf"\b(?:{_MONTH})\s\Z", sentence[: place.start()]
        ):
            continue
        digit = lot.choice([at for at in range(place.start(), place.end()) if sentence[at].isdigit()])
        other = lot.choice([one for one in "123456789" if one != sentence[digit]])
        number = place[0][: digit - place.start()] + other + place[0][digit + 1 - place.start() :]
        if not re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", told):
            return _put(sentence, place, number)
    return None


def _unit(sentence: str, told: str, names: Sequence[str], lot: random.Random) -> str | None:
    place = _UNIT.search(sentence)
    family = next((one for one in _FAMILIES if place and place[0] in one), ())
    free = [one for one in family if not re.search(rf"(?<!\w){re.escape(one.rstrip('s'))}s?(?!\w)", told)]
    return _put(sentence, place, lot.choice(free)) if place and free else None


def _name(sentence: str, told: str, names: Sequence[str], lot: random.Random) -> str | None:
    place = _NAME.search(sentence)
    free = [one for one in lot.sample(names, min(40, len(names))) if not any(word in told for word in one.split())]
    return _put(sentence, place, free[0]) if place and free else None


_CHANGES: dict[str, Callable[[str, str, Sequence[str], random.Random], str | None]] = {
    "year": _year, "shortened": _shortened, "date": _date, "number": _number, "unit": _unit, "name": _name,
}  # fmt: skip
