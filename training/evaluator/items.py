"""What one question becomes in training: chains to judge, with what the model should say about them.

Items of one `list` compete with each other. Kinds of lists:

    alone     the gold passages and negatives, each by itself
    after     a gold passage first; then the other gold passages and negatives that look like a next step
    astray    a negative first: what belongs to the question still does
    further   two passages first (also when nothing is missing any more)
    reading   two to four passages in any order, sometimes without one that the answer needs
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from training.evaluator.data import Passage, Question

NONE, SPAN, YES, NO, TEXT, UNKNOWN = 0, 1, 2, 3, 4, -1
FORMS = {"none": NONE, "span": SPAN, "yes": YES, "no": NO, "text": TEXT}
LONG_ANSWER = 3  # words: a passage that holds a longer answer by chance is no false negative


@dataclass(frozen=True, slots=True)
class Item:
    """One row: the chain, whether its last passage is relevant, and what kind of answer the chain holds."""

    chain: tuple[int, ...]
    relevant: bool
    kind: int
    list: int
    reading: bool = False  # a reading row has no say about relevance


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where a question's negatives come from, best first."""

    listed: tuple[Sequence[int], ...]  # the distractors given with it, lexical, dense
    after: Mapping[int, tuple[Sequence[int], ...]]  # by first passage: linked, lexical, dense
    around: Sequence[int]  # neighbours of its gold passages
    anywhere: range


class Sampler:
    """Draws the items of one question; what it draws differs each time."""

    def __init__(self, question: Question, candidates: Candidates, passages: Sequence[Passage], rng: random.Random) -> None:
        self._question = question
        self._candidates = candidates
        self._passages = passages
        self._rng = rng
        self._titles = {passages[number].title for number in question.gold}
        self._lists = 0
        self.items: list[Item] = []

    def draw(self) -> list[Item]:
        """All items for this time."""
        if self._question.form == "none":
            self._alone(5)
            self._reading(0.5)
        elif self._question.data in ("cloze", "claim"):
            self._alone(3)
            self._reading(0.4)
        elif self._question.hops == 1:
            self._alone(6)
            self._after(2, 0.5)
            self._reading(0.6)
        else:
            synthetic = self._question.data in ("bridge", "composed")
            self._alone(4 if synthetic else 9)
            self._after(4 if synthetic else 8, 1.0)
            self._astray(0.4)
            self._further(0.35)
            self._reading(1.0)
        return self.items

    def _kind(self, chain: tuple[int, ...]) -> int:
        question = self._question
        if question.form:
            return FORMS[question.form] if any(number in chain for number in question.gold) else NONE
        if question.data == "claim" or not question.answers:
            return UNKNOWN
        held = [number for number in question.gold if number in chain]
        if len(held) == question.hops:
            words = question.answers[0].lower()
            if question.hops > 1 and words in ("yes", "no"):
                return YES if words == "yes" else NO
            return SPAN
        if question.compares or not held:
            return NONE
        if not any(self._holds_answer(number) for number in held):
            return NONE
        # One passage that holds the answer, without the reason: alone it is read, in company nobody knows.
        return SPAN if len(chain) == 1 else UNKNOWN

    def _holds_answer(self, number: int) -> bool:
        passage = self._passages[number]
        text = f"{passage.title} {passage.text}".lower()
        return any(answer.lower() in text for answer in self._question.answers)

    def _allowed(self, number: int) -> bool:
        """Whether a passage may serve as a negative."""
        if number < 0 or number in self._question.gold:
            return False
        if self._question.hops > 1:
            return self._passages[number].title not in self._titles
        return not self._holds_answer(number)

    def _negatives(self, lists: Iterable[Sequence[int]], count: int, taken: Iterable[int] = ()) -> list[int]:
        """Different negatives, taken in turn from the lists, the heads of lists more often."""
        pools = [[number for number in entries if number >= 0] for entries in lists]
        pools = [pool for pool in pools if pool]
        chosen: dict[int, None] = {}
        refused = set(taken)
        for attempt in range(count * 6):
            if not pools or len(chosen) == count:
                break
            pool = pools[attempt % len(pools)]
            number = int(pool[int(len(pool) * self._rng.random() ** 1.7)])
            if number not in refused and self._allowed(number):
                chosen[number] = None
            refused.add(number)
        return list(chosen)

    def _random(self) -> int:
        return self._rng.choice(self._candidates.anywhere)

    def _add(self, prefix: tuple[int, ...], positives: Iterable[int], negatives: Iterable[int]) -> None:
        for relevant, numbers in ((True, positives), (False, negatives)):
            for number in numbers:
                if number not in prefix:
                    chain = (*prefix, number)
                    self.items.append(Item(chain, relevant, self._kind(chain), self._lists))
        self._lists += 1

    def _alone(self, count: int) -> None:
        negatives = self._negatives([*self._candidates.listed, self._candidates.around], count)
        stray = self._random()
        negatives += [stray] if self._allowed(stray) else []
        if self._question.form == "none":  # the passage it was written against does not answer it
            self._add((), (), [*self._question.gold, *negatives])
        else:
            self._add((), self._question.gold[:3] if self._question.form else self._question.gold, negatives)

    def _after(self, count: int, chance: float) -> None:
        if self._rng.random() > chance:
            return
        first = self._rng.choice(self._question.gold)
        lists = [*self._candidates.after.get(first, ()), *self._candidates.listed]
        others = [number for number in self._question.gold if number != first][:3]
        self._add((first,), others, self._negatives(lists, count, [first]))

    def _astray(self, chance: float) -> None:
        negatives = self._negatives(self._candidates.listed, 4)
        if len(negatives) == 4 and self._rng.random() < chance:
            self._add((negatives[0],), self._question.gold[:2], negatives[1:])

    def _further(self, chance: float) -> None:
        gold = list(self._question.gold)
        if self._rng.random() > chance:
            return
        self._rng.shuffle(gold)
        negatives = self._negatives([*self._candidates.after.get(gold[0], ()), *self._candidates.listed], 4)
        if len(gold) > 2 or not negatives or self._rng.random() < 0.5:
            self._add((gold[0], gold[1]), gold[2:], negatives)
        else:
            known = [gold[0], negatives[0]]
            self._rng.shuffle(known)
            self._add((known[0], known[1]), gold[1:], negatives[1:])

    def _reading(self, chance: float) -> None:
        """A whole context to read, and the same without one of its gold passages."""
        if self._rng.random() > chance:
            return
        gold = list(self._question.gold) if not self._question.form else [self._rng.choice(self._question.gold)]
        size = max(len(gold), self._rng.choice((2, 2, 3, 4)))
        extra = self._negatives(self._candidates.listed, size - len(gold) + 1)
        context = [*gold, *extra[: size - len(gold)]]
        self._rng.shuffle(context)
        self._read(context[:4])
        if extra and self._rng.random() < 0.4:
            missing = self._rng.choice(gold)
            self._read([extra[-1] if number == missing else number for number in context][:4])
        self._lists += 1

    def _read(self, context: Sequence[int]) -> None:
        chain = tuple(context)
        last: Literal[True, False] = chain[-1] in self._question.gold and self._question.form != "none"
        self.items.append(Item(chain, last, self._kind(chain), self._lists, reading=True))
