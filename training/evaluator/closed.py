"""Closed sets: searching a few thousand passages as the engine does, many questions at once on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from training.evaluator.data import Question
from training.evaluator.dense import nearest, query_ids, vectors
from training.evaluator.judging import Asked, Judging
from training.evaluator.lexical import Bm25, fuse_ranks
from training.evaluator.mentions import Mentions
from training.evaluator.records import Chain, Record
from training.evaluator.sources import Prepared

from wellread.core.effort import Plan
from wellread.ranking.inputs import Ids
from wellread.ranking.paths import Collect, Score, Search, Verdict, Weights, search_paths

FIRST_LIST, CANDIDATES = 100, 30


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


def search_all(
    judging: Judging,
    closed: ClosedSet,
    questions: Sequence[Question],
    ids: Sequence[Ids],
    plan: Plan,
    weights: Weights,
    *,
    variant: str = "",
    without: Sequence[set[int]] | None = None,
    also: Sequence[Sequence[Chain]] | None = None,
) -> list[Record]:
    """Search for all questions in step; `also` names chains that are judged in any case."""
    absent = without or [set() for _ in questions]
    ranked = closed.first_lists(questions, ids, absent)
    records = [Record(question, variant, found) for question, found in zip(questions, ranked, strict=True)]
    searches: dict[int, Search[int]] = {i: search_paths(record.ranked, plan, weights) for i, record in enumerate(records)}
    waiting = {i: request for i, search in searches.items() if (request := _advance(search, None)) is not None}
    if also:
        _score(judging, records, ids, {i: Score(tuple(chains)) for i, chains in enumerate(also)})
    while waiting:
        scores = {i: request for i, request in waiting.items() if isinstance(request, Score)}
        collects = {i: request for i, request in waiting.items() if isinstance(request, Collect)}
        replies: dict[int, object] = dict(_score(judging, records, ids, scores))
        replies |= _collect(closed, records, ids, absent, collects)
        waiting = {i: request for i, reply in replies.items() if (request := _advance(searches[i], reply)) is not None}
    return records


def _advance(search: Search[int], reply: object) -> Score[int] | Collect[int] | None:
    try:
        return next(search) if reply is None else search.send(reply)  # type: ignore[arg-type]
    except StopIteration:
        return None


def _score(
    judging: Judging, records: Sequence[Record], ids: Sequence[Ids], requests: Mapping[int, Score[int]]
) -> dict[int, list[Verdict]]:
    chains = [(i, chain) for i, request in requests.items() for chain in request.chains]
    found = judging([Asked(records[i].question.text, ids[i], chain) for i, chain in chains])
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
