"""What a follow-up question means, by rules: the last answer or the last subject is put in where it only hints at it.

    "When was he born?"   behind "Who discovered Titan?"            the one who was named
    "And in 1990?"        behind "Who was president in 1980?"       the last question with the other year
    "Why?"                behind "Is Pluto a planet?"               the last question, asked so
    "What about rice?"    behind "How do I reheat potatoes?"        the last question about the other thing

A question that stands alone is left as it is. One that refers to something that nobody has named is not guessed at:
it is asked back. The questions of a conversation are understood one after the other, so nothing has to be kept of how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.questions.asked_again import asked_again, instead
from wellread.questions.mentions import Mention, answered, says_nothing, spoken_of, topic
from wellread.questions.pronouns import Reference, put, references
from wellread.text import patterns as re

_TURNS = 3  # that are looked back on
_LONGEST = 30  # words; what is longer explains itself
_OPENING = re.compile(r"^(?:(?:and|so|but|ok|okay|well|then|also|thanks|thank you|great|i see)\b[,.! ]*)+", re.IGNORECASE)
_SMALL = r"\w[\w'’-]*"
_FRAGMENT = re.compile(rf"(?:the |a |an )?{_SMALL}(?: {_SMALL}){{0,4}}", re.UNICODE)
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|who|what|when|where|why|how|which)\b", re.I
)
_HE, _SHE = frozenset(("he", "him", "his", "himself")), frozenset(("she", "her", "hers", "herself"))
_MORE = re.compile(r"\b(?:else|another|others?|more|examples?)\b", re.IGNORECASE)
_WHICH = re.compile(r"which (?:one |of them )?(?:is|are|was|were) the [\w ]+\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Understood:
    """A question that stands alone, or what has to be asked before it does."""

    question: str
    asks: str = ""
    open: Reference | None = None  # the word that nobody could place
    placed: tuple[tuple[str, str], ...] = ()  # words and what they were taken for


@dataclass(frozen=True, slots=True)
class Turn:
    """A question as it was understood, and what was answered."""

    understood: Understood
    answer: str

    @property
    def question(self) -> str:
        return self.understood.question


def understand(question: str, history: Sequence[tuple[str, str]]) -> Understood:
    """The question as it is meant after these questions and answers."""
    turns: list[Turn] = []
    for earlier, answer in history:
        turns.append(Turn(_after(earlier, turns), answer))
    return _after(question, turns)


def _after(question: str, turns: Sequence[Turn]) -> Understood:
    if not turns or len(question.split()) > _LONGEST:
        return Understood(question)
    last = turns[-1]
    bare = _OPENING.sub("", question).strip(" ?!.") or question.strip(" ?!.")
    if last.understood.open is not None and _is_fragment(bare):  # what was asked back is told
        return Understood(put(last.question, last.understood.open, bare))
    again = asked_again(bare, last.question, answered(last.question, last.answer))
    if again is None:
        again = instead(bare, last.question, joined=bare != question.strip(" ?!."))
    if again is not None:
        return Understood(again)
    return _placed(question, turns)


def _placed(question: str, turns: Sequence[Turn]) -> Understood:
    """With what its pronouns stand for; each kind is put in once: what follows refers to that."""
    changed, placed = question, list[tuple[str, str]]()
    for reference in references(question):
        found = _meant(reference, turns[::-1][:_TURNS])
        if found is None and (about := _about(reference, turns)):
            changed = f"{changed.rstrip(' ?!.')} ({about})?"
        elif found is None:
            if changed == question and reference.asked and _is_question(question):
                return Understood(question, reference.asked, reference)
        else:
            same = (one for one in references(changed) if (one.word, one.kind) == (reference.word, reference.kind))
            changed = next((put(changed, one, found.text) for one in same), changed)
            placed.append((reference.word.casefold(), found.text))
    if changed == question and _wants_more(question):
        about = topic(turns[-1].question)
        changed = f"{question.rstrip(' ?!.')} ({about})?" if about else question
    return Understood(changed, placed=tuple(placed))


def _about(reference: Reference, turns: Sequence[Turn]) -> str:
    """What the last question was about as a whole, for what may stand for all of it."""
    return topic(turns[-1].question) if reference.kind in ("thing", "several") else ""


def _meant(reference: Reference, turns: Sequence[Turn]) -> Mention | None:
    """What it stands for, from the latest turn back."""
    for turn in turns:
        named = answered(turn.question, turn.answer)
        asked = spoken_of(turn.question, turn.answer)
        chosen = _CHOICES[reference.kind](turn.question, named, asked)
        if chosen is not None and not _taken_for_another(reference, chosen, turns):
            return chosen
    return None


def _taken_for_another(reference: Reference, chosen: Mention, turns: Sequence[Turn]) -> bool:
    """Whether someone whom "he" stood for is now called "she"."""
    sides = [side for side in (_HE, _SHE) if reference.word.casefold() not in side]
    called = {word for turn in turns for word, name in turn.understood.placed if name == chosen.text}
    return reference.kind == "person" and len(sides) == 1 and not called.isdisjoint(sides[0])


def _person(question: str, named: Mention | None, asked: Sequence[Mention]) -> Mention | None:
    if named is not None and named.kind == "person" and not named.plural:
        return named
    people = [one for one in asked if one.kind == "person"]
    return people[0] if len(people) == 1 or (people and " or " not in question) else None


def _thing(question: str, named: Mention | None, asked: Sequence[Mention]) -> Mention | None:
    """The thing that was named where one was asked for, else what the question was about."""
    if named is not None and named.kind == "thing" and not named.plural:
        return named
    things = [one for one in asked if one.kind != "person"] or asked
    if named is not None and named.kind == "place" and not things:
        return named
    return things[0] if things else None


def _several(question: str, named: Mention | None, asked: Sequence[Mention]) -> Mention | None:
    if named is not None and named.plural:
        return named
    both = re.search(r"\b([A-Z]\w+) (?:and|or) ([A-Z]\w+)\b", question)
    if both:
        return Mention(f"{both[1]} and {both[2]}", plural=True, named=True)
    plural = [one for one in asked if one.plural]
    if plural:
        return plural[0]
    return named if named is not None and named.kind in ("person", "thing") else asked[0] if asked else None


def _place(question: str, named: Mention | None, asked: Sequence[Mention]) -> Mention | None:
    if named is not None and named.kind in ("place", "thing"):
        return named
    places = [one for one in asked if one.named and one.kind != "person"]
    return places[-1] if places else None


def _date(question: str, named: Mention | None, asked: Sequence[Mention]) -> Mention | None:
    if named is not None and named.kind == "date":
        return named
    year = re.search(r"\b(?:1\d{3}|20\d\d)\b", question)
    return Mention(year[0], "date", named=True) if year else None


def _any(question: str, named: Mention | None, asked: Sequence[Mention]) -> Mention | None:
    if named is not None and named.kind != "date":
        return named
    return next((one for one in asked if one.named), asked[0] if asked else None)


_CHOICES = {"person": _person, "thing": _thing, "several": _several, "place": _place, "date": _date, "any": _any}


def _is_fragment(text: str) -> bool:
    return _FRAGMENT.fullmatch(text) is not None and _VERBAL.search(text) is None


def _is_question(text: str) -> bool:
    return text.rstrip().endswith("?") or _VERBAL.match(text) is not None


def _wants_more(question: str) -> bool:
    """Whether it asks for others of what the last question was about, and names nothing itself."""
    return _WHICH.match(question) is not None or (_MORE.search(question) is not None and says_nothing(question))
