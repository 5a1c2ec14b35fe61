"""Step 1, on any machine: read the data and pack it for the GPU machine, where lexical negatives and mentions are found.

    python -m training.evaluator.prepare --data ../shared/data --manuals DATA/manuals --output training/prepared

The folder holds `collection.jsonl.xz`; the lists are found by as many processes as there are processors.
"""

from __future__ import annotations

import argparse
import json
import lzma
import multiprocessing
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.evaluator.data import Collection, Passage, load_collection, question_from
from training.evaluator.documents import SETS
from training.evaluator.lexical import Bm25
from training.evaluator.mentions import Mentions

QUESTION_LIST, LINKS = 40, 16
GIVEN = ("hotpotqa", "2wiki")  # their distractors were found by words already

STRETCH = 6000  # passages that one process looks for mentions in
ASKED = 4000  # questions that one process looks for passages for

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
    """Lexical candidates for training questions, links for all passages; a process for each set."""
    by_question: list[Sequence[int]] = [()] * len(collection.questions)
    links: list[Sequence[int]] = [()] * len(collection.passages)
    by_set: dict[str, list[int]] = {}
    for row, question in enumerate(collection.questions):
        if question.part == "train":
            by_set.setdefault(question.data, []).append(row)
    parts = [
        (name, start) for name, numbers in collection.ranges.items() for start in range(numbers.start, numbers.stop, STRETCH)
    ]
    if len(collection.passages) < STRETCH:
        found = [*(_linked(collection, part) for part in parts), *(_listed(collection, (name, 0), by_set) for name in by_set)]
    else:
        with multiprocessing.get_context("fork").Pool() as pool:
            shares = [(n, at) for n, own in by_set.items() if n not in GIVEN for at in range(0, len(own), ASKED)]
            lists = pool.map_async(partial(_listed, collection, by_set=by_set), shares, 1)
            found = [*pool.map(partial(_linked, collection), parts, 1), *lists.get()]
    for kind, rows in found:
        for row, numbers in rows.items():
            (links if kind == "links" else by_question)[row] = numbers
    return Lists(padded(by_question, QUESTION_LIST), padded(links, LINKS))


def _linked(collection: Collection, part: tuple[str, int]) -> tuple[str, dict[int, list[int]]]:
    name, start = part
    numbers = collection.ranges[name]
    mentions = Mentions([collection.passages[number] for number in numbers])
    chosen = collection.passages[start : min(start + STRETCH, numbers.stop)]
    return "links", {p.number: [n for n in mentions.find(p.text, LINKS + 1) if n != p.number] for p in chosen}


def _listed(
    collection: Collection, share: tuple[str, int], by_set: Mapping[str, Sequence[int]]
) -> tuple[str, dict[int, list[int]]]:
    name, first = share
    numbers = collection.ranges[name]
    index = Bm25(f"{collection.passages[number].title} {collection.passages[number].text}" for number in numbers)
    texts = {row: collection.questions[row].text for row in by_set[name][first : first + ASKED]}
    return "questions", {row: [numbers[hit] for hit in index.search(text, QUESTION_LIST)] for row, text in texts.items()}


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
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    folders = {name: options.data / name for name in SETS if (options.data / name).is_dir()}
    for name in ("manuals", "written"):
        if folder := getattr(options, name):
            folders[name] = folder
    save_collection(load_collection(options.data, documents=folders), options.output / "collection.jsonl.xz")


if __name__ == "__main__":
    main()
