"""Passages and questions as training sees them, and which of them it never sees.

Every passage of every set has one number. Questions are held out by a hash of their id, SQuAD
by whole articles, sets of documents by whole documents (`documents`), so that the same rows are held out whoever runs it. A
held-out part is `tune` (thresholds,
calibration, search weights) or `report` (the figures in the model card).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

Part = Literal["train", "tune", "report", "fixed", "next"]
Form = Literal["", "span", "yes", "no", "text", "none"]
Mark = tuple[int, int, int]  # a passage's number, and which of its characters

TRAINED = ("hotpotqa", "2wiki", "squad", "nq_open_oracle")
MEASURED = ("musique_train100", "scifact")  # never trained on
HELD_OUT = {"hotpotqa": (200, 400), "2wiki": (200, 400), "nq_open_oracle": (150, 150)}  # questions: tune, report
MUSIQUE_SIZE = 11_656  # passages, as in what is published: fewer make it look easier
HELD_OUT_ARTICLES = (2, 3)  # SQuAD: tune, report


@dataclass(frozen=True, slots=True)
class Passage:
    """`number` counts through all sets."""

    number: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """`gold` and `context` are numbers of passages; `hops` is 1 where one passage is enough."""

    id: str
    data: str
    text: str
    answers: tuple[str, ...]
    gold: tuple[int, ...]
    context: tuple[int, ...] = ()
    kind: str = ""
    part: Part = "train"
    form: Form = ""  # of the answer, where the set says it; then every gold passage stands by itself
    marks: tuple[Mark, ...] = ()  # what of the gold passages carries an answer that is no span

    @property
    def hops(self) -> int:
        return 1 if self.form else len(self.gold)

    @property
    def compares(self) -> bool:
        """Whether no single passage can hold the answer's reason."""
        return "comparison" in self.kind


def question_from(row: Mapping[str, object]) -> Question:
    """The reverse of `asdict`."""
    fields = {name: tuple(value) if name in ("answers", "gold", "context") else value for name, value in row.items()}  # type: ignore[arg-type]
    fields["marks"] = tuple(tuple(mark) for mark in row.get("marks", ()))  # type: ignore[attr-defined]
    return Question(**fields)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Collection:
    """All passages, the range of each set's, and all questions."""

    passages: tuple[Passage, ...]
    ranges: dict[str, range]
    questions: tuple[Question, ...]

    def of(self, data: str, part: Part | None = None) -> list[Question]:
        """A set's questions, or one part of them."""
        return [q for q in self.questions if q.data == data and part in (None, q.part)]


Load = Callable[[int], Iterable[tuple[Part, list[Passage], list[Question]]]]  # a set's parts; numbers begin at the one given


def load_collection(
    folder: Path, sets: Sequence[str] = (*TRAINED, *MEASURED), documents: Mapping[str, Load] | None = None
) -> Collection:
    """Read `folder/SET/corpus.jsonl.gz` and `questions.jsonl.gz` of each set, and the sets of documents, each by its own way."""
    passages: list[Passage] = []
    ranges: dict[str, range] = {}
    questions: list[Question] = []
    for name, load in (documents or {}).items():
        for part, texts, asked in load(len(passages)):
            ranges[name if part == "train" else f"{name}:{part}"] = range(len(passages), len(passages) + len(texts))
            passages += texts
            questions += asked
    for name in sets:
        first = len(passages)
        numbers: dict[str, int] = {}
        for row in read_rows(folder / name / "corpus.jsonl.gz"):
            numbers[str(row["id"])] = len(passages)
            passages.append(Passage(len(passages), str(row["title"]), str(row["text"])))
        ranges[name] = range(first, len(passages))
        loaded = [_question(row, name, numbers) for row in read_rows(folder / name / "questions.jsonl.gz")]
        titles = {number: passages[number].title for number in ranges[name]}
        questions += _split(name, loaded, titles)
    return Collection(tuple(passages), ranges, tuple(_untold(questions, passages)))


def _untold(questions: Sequence[Question], passages: Sequence[Passage]) -> list[Question]:
    """Without training questions that another set holds out, by their words or by their passage."""

    def told(question: Question) -> set[str]:
        return {question.text.casefold(), *(passages[number].text[:100] for number in question.gold)}

    held = {text for question in questions if question.part != "train" and not question.form for text in told(question)}
    return [q for q in questions if q.part != "train" or not q.form or not told(q) & held]


def read_rows(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _question(row: dict[str, object], name: str, numbers: dict[str, int]) -> Question:
    def known(field: str) -> tuple[int, ...]:
        ids = row.get(field, [])
        assert isinstance(ids, list)
        return tuple(numbers[str(key)] for key in ids if str(key) in numbers)

    answers = row.get("answers", [])
    assert isinstance(answers, list)
    return Question(
        id=str(row["id"]),
        data=name,
        text=str(row["question"]),
        answers=tuple(str(answer) for answer in answers),
        gold=known("gold"),
        context=known("context"),
        kind=str(row.get("type") or ""),
    )


def _split(name: str, questions: list[Question], titles: dict[int, str]) -> list[Question]:
    parts: dict[str, Part] = {}
    if name == "squad":
        articles = sorted({titles[q.gold[0]] for q in questions}, key=_hash)
        tune, report = HELD_OUT_ARTICLES
        part_of: dict[str, Part] = dict.fromkeys(articles[:tune], "tune")
        part_of |= dict.fromkeys(articles[tune : tune + report], "report")
        parts = {q.id: part_of[titles[q.gold[0]]] for q in questions if titles[q.gold[0]] in part_of}
    elif name in HELD_OUT:
        tune, report = HELD_OUT[name]
        ids = sorted((q.id for q in questions), key=_hash)
        parts = dict.fromkeys(ids[:tune], "tune")
        parts |= dict.fromkeys(ids[tune : tune + report], "report")
    else:
        parts = {q.id: "report" for q in questions}
    return [replace(q, part=parts.get(q.id, "train")) for q in questions]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def documents_corpus(collection: Collection, part: Part) -> list[int]:
    """All passages of documents that one part of the questions is asked of."""
    return [number for name, numbers in collection.ranges.items() if name.endswith(f":{part}") for number in numbers]


def closed_corpus(collection: Collection, data: str, size: int = 10_000) -> list[int]:
    """The passages a set's held-out questions are asked of: their contexts, filled up from the set's other passages.

    Sets that were never trained on are small and are filled up with HotpotQA's passages instead.
    """
    members: dict[int, None] = {}
    if data in MEASURED or data == "squad":
        members |= dict.fromkeys(collection.ranges[data])
    for question in collection.of(data):
        if question.part != "train":
            members |= dict.fromkeys((*question.gold, *question.context))
    musique = data.startswith("musique")
    size = MUSIQUE_SIZE if musique else size
    pool = collection.ranges["hotpotqa" if musique else data]
    filler = sorted((number for number in pool if number not in members), key=lambda number: _hash(str(number)))
    if data in ("squad", "scifact"):
        return list(members)
    return [*members, *filler[: max(0, size - len(members))]]
