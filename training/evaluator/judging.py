"""Who judges chains when the closed sets are searched: the weights in training, or the shipped file as the engine runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from training.evaluator.data import Collection
from training.evaluator.model import Packed, State, judge
from training.evaluator.records import Chain
from training.evaluator.tokens import PassageTable

from wellread.core.effort import Windows
from wellread.embedding.batches import by_length
from wellread.ranking.inputs import Ids, Row, build_row, sentence_scores
from wellread.ranking.judge import Judge
from wellread.ranking.paths import Marked, Verdict
from wellread.types import Passage

LONGEST_ANSWER = 24  # tokens
TOKENS = 400_000  # in one batch of rows


@dataclass(frozen=True, slots=True)
class Asked:
    """A chain to judge, with its question as text and in tokens."""

    question: str
    ids: Ids
    chain: Chain


Judging: TypeAlias = Callable[[Sequence[Asked]], list[Verdict]]


def by_weights(state: State, table: PassageTable, device: torch.device, limits: Windows) -> Judging:
    """The model in torch: quick on a GPU."""

    def verdicts(asked: Sequence[Asked]) -> list[Verdict]:
        rows = [build_row(one.ids, [table.tokens(number) for number in one.chain], limits) for one in asked]
        return _verdicts_on(state, rows, [one.chain for one in asked], table, device)

    return verdicts


def by_shipped(model: Path, tokenizer: Path, collection: Collection, limits: Windows, threads: int, floor: float) -> Judging:
    """The int8 file, through the engine's own code; one question on each thread."""
    shipped = Judge(model, tokenizer, threads=1, windows=limits, floor=floor)

    def passage(number: int) -> Passage:
        found = collection.passages[number]
        return Passage(str(number), found.text, found.title)

    def one_question(group: Sequence[Asked]) -> list[Verdict]:
        return shipped.judge(group[0].question, [tuple(passage(number) for number in one.chain) for one in group])

    def verdicts(asked: Sequence[Asked]) -> list[Verdict]:
        groups = [list(group) for _, group in groupby(asked, key=lambda one: one.question)]
        with ThreadPoolExecutor(threads) as pool:
            return [verdict for found in pool.map(one_question, groups) for verdict in found]

    return verdicts


@torch.no_grad()
def _verdicts_on(
    state: State, rows: Sequence[Row], chains: Sequence[Chain], table: PassageTable, device: torch.device
) -> list[Verdict]:
    result: list[Verdict | None] = [None] * len(rows)
    for members in by_length([len(row.ids) for row in rows], budget=TOKENS, most=4096):
        batch = [rows[index] for index in members]
        judged = judge(state, Packed.of([row.ids for row in batch], [row.question_length for row in batch], device))
        first, last, worth = _best_spans(judged.starts, judged.ends)
        columns = (judged.early, judged.relevance, judged.kinds, first, last, worth)
        evidence = np.split(judged.evidence.cpu().numpy(), np.cumsum([len(row.ids) for row in batch])[:-1])
        told = zip(members, *(column.tolist() for column in columns), evidence, strict=True)
        for index, early, relevance, kinds, a, b, span, logits in told:
            verdict = Verdict(relevance, tuple(kinds[:4]), span, told=kinds[4], early=early)
            verdict = _place_span(verdict, rows[index], chains[index], a, b, table)
            result[index] = replace(verdict, evidence=_marked(logits, rows[index], chains[index][-1], table))
    return [verdict for verdict in result if verdict is not None]


def _best_spans(starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best span of each row: first and last position and its log-likelihood."""
    starts, ends = starts.log_softmax(1), ends.log_softmax(1)
    width = starts.shape[1]
    padded = torch.nn.functional.pad(ends, (0, LONGEST_ANSWER), value=-1e4)
    # windows[r, s, d] is the end logit d places after s.
    windows = padded.unfold(1, LONGEST_ANSWER, 1)[:, :width]
    best_end, offset = windows.max(2)
    worth, first = (starts + best_end).max(1)
    return first, first + offset.gather(1, first[:, None])[:, 0], worth


def _marked(logits: NDArray[np.float32], row: Row, number: int, table: PassageTable) -> tuple[Marked, ...]:
    scored = sentence_scores(logits, row.passages[-1], table.offsets(number), table.sentences(number))
    return tuple(Marked(*one) for one in scored)


def _place_span(verdict: Verdict, row: Row, chain: Chain, first: int, last: int, table: PassageTable) -> Verdict:
    """Say where a span of row positions stands: in which passage, at which characters."""
    for place, (number, placed) in enumerate(zip(chain, row.passages, strict=True)):
        passage = table.passages[number]
        if placed.text_at <= first < placed.text_at + placed.length:
            shift = placed.window - placed.text_at
            end = min(last, placed.text_at + placed.length - 1)
            a, b = table.text_of(number, first + shift, end + shift)
            return replace(verdict, passage=place, start=a, end=b, text=passage.text[a:b])
        if placed.title_at <= first < placed.title_at + placed.title_length:
            end = min(last, placed.title_at + placed.title_length - 1)
            a, b = table.title_of(number, first - placed.title_at, end - placed.title_at)
            return replace(verdict, passage=place, text=passage.title[a:b])
    return verdict
