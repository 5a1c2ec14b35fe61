"""Closed sets: searching a few thousand passages as the engine does, many questions at once on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from training.evaluator.data import Question
from training.evaluator.dense import nearest, query_ids, vectors
from training.evaluator.lexical import Bm25, fuse_ranks
from training.evaluator.mentions import Mentions
from training.evaluator.model import Packed, State, judge
from training.evaluator.records import Chain, Record
from training.evaluator.sources import Prepared
from training.evaluator.tokens import PassageTable

from wellread.ranking.inputs import Ids, Limits, Row, batch_by_length, build_row
from wellread.ranking.paths import Collect, Plan, Score, Search, Verdict, Weights, search_paths

FIRST_LIST, CANDIDATES = 100, 30
LONGEST_ANSWER = 24  # tokens
TOKENS = 400_000  # in one batch of rows


class ClosedSet:
    """Passages that can be searched lexically, densely and by mention."""

    def __init__(self, prepared: Prepared, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)
        self._prepared = prepared
        passages = [prepared.collection.passages[number] for number in numbers]
        self._lexical = Bm25(f"{passage.title} {passage.text}" for passage in passages)
        self._mentions = Mentions(passages)
        self._vectors = prepared.passage_vectors[torch.tensor(self._numbers, device=prepared.device)]

    def _dense(self, rows: Sequence[Ids], count: int) -> list[list[int]]:
        asked = vectors(self._prepared.minilm, rows, self._prepared.device)
        return [[self._numbers[place] for place in places] for places in nearest(asked, self._vectors, count)]

    def first_lists(self, questions: Sequence[Question], ids: Sequence[Ids], without: Sequence[set[int]]) -> list[list[int]]:
        """Lexical and dense, fused; `without` names passages that shall not be there."""
        depth = FIRST_LIST * 2
        dense = self._dense([query_ids(row) for row in ids], depth)
        found: list[list[int]] = []
        for question, near, absent in zip(questions, dense, without, strict=True):
            lexical = [self._numbers[hit] for hit in self._lexical.search(question.text, depth)]
            lists = [[number for number in entries if number not in absent][:FIRST_LIST] for entries in (lexical, near)]
            found.append(fuse_ranks(lists)[:FIRST_LIST])
        return found

    def collect(self, asked: Sequence[tuple[Question, Ids, Chain, set[int]]]) -> list[list[list[int]]]:
        """Candidates after chains: mentioned, lexical, dense with the chain's last passage as part of the query."""
        table, passages = self._prepared.table, self._prepared.collection.passages
        dense = self._dense([query_ids(ids, [table.tokens(chain[-1])]) for _, ids, chain, _ in asked], CANDIDATES + 60)
        found: list[list[list[int]]] = []
        for (question, _, chain, absent), near in zip(asked, dense, strict=True):
            last = passages[chain[-1]]
            hits = self._lexical.search(f"{question.text} {last.title} {last.text}", CANDIDATES + 60)
            lists = [self._mentions.find(last.text), [self._numbers[hit] for hit in hits], near]
            refused = absent | set(chain)
            found.append([[number for number in entries if number not in refused][:CANDIDATES] for entries in lists])
        return found


@torch.no_grad()
def verdicts_on(
    state: State, rows: Sequence[Row], chains: Sequence[Chain], table: PassageTable, device: torch.device
) -> list[Verdict]:
    """The model's verdict on each row."""
    result: list[Verdict | None] = [None] * len(rows)
    for members in batch_by_length([len(row.ids) for row in rows], TOKENS, rows=4096):
        batch = [rows[index] for index in members]
        judged = judge(state, Packed.of([row.ids for row in batch], [row.question_length for row in batch], device))
        first, last, worth = best_spans(judged.starts, judged.ends)
        columns = (judged.relevance, judged.kinds, first, last, worth)
        for index, relevance, kinds, a, b, span in zip(members, *(column.tolist() for column in columns), strict=True):
            verdict = Verdict(relevance, tuple(kinds), span)
            result[index] = place_span(verdict, rows[index], chains[index], a, b, table)
    return [verdict for verdict in result if verdict is not None]


def best_spans(starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The best span of each row: first and last position and its log-likelihood."""
    starts, ends = starts.log_softmax(1), ends.log_softmax(1)
    width = starts.shape[1]
    padded = torch.nn.functional.pad(ends, (0, LONGEST_ANSWER), value=-1e4)
    # windows[r, s, d] is the end logit d places after s.
    windows = padded.unfold(1, LONGEST_ANSWER, 1)[:, :width]
    best_end, offset = windows.max(2)
    worth, first = (starts + best_end).max(1)
    return first, first + offset.gather(1, first[:, None])[:, 0], worth


def place_span(verdict: Verdict, row: Row, chain: Chain, first: int, last: int, table: PassageTable) -> Verdict:
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


def search_all(
    state: State,
    closed: ClosedSet,
    prepared: Prepared,
    questions: Sequence[Question],
    ids: Sequence[Ids],
    plan: Plan,
    *,
    variant: str = "",
    without: Sequence[set[int]] | None = None,
    also: Sequence[Sequence[Chain]] | None = None,
) -> list[Record]:
    """Search for all questions in step; `also` names chains that are judged in any case."""
    absent = without or [set() for _ in questions]
    ranked = closed.first_lists(questions, ids, absent)
    records = [Record(question, variant, found) for question, found in zip(questions, ranked, strict=True)]
    searches: dict[int, Search[int]] = {i: search_paths(record.ranked, plan, Weights()) for i, record in enumerate(records)}
    waiting = {i: request for i, search in searches.items() if (request := _advance(search, None)) is not None}
    if also:
        _score(state, prepared, records, ids, {i: Score(tuple(chains)) for i, chains in enumerate(also)})
    while waiting:
        scores = {i: request for i, request in waiting.items() if isinstance(request, Score)}
        collects = {i: request for i, request in waiting.items() if isinstance(request, Collect)}
        replies: dict[int, object] = dict(_score(state, prepared, records, ids, scores))
        replies |= _collect(closed, records, ids, absent, collects)
        waiting = {i: request for i, reply in replies.items() if (request := _advance(searches[i], reply)) is not None}
    return records


def _advance(search: Search[int], reply: object) -> Score[int] | Collect[int] | None:
    try:
        return next(search) if reply is None else search.send(reply)  # type: ignore[arg-type]
    except StopIteration:
        return None


def _score(
    state: State, prepared: Prepared, records: Sequence[Record], ids: Sequence[Ids], requests: Mapping[int, Score[int]]
) -> dict[int, list[Verdict]]:
    chains = [(i, chain) for i, request in requests.items() for chain in request.chains]
    table = prepared.table
    rows = [build_row(ids[i], [table.tokens(number) for number in chain], Limits()) for i, chain in chains]
    found = verdicts_on(state, rows, [chain for _, chain in chains], table, prepared.device)
    replies: dict[int, list[Verdict]] = {i: [] for i in requests}
    for (i, chain), verdict in zip(chains, found, strict=True):
        replies[i].append(verdict)
        records[i].verdicts[chain] = verdict
    return replies


def _collect(
    closed: ClosedSet,
    records: Sequence[Record],
    ids: Sequence[Ids],
    absent: Sequence[set[int]],
    requests: Mapping[int, Collect[int]],
) -> dict[int, list[list[list[int]]]]:
    asked = [(i, chain) for i, request in requests.items() for chain in request.chains]
    found = closed.collect([(records[i].question, ids[i], chain, absent[i]) for i, chain in asked]) if asked else []
    replies: dict[int, list[list[list[int]]]] = {i: [] for i in requests}
    for (i, chain), lists in zip(asked, found, strict=True):
        replies[i].append(lists)
        records[i].collected[chain] = lists
    return replies
