"""Searches with everything that was asked and answered, so that they can be run again without the model."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from training.evaluator.data import Passage, Question, question_from

from wellread.core.effort import Plan
from wellread.ranking.answers import AnswerWeights, Best, Doubt, best_answers, doubts
from wellread.ranking.paths import Collect, Found, Marked, Score, Verdict, Weights, hopeless, search_paths
from wellread.types import Passage as Told

Chain = tuple[int, ...]

NEVER = -99.0  # a logit that stands for a kind the model does not know
KEPT = 4  # sentences of a verdict, the best
UNSEEN = hopeless(-12.0)  # stands for chains nobody judged


@dataclass(slots=True)
class Record:
    """One question, its first list, the candidates after chains and the verdicts on chains."""

    question: Question
    variant: str
    ranked: list[int]
    collected: dict[Chain, list[list[int]]] = field(default_factory=dict[Chain, "list[list[int]]"])
    verdicts: dict[Chain, Verdict] = field(default_factory=dict[Chain, Verdict])


def search_again(record: Record, plan: Plan, weights: Weights) -> tuple[Found[int], int]:
    """The search with another plan or other weights, and how many chains it missed."""
    search = search_paths(record.ranked, plan, weights)
    missed = 0
    try:
        request: Score[int] | Collect[int] = next(search)
        while True:
            if isinstance(request, Score):
                missed += sum(chain not in record.verdicts for chain in request.chains)
                request = search.send([record.verdicts.get(chain, UNSEEN) for chain in request.chains])
            else:
                request = search.send([record.collected.get(chain, []) for chain in request.chains])
    except StopIteration as end:
        return end.value, missed


class Answering:
    """The best answer of a search, chosen as the engine chooses it; doubts are weighed once for each chain."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self._known: dict[tuple[str, Chain], Doubt] = {}

    def best(self, record: Record, found: Found[int], weights: Weights, scoring: AnswerWeights) -> Best[int] | None:
        order = [key for key, _ in found.ranking]
        answers = best_answers(order, found.verdicts, weights, scoring.asked(record.question.text), self._doubt(record.question))
        return answers[0] if answers else None

    def _doubt(self, question: Question) -> Callable[[Chain], Doubt]:
        weigh = doubts(question.text)

        def doubt(chain: Chain) -> Doubt:
            key = question.id, chain
            if key not in self._known:
                self._known[key] = weigh([self._told(number) for number in chain])
            return self._known[key]

        return doubt

    def _told(self, number: int) -> Told:
        passage = self.passages[number]
        return Told(str(number), passage.text, passage.title)


def save_records(records: Sequence[Record], path: Path) -> None:
    """Add one JSON line for each."""
    with gzip.open(path, "at", encoding="utf-8", compresslevel=9) as out:
        for record in records:
            out.write(json.dumps(_plain(record), ensure_ascii=False, separators=(",", ":")) + "\n")


def _plain(record: Record) -> dict[str, object]:
    # Places in one list of numbers instead of the numbers: much smaller.
    return {
        "question": asdict(record.question) | {"context": []},
        "variant": record.variant,
        "ranked": record.ranked,
        "collected": [[list(chain), lists] for chain, lists in record.collected.items()],
        "verdicts": [
            [
                *chain,
                round(v.relevance, 2),
                *(round(kind, 2) for kind in v.kinds),
                round(v.span, 2),
                v.passage,
                v.start,
                v.end,
                v.text,
                round(max(v.told, NEVER), 2),
                round(v.early, 2),
                [
                    [mark.start, mark.end, round(mark.score, 2)]
                    for mark in sorted(v.evidence, key=lambda mark: -mark.score)[:KEPT]
                ],
            ]
            for chain, v in record.verdicts.items()
        ],
    }


def load_records(path: Path, floor: float = -math.inf) -> Iterator[Record]:
    """The records of a file; rows that are below `floor` halfway are not read on."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield _record(json.loads(line), floor)


def _record(row: dict[str, object], floor: float) -> Record:
    fields = row["question"]
    assert isinstance(fields, dict)
    question = question_from(fields)
    record = Record(question, str(row["variant"]), list(row["ranked"]))  # type: ignore[call-overload]
    record.collected = {tuple(chain): found for chain, found in row["collected"]}  # type: ignore[attr-defined]
    for entry in row["verdicts"]:  # type: ignore[attr-defined]
        relevance, none, span, yes, no, worth, passage, start, end, text, told, early, marks = entry[-13:]
        evidence = tuple(Marked(*mark) for mark in marks)
        told = told if told > NEVER else -math.inf
        verdict = Verdict(relevance, (none, span, yes, no), worth, passage, start, end, text, told, evidence, early)
        record.verdicts[tuple(entry[:-13])] = verdict if early >= floor else hopeless(early)
    return record
