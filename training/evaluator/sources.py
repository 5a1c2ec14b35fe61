"""Everything the training stream needs, from the prepared folder: tokens, dense lists, synthetic questions."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from training.evaluator.batches import Source, neighbours_of
from training.evaluator.cloze import make_questions
from training.evaluator.compose import compose
from training.evaluator.data import TRAINED, Collection, Question
from training.evaluator.dense import nearest, passage_ids, query_ids, vectors
from training.evaluator.documents import SETS
from training.evaluator.items import Candidates
from training.evaluator.minilm import read_minilm
from training.evaluator.model import State, initial_state
from training.evaluator.prepare import Lists, read_collection
from training.evaluator.tokens import PassageTable, TokenTable, load_tokenizer

DENSE_QUESTION, DENSE_CHAIN, NEIGHBOURS = 40, 24, 12
BESIDE = (1, -1, 2, -2, 3, -3)  # passages of the same document
COMPOSED = 5000
MINILM = Path("src/wellread/embedding/weights/all-minilm-l6-v2")  # model.onnx and tokenizer.json

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The prepared folder, loaded, with MiniLM's vectors of all passages."""

    folder: Path
    collection: Collection
    tokenizer: Tokenizer
    table: PassageTable
    minilm: State
    passage_vectors: torch.Tensor
    device: torch.device


def say(started: float, text: str) -> None:
    print(f"[{time.monotonic() - started:6.1f} s] {text}", flush=True)


def load_prepared(folder: Path, minilm_folder: Path, device: torch.device, started: float) -> Prepared:
    """Load, tokenise and embed."""
    collection = read_collection(folder / "collection.jsonl.xz")
    tokenizer = load_tokenizer(minilm_folder / "tokenizer.json")
    table = PassageTable(tokenizer, collection.passages)
    say(started, f"{len(collection.passages)} passages in tokens")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    weights = initial_state(read_minilm(minilm_folder / "model.onnx"), 0, heads=False)
    minilm = {name: value.to(device, kind) for name, value in weights.items()}
    rows = [passage_ids(table.tokens(number)) for number in range(len(collection.passages))]
    embedded = vectors(minilm, rows, device)
    say(started, "passages embedded")
    return Prepared(folder, collection, tokenizer, table, minilm, embedded, device)


def neighbours(prepared: Prepared) -> Numbers:
    """For each passage the nearest others of its set."""
    found = np.full((len(prepared.collection.passages), NEIGHBOURS), -1, np.int32)
    for numbers in prepared.collection.ranges.values():
        pool = prepared.passage_vectors[numbers.start : numbers.stop]
        places = nearest(pool, pool, NEIGHBOURS + 1)[:, 1:]
        found[numbers.start : numbers.stop, : places.shape[1]] = places + numbers.start
    return found


def real_sources(prepared: Prepared, lists: Lists, near: Numbers) -> dict[str, Source]:
    """The sets with their lexical and dense negatives."""
    questions = prepared.collection.questions
    ids = TokenTable(prepared.tokenizer, [question.text for question in questions])
    by_set: dict[str, list[int]] = {}
    for row, question in enumerate(questions):
        if question.part == "train" and question.gold:
            by_set.setdefault(question.data, []).append(row)
    sources: dict[str, Source] = {}
    for name, rows in by_set.items():
        dense, dense_after = _dense_lists(prepared, rows, ids)
        everything = prepared.collection.ranges[name]
        found: list[Candidates] = []
        for place, row in enumerate(rows):
            question = questions[row]
            steps = enumerate(question.gold if question.hops > 1 else ())
            after = {gold: (lists.links[gold], dense_after[row, step]) for step, gold in steps}
            beside = [gold + step for step in BESIDE for gold in question.gold if question.form and gold + step in everything]
            listed = (question.context, lists.questions[row], dense[place], beside)
            found.append(Candidates(listed, after, neighbours_of(question, near), everything))
        sources[name] = Source([questions[row] for row in rows], [ids.ids(row) for row in rows], found)
    return sources


def _dense_lists(prepared: Prepared, rows: Sequence[int], ids: TokenTable) -> tuple[Numbers, dict[tuple[int, int], Numbers]]:
    """For the questions of one set: nearest passages, and nearest to question + gold passage."""
    questions = prepared.collection.questions
    numbers = prepared.collection.ranges[questions[rows[0]].data]
    pool = prepared.passage_vectors[numbers.start : numbers.stop]
    asked = vectors(prepared.minilm, [query_ids(ids.ids(row)) for row in rows], prepared.device)
    dense = nearest(asked, pool, DENSE_QUESTION) + numbers.start
    keys = [(row, step) for row in rows if questions[row].hops > 1 for step in range(questions[row].hops)]
    if not keys:
        return dense, {}
    queries = [query_ids(ids.ids(row), [prepared.table.tokens(questions[row].gold[step])]) for row, step in keys]
    after = nearest(vectors(prepared.minilm, queries, prepared.device), pool, DENSE_CHAIN) + numbers.start
    return dense, dict(zip(keys, after, strict=True))


def synthetic_sources(prepared: Prepared, lists: Lists, near: Numbers, passages: int, seed: int) -> dict[str, Source]:
    """Clozes, claims and bridges from plain passages; chains of real single-hop questions."""
    collection = prepared.collection
    singles = [q for q in collection.questions if q.part == "train" and q.data in ("squad", "nq_open_oracle")]
    made = _from_passages(prepared, lists, passages, seed) + compose(singles, seed, COMPOSED)
    ids = TokenTable(prepared.tokenizer, [question.text for question in made])
    sources: dict[str, Source] = {}
    for name in ("cloze", "claim", "bridge", "composed"):
        rows = [row for row, question in enumerate(made) if question.data == name]
        if not rows:
            continue
        found = [_synthetic_candidates(prepared, lists, made[row], near) for row in rows]
        sources[name] = Source([made[row] for row in rows], [ids.ids(row) for row in rows], found, weight=0.5)
    return sources


def _synthetic_candidates(prepared: Prepared, lists: Lists, question: Question, near: Numbers) -> Candidates:
    around = neighbours_of(question, near)
    after = {gold: (lists.links[gold], near[gold]) for gold in question.gold}
    everything = next(numbers for numbers in prepared.collection.ranges.values() if question.gold[0] in numbers)
    return Candidates((around,), after, around, everything)


def _from_passages(prepared: Prepared, lists: Lists, count: int, seed: int) -> list[Question]:
    """From encyclopaedias and from documents, as many of the one as of the other."""
    collection = prepared.collection
    untouched = {number for q in collection.questions if q.part != "train" for number in q.gold}
    chosen: list[int] = []
    for names in (TRAINED, SETS):
        numbers = [n for name in names for n in collection.ranges.get(name, ()) if n not in untouched]
        chosen += random.Random(seed).sample(numbers, min(count // 2, len(numbers)))
    links = {n: [int(t) for t in lists.links[n] if t >= 0 and int(t) not in untouched] for n in chosen}
    parts = [[collection.passages[n] for n in chosen[start::16]] for start in range(16)]
    make = partial(make_questions, links=links, by_number=collection.passages, seed=seed)
    if count < 2000:
        return [question for part in parts for question in make(part)]
    with multiprocessing.get_context("fork").Pool() as pool:
        return [question for made in pool.map(make, parts) for question in made]
