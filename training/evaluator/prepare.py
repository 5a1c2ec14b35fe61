"""Step 1, on any machine: read the data, find lexical negatives and mentions, pack everything for the GPU machine.

    python -m training.evaluator.prepare --data ../shared/data --output training/prepared

The folder holds `collection.jsonl.xz` and `lists.npz`, 26 MB together.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.evaluator.data import TRAINED, Collection, Passage, Question, load_collection
from training.evaluator.lexical import Bm25
from training.evaluator.mentions import Mentions

QUESTION_LIST, CHAIN_LIST, LINKS = 40, 24, 16

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Lists:
    """Candidates by number, -1 where a list is short.

    `questions` has a row for each question, `chains` for each (question, place in its gold passages), `links`
    for each passage: those whose title it mentions.
    """

    questions: Numbers
    chains: Numbers
    chain_keys: Numbers
    links: Numbers

    def save(self, path: Path) -> None:
        np.savez_compressed(path, **asdict(self))

    @classmethod
    def load(cls, path: Path) -> Lists:
        with np.load(path) as arrays:
            return cls(**{name: arrays[name] for name in ("questions", "chains", "chain_keys", "links")})


def padded(rows: Sequence[Sequence[int]], width: int) -> Numbers:
    """Rows of different lengths as one array, filled with -1."""
    array = np.full((len(rows), width), -1, np.int32)
    for index, row in enumerate(rows):
        array[index, : min(len(row), width)] = row[:width]
    return array


def chain_keys_of(questions: Sequence[Question]) -> Numbers:
    """(question, place) of every gold passage that another may follow."""
    keys = [(index, place) for index, q in enumerate(questions) if q.hops > 1 and q.part == "train" for place in range(q.hops)]
    return np.array(keys, np.int32).reshape(-1, 2)


def find_lists(collection: Collection) -> Lists:
    """Lexical candidates for training questions and chains, links for all passages."""
    questions = collection.questions
    by_question: list[list[int]] = [[] for _ in questions]
    keys = chain_keys_of(questions)
    by_chain: list[list[int]] = [[] for _ in keys]
    links: list[list[int]] = [[] for _ in collection.passages]
    for name, numbers in collection.ranges.items():
        members = [collection.passages[number] for number in numbers]
        mentions = Mentions(members)
        for passage in members:
            links[passage.number] = [n for n in mentions.find(passage.text, LINKS + 1) if n != passage.number]
        if name not in TRAINED:
            continue
        index = Bm25(f"{passage.title} {passage.text}" for passage in members)
        for row, question in enumerate(questions):
            if question.data == name and question.part == "train":
                by_question[row] = [numbers[hit] for hit in index.search(question.text, QUESTION_LIST)]
        for row, (asked, place) in enumerate(keys):
            question = questions[asked]
            if question.data == name:
                first = collection.passages[question.gold[place]]
                query = f"{question.text} {first.title} {first.text}"
                by_chain[row] = [numbers[hit] for hit in index.search(query, CHAIN_LIST)]
        print(f"{name}: {len(members)} passages indexed", flush=True)
    return Lists(padded(by_question, QUESTION_LIST), padded(by_chain, CHAIN_LIST), keys, padded(links, LINKS))


def save_collection(collection: Collection, path: Path) -> None:
    """One JSON line for the ranges, one for each passage and question."""
    with lzma.open(path, "wt", encoding="utf-8", preset=6) as out:
        ranges = {name: [numbers.start, numbers.stop] for name, numbers in collection.ranges.items()}
        out.write(json.dumps({"ranges": ranges, "passages": len(collection.passages)}) + "\n")
        for passage in collection.passages:
            out.write(json.dumps([passage.title, passage.text], ensure_ascii=False) + "\n")
        for question in collection.questions:
            out.write(json.dumps(asdict(question), ensure_ascii=False) + "\n")


def read_collection(path: Path) -> Collection:
    """The reverse of `save_collection`."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        head = json.loads(next(lines))
        passages = tuple(Passage(number, *json.loads(next(lines))) for number in range(head["passages"]))
        questions = tuple(_question(json.loads(line)) for line in lines)
    return Collection(passages, {name: range(*ends) for name, ends in head["ranges"].items()}, questions)


def _question(row: dict[str, object]) -> Question:
    lists = ("answers", "gold", "context")
    return Question(**{name: tuple(value) if name in lists else value for name, value in row.items()})  # type: ignore[arg-type]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    collection = load_collection(options.data)
    save_collection(collection, options.output / "collection.jsonl.xz")
    find_lists(collection).save(options.output / "lists.npz")


if __name__ == "__main__":
    main()
