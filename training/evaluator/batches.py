"""Batches for the GPU: the items of some questions as rows of tokens with their targets."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from training.evaluator.data import Question
from training.evaluator.items import SPAN, Candidates, Item, Sampler
from training.evaluator.tokens import PassageTable

from wellread.effort import Windows
from wellread.ranking.inputs import Ids, Row, build_row


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

    @property
    def tokens(self) -> int:
        return sum(len(row) for row in self.ids)


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
        items: list[tuple[Item, Row, list[tuple[int, int]], float]] = []
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

    def _rows(
        self, source: Source, index: int, rng: random.Random, base: int
    ) -> tuple[list[tuple[Item, Row, list[tuple[int, int]], float]], int]:
        question = source.questions[index]
        sampler = Sampler(question, source.candidates[index], self.table.passages, rng)
        limits = draw_limits(rng)
        rows: list[tuple[Item, Row, list[tuple[int, int]], float]] = []
        used = 0
        for item in sampler.draw():
            row = build_row(source.ids[index], [self.table.tokens(number) for number in item.chain], limits)
            spans = answer_spans(question, item, row, self.table) if item.kind == SPAN else []
            kind = item.kind if spans or item.kind != SPAN else -1  # an answer outside the window teaches nothing
            used = max(used, item.list + 1)
            rows.append((Item(item.chain, item.relevant, kind, base + item.list, item.reading), row, spans, source.weight))
        return rows, used


def draw_limits(rng: random.Random) -> Windows:
    """Windows of different sizes, so that the engine may choose."""
    return Windows(known=rng.choice((80, 112, 160, 192)), judged=rng.choice((96, 128, 160, 208, 240)))


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


def collate(items: Sequence[tuple[Item, Row, list[tuple[int, int]], float]]) -> Batch:
    """Items as arrays."""
    spans = [(index, first, last) for index, (_, _, found, _) in enumerate(items) for first, last in found]
    return Batch(
        tuple(row.ids for _, row, _, _ in items),
        tuple(row.question_length for _, row, _, _ in items),
        np.array([item.relevant for item, *_ in items], np.float32),
        np.array([item.kind for item, *_ in items], np.int64),
        np.array([item.list for item, *_ in items], np.int64),
        np.array([not item.reading for item, *_ in items], np.float32),
        np.array([weight for *_, weight in items], np.float32),
        np.array(spans, np.int64).reshape(-1, 3),
    )


def neighbours_of(question: Question, table: NDArray[np.int32]) -> list[int]:
    """The neighbours of a question's gold passages, interleaved."""
    rows = [table[number] for number in question.gold]
    return [int(number) for column in zip(*rows, strict=True) for number in column]
