"""Step 1, on any machine: read the data and pack it for the GPU machine, where lexical negatives and mentions are found.

    python -m training.evaluator.prepare --data ../shared/data --manuals DATA/manuals --output training/prepared

The folder holds `collection.jsonl.xz`, and `lists.npz` with the candidates by words and mentions, found by as many processes as
there are processors.
"""

from __future__ import annotations

import argparse
import json
import lzma
import multiprocessing
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.evaluator.data import Collection, Passage, load_collection, question_from
from training.evaluator.documents import SETS, load_documents
from training.evaluator.lexical import Bm25
from training.evaluator.mentions import Mentions

QUESTION_LIST, LINKS = 40, 16
LISTS = "lists.npz"
GIVEN = ("hotpotqa", "2wiki")  # their distractors were found by words already

SMALL = 6000  # passages that need no processes

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Lists:
    """Candidates by number, -1 where a list is short.

    `questions` has a row for each question, `links` for each passage: those whose title it mentions.
    """

    questions: Numbers
    links: Numbers


def padded(rows: Sequence[Sequence[int]], width: int) -> Numbers:
    """Rows of different lengths as one array, filled with -1."""
    array = np.full((len(rows), width), -1, np.int32)
    for index, row in enumerate(rows):
        array[index, : min(len(row), width)] = row[:width]
    return array


def find_lists(collection: Collection) -> Lists:
    """Lexical candidates for training questions, links for all passages; a process has a set at a time, the largest first."""
    asked: dict[str, list[int]] = {}
    for row, question in enumerate(collection.questions):
        if question.part == "train" and question.data not in GIVEN:
            asked.setdefault(question.data, []).append(row)
    jobs: list[tuple[str, Sequence[int] | None]] = [*asked.items(), *((name, None) for name in collection.ranges)]
    jobs.sort(key=lambda job: -len(collection.ranges[job[0]]) * (1 if job[1] is None else 3))
    if len(collection.passages) < SMALL:
        found = [_found(collection, job) for job in jobs]
    else:
        with multiprocessing.get_context("fork").Pool() as pool:
            found = pool.map(partial(_found, collection), jobs, 1)
    by_question: list[Sequence[int]] = [()] * len(collection.questions)
    links: list[Sequence[int]] = [()] * len(collection.passages)
    for (_, rows), lists in zip(jobs, found, strict=True):
        for row, numbers in lists.items():
            (links if rows is None else by_question)[row] = numbers
    return Lists(padded(by_question, QUESTION_LIST), padded(links, LINKS))


def _found(collection: Collection, job: tuple[str, Sequence[int] | None]) -> dict[int, list[int]]:
    """For each of these questions the passages of a set that share its words; without questions, for each passage those that it
    mentions."""
    name, rows = job
    numbers = collection.ranges[name]
    passages = [collection.passages[number] for number in numbers]
    if rows is None:
        mentions = Mentions(passages)
        return {p.number: [n for n in mentions.find(p.text, LINKS + 1) if n != p.number] for p in passages}
    index = Bm25(f"{passage.title} {passage.text}" for passage in passages)
    return {row: [numbers[hit] for hit in index.search(collection.questions[row].text, QUESTION_LIST)] for row in rows}


def load_lists(folder: Path, collection: Collection) -> Lists:
    """The lists beside a collection, found now where nobody kept them."""
    if (kept := folder / LISTS).is_file():
        with np.load(kept) as arrays:
            return Lists(arrays["questions"], arrays["links"])
    return find_lists(collection)


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
        questions = tuple(question_from(json.loads(line)) for line in lines)
    return Collection(passages, {name: range(*ends) for name, ends in head["ranges"].items()}, questions)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--manuals", type=Path, help="what step 0 wrote")
    parser.add_argument("--written", type=Path, help="what steps 0b and 0c wrote")
    parser.add_argument("--statements", type=Path, help="what step 0d wrote")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    folders = {name: options.data / name for name in SETS if (options.data / name).is_dir()}
    for name in ("manuals", "written", "statements"):
        if folder := getattr(options, name):
            folders[name] = folder
    documents = {name: partial(load_documents, name, folder) for name, folder in folders.items()}
    collection = load_collection(options.data, documents=documents)
    save_collection(collection, options.output / "collection.jsonl.xz")
    np.savez_compressed(options.output / LISTS, **asdict(find_lists(collection)))


if __name__ == "__main__":
    main()
