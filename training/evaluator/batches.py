"""Batches for the GPU: the items of some questions as rows of tokens with their targets."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from training.evaluator.data import Question
from training.evaluator.items import NONE, SPAN, UNKNOWN, Candidates, Item, Sampler
from training.evaluator.tokens import PassageTable

from wellread.core.effort import Windows
from wellread.ranking.inputs import Ids, Row, build_row

_MOST, _HARDLY = 0.7, 0.1  # of what carries an answer
_PLENTY = 80  # tokens of it: where a whole passage answers, a part does too


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of tokens, and for each what it should be; spans are (row, first place, last place)."""

    ids: tuple[Ids, ...]
    question_lengths: tuple[int, ...]
    relevant: NDArray[np.float32]
    kinds: NDArray[np.int64]
    lists: NDArray[np.int64]
    judged: NDArray[np.float32]  # 0 for reading rows
    weights: NDArray[np.float32]
    spans: NDArray[np.int64]
    evidence: NDArray[np.int8]  # for each token of all rows: whether it belongs to what carries the answer; -1 where nobody knows

    @property
    def tokens(self) -> int:
        return sum(len(row) for row in self.ids)


class Drawn(NamedTuple):
    """An item as a row, with its targets."""

    item: Item
    row: Row
    spans: list[tuple[int, int]]
    weight: float
    evidence: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Source:
    """Questions of one kind with what is needed to draw their items."""

    questions: Sequence[Question]
    ids: Sequence[Ids]
    candidates: Sequence[Candidates]
    weight: float = 1.0


@dataclass(slots=True)
class Stream:
    """Endless batches: each takes the given number of questions from each source, in a new order each round."""

    sources: Mapping[str, Source]
    table: PassageTable
    seed: int
    _orders: dict[str, Iterator[int]] = field(default_factory=dict[str, "Iterator[int]"])

    def batch(self, counts: Mapping[str, int], step: int) -> Batch:
        rng = random.Random(f"{self.seed}:{step}")
        items: list[Drawn] = []
        lists = 0
        for name, count in counts.items():
            order = self._orders.setdefault(name, self._order(name))
            source = self.sources[name]
            for index in (next(order) for _ in range(count)):
                rows, used = self._rows(source, index, rng, lists)
                items += rows
                lists += used
        return collate(items)

    def _order(self, name: str) -> Iterator[int]:
        rng = random.Random(f"{self.seed}:{name}")
        numbers = list(range(len(self.sources[name].questions)))
        while True:
            rng.shuffle(numbers)
            yield from numbers

    def _rows(self, source: Source, index: int, rng: random.Random, base: int) -> tuple[list[Drawn], int]:
        question = source.questions[index]
        sampler = Sampler(question, source.candidates[index], self.table.passages, rng)
        limits = draw_limits(rng)
        rows: list[Drawn] = []
        used = 0
        for item in sampler.draw():
            row = build_row(source.ids[index], [self.table.tokens(number) for number in item.chain], limits)
            spans = answer_spans(question, item, row, self.table) if item.kind == SPAN else []
            carried = evidence_in(question, item, row, self.table)
            used = max(used, item.list + 1)
            kind = kind_in(question, item, spans, carried, self.table)
            told = Item(item.chain, item.relevant, kind, base + item.list, item.reading)
            rows.append(Drawn(told, row, spans, source.weight, carried))
        return rows, used


def draw_limits(rng: random.Random) -> Windows:
    """Windows of different sizes, so that the engine may choose."""
    alone, known, judged = (160, 208, 256, 360), (80, 112, 160, 192), (96, 128, 160, 208, 240)
    return Windows(alone=rng.choice(alone), known=rng.choice(known), judged=rng.choice(judged))


def kind_in(
    question: Question, item: Item, spans: Sequence[tuple[int, int]], evidence: NDArray[np.int8], table: PassageTable
) -> int:
    """The kind of answer that a row shows: none where the window leaves it out, unknown where it cuts it."""
    if item.kind == SPAN:
        return SPAN if spans else UNKNOWN
    if item.kind == NONE or not question.marks:
        return item.kind
    whole = sum(
        after - first
        for held, start, end in question.marks
        if held in item.chain
        for first, after in [table.marked(held, start, end)]
    )
    shown = int((evidence == 1).sum())
    if shown >= min(_MOST * whole, _PLENTY):
        return item.kind
    return NONE if shown <= _HARDLY * whole else UNKNOWN


def answer_spans(question: Question, item: Item, row: Row, table: PassageTable) -> list[tuple[int, int]]:
    """First and last positions in the row of every occurrence of the answer in gold passages."""
    found: list[tuple[int, int]] = []
    for number, placed in zip(item.chain, row.passages, strict=True):
        if number not in question.gold:
            continue
        titles, texts = table.find(number, question.answers)
        found += [(placed.title_at + a, placed.title_at + b) for a, b in titles if b < placed.title_length]
        for first, last in texts:
            a, b = placed.position(first), placed.position(last)
            if a is not None and b is not None:
                found.append((a, b))
    return found


def evidence_in(question: Question, item: Item, row: Row, table: PassageTable) -> NDArray[np.int8]:
    """For each token of a row: 1 in what carries the answer, 0 elsewhere in passages, -1 where nobody knows."""
    found = np.full(len(row.ids), -1, np.int8)
    for number, placed in zip(item.chain, row.passages, strict=True):
        ranges: list[tuple[int, int]] | None = []
        if number in question.gold and question.form != "none":
            ranges = _carrying(question, number, table)
        if ranges is None:
            continue
        found[placed.text_at : placed.text_at + placed.length] = 0
        for first, after in ranges:
            a, b = max(first - placed.window, 0), min(after - placed.window, placed.length)
            if a < b:
                found[placed.text_at + a : placed.text_at + b] = 1
    return found


def _carrying(question: Question, number: int, table: PassageTable) -> list[tuple[int, int]] | None:
    """The tokens of a gold passage that carry the answer; None where nobody knows."""
    if question.marks:
        return [table.marked(number, start, end) for held, start, end in question.marks if held == number] or None
    if not question.answers or question.answers[0].lower() in ("yes", "no"):
        return None
    _, texts = table.find(number, question.answers)
    return [table.sentence(number, first, last) for first, last in texts[:3]] or None


def collate(items: Sequence[Drawn]) -> Batch:
    """Items as arrays."""
    spans = [(index, first, last) for index, one in enumerate(items) for first, last in one.spans]
    return Batch(
        tuple(one.row.ids for one in items),
        tuple(one.row.question_length for one in items),
        np.array([one.item.relevant for one in items], np.float32),
        np.array([one.item.kind for one in items], np.int64),
        np.array([one.item.list for one in items], np.int64),
        np.array([not one.item.reading for one in items], np.float32),
        np.array([one.weight for one in items], np.float32),
        np.array(spans, np.int64).reshape(-1, 3),
        np.concatenate([one.evidence for one in items]),
    )


def neighbours_of(question: Question, table: NDArray[np.int32]) -> list[int]:
    """The neighbours of a question's gold passages, interleaved."""
    rows = [table[number] for number in question.gold]
    return [int(number) for column in zip(*rows, strict=True) for number in column]
