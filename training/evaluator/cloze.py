"""Questions made from plain passages: a sentence, one of its names or numbers asked for.

    "He directed Sinister in 2012."  →  "Scott Derrickson directed what in 2012?"   or noisier: "what derrickson directed 2012"

They are clumsy, but there are as many as there are sentences, and a model that has met them needs far
fewer real questions to learn where answers stand. `bridge` chains two passages: what stands for the
second passage's title is the sentence of the first that mentions it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from training.evaluator.data import Passage, Question
from training.evaluator.mentions import title_key

MIN_WORDS, MAX_WORDS = 6, 32
DISTINCTIVE = 8  # letters of a one-word title that is unlikely to be a plain word

_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?![\s\"')\]]|$)[^.!?]*)*[.!?]*")
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(rf"(?:\d{{1,2}} {_MONTH} \d{{4}}|{_MONTH} \d{{1,2}}, \d{{4}}|{_MONTH} \d{{4}}|\b1\d{{3}}\b|\b20\d\d\b)")
_NUMBER = re.compile(r"\b\d(?:[\d,.]*\d)?\b(?: (?:million|billion|km|miles|metres|people|percent|%))?")
_NAME = re.compile(r"\b[A-Z][\w'’.-]*[\w](?:(?: (?:of|the|de|van|von|and|for|in|du|la|le)){0,2} [A-Z][\w'’.-]*\w)*")
_PRONOUN = re.compile(r"^(?:He|She|It|They|His|Her|Its|Their|The (?:film|song|album|book|series|band|company|team))\b")
_NO_NAMES = """The A An In On At By For From With After Before During This That These Those As When While Since It He She They
His Her Its Their But And Also"""
_OPENERS = frozenset(_NO_NAMES.split())
_ASKS = {
    "date": ("when", "what year", "what date", "in what year"),
    "number": ("how many", "what number", "how much"),
    "name": ("who", "what", "which", "where", "what is"),
}


def sentences_of(text: str) -> list[str]:
    """Sentences, roughly: initials and decimals don't end one when no space follows."""
    return [match.group().strip() for match in _SENTENCE.finditer(text) if match.group().strip()]


def answers_in(sentence: str) -> list[tuple[int, int, str]]:
    """Places worth asking for: (start, end, "date" | "number" | "name"), dates before numbers."""
    found: list[tuple[int, int, str]] = []
    for kind, pattern in (("date", _DATE), ("number", _NUMBER), ("name", _NAME)):
        for match in pattern.finditer(sentence):
            start, end = match.span()
            if kind == "name" and match.group().split()[0] in _OPENERS:
                continue
            if all(end <= a or start >= b for a, b, _ in found):
                found.append((start, end, kind))
    return found


def _noisy(words: list[str], rng: random.Random) -> list[str]:
    drop = rng.choice((0.0, 0.1, 0.25, 0.4))
    kept = [word for word in words if rng.random() >= drop or len(words) < 5]
    order = sorted(range(len(kept)), key=lambda place: place + rng.random() * rng.choice((0.5, 3.0)))
    return [kept[place] for place in order]


def _with_subject(sentence: str, title: str) -> str:
    """A sentence that opens with a pronoun gets the passage's subject instead."""
    return _PRONOUN.sub(lambda _: title, sentence, count=1)


def ask(sentence: str, place: tuple[int, int, str], rng: random.Random) -> str:
    """The sentence as a question for what stands at `place`."""
    start, end, kind = place
    word = rng.choice(_ASKS[kind])
    before, after = sentence[:start].split(), sentence[end:].rstrip(" .!?").split()
    style = rng.random()
    if style < 0.3:  # in place, nothing lost
        words = [*before, word, *after]
    elif style < 0.6:  # only what stands around it
        words = [*_noisy(before, rng)[-8:], word, *_noisy(after, rng)[:8]]
    else:  # the question word first
        words = [word, *_noisy(after, rng), *_noisy(before, rng)]
    text = " ".join(words) + ("?" if rng.random() < 0.8 else "")
    return text.lower() if rng.random() < 0.3 else text


def _usable(sentence: str) -> bool:
    return MIN_WORDS <= len(sentence.split()) <= MAX_WORDS


def cloze(passage: Passage, rng: random.Random, count: int = 1) -> Iterator[Question]:
    """Up to `count` questions on different sentences of one passage."""
    sentences = [s for s in sentences_of(passage.text) if _usable(s)]
    rng.shuffle(sentences)
    for sentence in sentences[:count]:
        sentence = _with_subject(sentence, passage.title)
        places = [place for place in answers_in(sentence) if sentence[place[0] : place[1]] in passage.text]
        # Asking for the subject itself is answered by any title: rarely.
        places = [p for p in places if sentence[p[0] : p[1]] not in passage.title or rng.random() < 0.1]
        if places:
            place = rng.choice(places)
            answer = sentence[place[0] : place[1]]
            yield Question(f"cloze:{passage.number}", "cloze", ask(sentence, place, rng), (answer,), (passage.number,))


def claim(passage: Passage, rng: random.Random) -> Question | None:
    """A sentence of the passage as a statement to find evidence for; it has no short answer."""
    sentences = [s for s in sentences_of(passage.text) if _usable(s)]
    if not sentences:
        return None
    words = _noisy(_with_subject(rng.choice(sentences), passage.title).rstrip(".").split(), rng)
    return Question(f"claim:{passage.number}", "claim", " ".join(words) + ".", (), (passage.number,))


def bridge(first: Passage, second: Passage, rng: random.Random) -> Question | None:
    """A question on `second` that names it only through the sentence of `first` which mentions it."""
    description = _description(first, second.title)
    sentences = [s for s in sentences_of(second.text) if _usable(s)]
    if description is None or not sentences:
        return None
    sentence = _with_subject(rng.choice(sentences), second.title)
    name = _surface(second.title)
    places = [p for p in answers_in(sentence) if sentence[p[0] : p[1]] in second.text and not _overlaps(sentence, p, name)]
    if not places or name.lower() not in sentence.lower():
        return None
    place = rng.choice(places)
    answer = sentence[place[0] : place[1]]
    asked = ask(sentence, place, rng)
    pattern = re.compile(re.escape(name), re.IGNORECASE)
    if not pattern.search(asked) or answer in description:
        return None
    text = pattern.sub(lambda _: description, asked, count=1)
    return Question(f"bridge:{first.number}:{second.number}", "bridge", text, (answer,), (first.number, second.number))


def _surface(title: str) -> str:
    return re.sub(r"\s*\([^)]*\)\s*$", "", title)


def _overlaps(sentence: str, place: tuple[int, int, str], name: str) -> bool:
    at = sentence.lower().find(name.lower())
    return at >= 0 and place[0] < at + len(name) and at < place[1]


def _description(passage: Passage, title: str) -> str | None:
    """The sentence of `passage` that mentions `title`, without it: "the one … "."""
    name = _surface(title)
    if len(title_key(title)) < 2 and len(name) < DISTINCTIVE:
        return None
    for sentence in sentences_of(passage.text):
        at = sentence.find(name)
        if at >= 0 and _usable(sentence):
            rest = (sentence[:at] + " " + sentence[at + len(name) :]).rstrip(" .!?")
            rest = _with_subject(rest, passage.title)
            return "the one that " + " ".join(rest.split()[:18])
    return None


def make_questions(
    passages: Sequence[Passage], links: Mapping[int, Sequence[int]], by_number: Sequence[Passage], seed: int
) -> list[Question]:
    """Synthetic questions for each of `passages`: two clozes, a claim now and then, bridges along its links."""
    made: list[Question] = []
    for passage in passages:
        rng = random.Random(f"{seed}:{passage.number}")
        made += cloze(passage, rng, count=2)
        if rng.random() < 0.3 and (statement := claim(passage, rng)):
            made.append(statement)
        targets = list(links.get(passage.number, ()))
        for target in rng.sample(targets, min(2, len(targets))):
            if target != passage.number and (question := bridge(passage, by_number[target], rng)):
                made.append(question)
    return made
