"""What a step of training is made of: cases drawn from written sentences, from questions as statements, from plain passages."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from training.verifier.changes import alike, another_figure, changes
from training.verifier.claims import Case, Claim, Text, untrue
from training.verifier.disguise import disguised
from training.verifier.statements import GAP
from training.verifier.wordings import reworded

MIXES: Mapping[str, Mapping[str, int]] = {  # cases in a step
    "even": {"written": 34, "asked": 14, "plain": 12, "elsewhere": 2, "labelled": 6},
    "labelled": {"written": 30, "asked": 12, "plain": 8, "elsewhere": 4, "labelled": 14},
    "more": {"written": 26, "asked": 10, "plain": 6, "elsewhere": 6, "labelled": 28},
    "taught": {"written": 22, "asked": 8, "plain": 4, "elsewhere": 4, "labelled": 16, "guessed": 40},
}
DISGUISED = {"written": 0.6, "asked": 0.3, "plain": 0.2, "elsewhere": 0.0, "labelled": 0.3, "guessed": 0.3}
_MADE = 0.6  # what a change by rule counts against a written one
_PARTLY = 0.5  # what a sentence counts that is carried in part: people differ on these
_BESIDE = 0.15  # how often another passage stands beside those that carry a claim


@dataclass(frozen=True, slots=True)
class Prepared:
    passages: Sequence[Text]
    written: Sequence[Mapping[str, Any]]
    asked: Sequence[Mapping[str, Any]]
    plain: range
    names: Sequence[str]
    labelled: Sequence[Mapping[str, Any]] = ()

    def texts(self, numbers: Sequence[int]) -> tuple[Text, ...]:
        return tuple(self.passages[number] for number in numbers)


def load(path: Path) -> Prepared:
    content = json.loads(lzma.decompress(path.read_bytes()))
    passages = [Text(*one) for one in content["passages"]]
    plain, people = range(*content["plain"]), content.get("labelled", ())
    return Prepared(passages, content["written"], content["asked"], plain, content["names"], people)


def set_aside(prepared: Prepared) -> list[Case]:
    """The written sentences that nothing is trained on."""
    return [_as_written(prepared, one) for one in prepared.written if one["aside"]]


def _as_written(prepared: Prepared, one: Mapping[str, Any]) -> Case:
    true = str(one["true"])
    made = [untrue(true, text, kind) for kind, text in one["untrue"]]
    return Case(prepared.texts(one["passages"]), (Claim(true, True), *made))


def people_said(prepared: Prepared, fold: int) -> dict[str, list[Case]]:
    """The labelled claims of a fold, by set: nothing is trained on them where it is left out."""
    found: dict[str, list[Case]] = {}
    for one in prepared.labelled:
        if one["fold"] == fold:
            case = Case(prepared.texts(one["passages"][:4]), (Claim(one["claim"], one["carried"], None),))
            found.setdefault(one["set"], []).append(case)
    return found


class Drawer:
    """Draws cases for ever. Written ones come in rounds, so that each is seen as often as every other."""

    def __init__(self, prepared: Prepared, seed: int, leave: int = 0) -> None:
        self._prepared, self._rng = prepared, random.Random(seed)
        self._written = [one for one in prepared.written if not one["aside"]]
        self._labelled = [one for one in prepared.labelled if one["fold"] != leave]
        self._waiting: list[Mapping[str, Any]] = []
        self._people: list[Mapping[str, Any]] = []

    def step(self, mix: Mapping[str, int] = MIXES["even"]) -> list[Case]:
        cases = [self._drawn(kind) for kind, count in mix.items() for _ in range(count)]
        return [case for case in cases if case is not None]

    def _drawn(self, kind: str) -> Case | None:
        rng = self._rng
        case = getattr(self, f"_{kind}_case")()
        if case is None or not case.claims:
            return None
        if rng.random() < DISGUISED[kind]:
            case = disguised(case, self._prepared.names, rng)
        if len(case.passages) < 3 and rng.random() < _BESIDE:
            case = replace(case, passages=_beside(case.passages, self._any_passage(), rng))
        if rng.random() < 0.1:
            case = replace(case, passages=tuple(Text("", one.text) for one in case.passages))
        return case

    def _any_passage(self) -> Text:
        return self._prepared.passages[self._rng.choice(self._prepared.plain)]

    def _next_written(self) -> Mapping[str, Any]:
        if not self._waiting:
            self._waiting = [*self._written]
            self._rng.shuffle(self._waiting)
        return self._waiting.pop()

    def _written_case(self) -> Case:
        case = _as_written(self._prepared, self._next_written())
        true = case.claims[0].text
        made = changes(true, case.passages, self._rng, self._rng.choice((0, 1, 1, 2)))
        return replace(case, claims=(*case.claims, *(replace(one, weight=_MADE) for one in made)))

    def _labelled_case(self) -> Case | None:
        """As people labelled it. The passages' order says nothing; what does not carry a claim does not without one of them."""
        if not self._labelled:
            return None
        if not self._people:
            self._people = [*self._labelled]
            self._rng.shuffle(self._people)
        one, rng = self._people.pop(), self._rng
        numbers = list(one["passages"])
        rng.shuffle(numbers)
        if not one["carried"] and len(numbers) > 1 and rng.random() < 0.3:
            numbers.pop()
        passages, claim = self._prepared.texts(numbers[:4] if not one["carried"] else numbers), str(one["claim"])
        if not one["carried"]:
            return Case(passages, (Claim(claim, False, None, weight=_PARTLY if one["partly"] else 1.0),))
        made = [replace(change, weight=_MADE) for change in changes(claim, passages, rng, rng.choice((0, 0, 1)))]
        return Case(passages, (Claim(claim, True), *made))

    def _guessed_case(self) -> Case | None:
        """A sentence of a real answer beside some of its passages, or beside those of a sentence that speaks of the like: what
        to make of it a teacher says."""
        if not self._labelled:
            return None
        rng = self._rng
        one, others = rng.choice(self._labelled), rng.sample(self._labelled, min(40, len(self._labelled)))
        words = set(str(one["claim"]).lower().split())
        like = max(others, key=lambda other: len(words & set(str(other["claim"]).lower().split())) * (other["set"] == one["set"]))
        numbers = list((one if rng.random() < 0.5 else like)["passages"])
        numbers = rng.sample(numbers, rng.randint(1, len(numbers)))
        return Case(self._prepared.texts(numbers[:4]), (Claim(str(one["claim"]), False, None, weight=0.0),))

    def _asked_case(self) -> Case | None:
        one, rng = self._rng.choice(self._prepared.asked), self._rng
        passages = self._prepared.texts(one["passages"])
        claims = [Claim(text, True) for text in one.get("right", ())] + [
            Claim(text, False, None) for text in one.get("wrong", ())
        ]
        if "template" in one:
            claims = [*_answered(one["template"], one["answers"], one["others"], passages, rng)]
        right = [claim for claim in claims if claim.carried]
        if right and rng.random() < 0.4:
            claims += [replace(claim, weight=_MADE) for claim in changes(right[0].text, passages, rng, 1)]
        return Case(passages, tuple(claims))

    def _plain_case(self) -> Case | None:
        passage, rng = self._any_passage(), self._rng
        true = reworded(passage, rng)
        if true is None:
            return None
        return Case((passage,), (Claim(true, True), *changes(true, (passage,), rng, 3)))

    def _elsewhere_case(self) -> Case | None:
        """A true sentence beside a passage that says nothing of it."""
        one = self._next_written() if self._rng.random() < 0.5 else self._rng.choice(self._prepared.asked)
        near = one.get("near") or [self._rng.choice(self._prepared.plain)]
        claims = [str(one["true"])] if "true" in one else [
            one["template"].replace(GAP, answer) for answer in one.get("answers", ())[:1]
        ] or list(one.get("right", ()))  # fmt: skip
        return Case(self._prepared.texts(near), tuple(Claim(text, False, None) for text in claims))


def _answered(
    template: str, answers: Sequence[str], others: Sequence[str], passages: Sequence[Text], rng: random.Random
) -> Iterator[Claim]:
    """A statement with a right answer and with wrong ones: of other questions, out of the passages, or made."""
    right = rng.choice(answers) if answers else ""
    if right:
        yield Claim(template.replace(GAP, right), True)
    wrong = [*others]
    figures = any(letter.isdigit() for letter in right)
    if right and (figures or right[:1].isupper()):
        kind = "name" if not figures else "date" if len(right) == 4 or (len(right) > 7 and "20" in right) else "number"
        wrong += [other for _ in range(2) if (other := alike(right, kind, passages, template, rng))]
    if figures:
        wrong.append(another_figure(right, rng))
    known = {answer.lower() for answer in answers}
    wrong = [one for one in dict.fromkeys(wrong) if one.lower() not in known]
    rng.shuffle(wrong)
    at = template.index(GAP)
    for answer in wrong[:3]:
        yield Claim(template.replace(GAP, answer), False, ((at, at + len(answer)),), "answer")


def _beside(passages: tuple[Text, ...], other: Text, rng: random.Random) -> tuple[Text, ...]:
    place = rng.randrange(len(passages) + 1)
    return (*passages[:place], other, *passages[place:])
