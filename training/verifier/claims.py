"""Claims on passages, true ones with untrue ones made from them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from training.verifier.changes import Scene, changed
from training.verifier.facts import Sorts, facts, names, sentences_of
from training.verifier.statements import read_off
from training.verifier.wording import reworded, with_subject

MIN_WORDS, MAX_WORDS = 4, 45
SENTENCES, CHANGES = 4, 2  # of a passage, of a claim
_ELSEWHERE = 40  # names of other passages that may be put into a claim


class Claim(NamedTuple):
    """A true sentence, what was made of it, and the passage; `beside` is another passage that says nothing of it, or -1."""

    true: str
    untrue: tuple[str, ...]
    passage: int
    beside: int


def claims(number: int, rows: Sequence[Mapping[str, Any]], sorts: Sorts, seed: int) -> Iterator[Claim]:
    """The claims made of one passage."""
    row, rng = rows[number], random.Random(f"{seed}:{number}")
    others = [rows[rng.randrange(len(rows))] for _ in range(3)]
    elsewhere = [fact.text for other in others for fact in names(other["text"][:400])][:_ELSEWHERE]
    text = f"{row['title']}. {row['text']}"
    scene = Scene(text, facts(text), elsewhere, sorts)
    for true in _true(row, rng):
        if not MIN_WORDS <= len(true.split()) <= MAX_WORDS:
            continue
        untrue = {made for _ in range(CHANGES) if (made := changed(true, scene, rng))}
        if rng.random() < 0.08 and others[0]["title"] != row["title"]:
            untrue.add(_astray(row, others[0], rng))
        if untrue:
            yield Claim(true, tuple(sorted(untrue - {""})), number, rng.randrange(len(rows)) if rng.random() < 0.2 else -1)


def _true(row: Mapping[str, Any], rng: random.Random) -> Iterator[str]:
    said = [sentence for sentence in sentences_of(row["text"]) if MIN_WORDS <= len(sentence.split()) <= MAX_WORDS]
    chosen = rng.sample(said, min(SENTENCES, len(said)))
    for place, sentence in enumerate(chosen):
        yield with_subject(sentence, row["title"], rng) if rng.random() < 0.1 else reworded(sentence, row["title"], rng)
        if place and rng.random() < 0.15:  # two sentences in one
            first, second = (reworded(one, row["title"], rng).rstrip(".") for one in chosen[place - 1 : place + 1])
            yield f"{first}{rng.choice((', and ', '; ', ', while '))}{second}."
    made = read_off(row["title"], row["text"], rng)
    yield from rng.sample(made, min(3, len(made)))


def _astray(row: Mapping[str, Any], other: Mapping[str, Any], rng: random.Random) -> str:
    """A sentence about something else, under this passage's title."""
    said = [sentence for sentence in sentences_of(other["text"]) if MIN_WORDS <= len(sentence.split()) <= 25]
    if not said:
        return ""
    name = re.sub(r"\s*\([^)]*\)\s*$", "", other["title"])
    own = re.sub(r"\s*\([^)]*\)\s*$", "", row["title"])
    return with_subject(rng.choice(said).replace(name, own), row["title"], rng)
