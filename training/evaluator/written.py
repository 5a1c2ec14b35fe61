"""Step 0b, on any machine: questions written by hand on passages of documentation packages, as a set of the usual form.

    python -m training.evaluator.written --questions training/evaluator/questions/*.txt --corpus CORPUS.jsonl.gz \\
        --output DATA/written

The questions are this project's own words; the passages they were written on are named and counted, not kept. `CORPUS` has
the passages of the packages, cut as the engine cuts them (`training.evaluator.cut`). After `@ ID`: `? question` with `= 3-4`,
the numbers of the sentences that answer it, or `= 3 "words"`, the words of one that do, or `= 3 yes`; and `! question` that the
passage looks as if it answered, and does not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.evaluator.data import read_rows
from training.evaluator.wording import kind_of

from wellread.text.sentences import sentences

_ANSWER = re.compile(r"= (?P<places>\d[\d,\- ]*?)(?: (?P<said>yes|no|\".+\"))?\s*")


@dataclass(frozen=True, slots=True)
class Written:
    """A question on a passage; `places` are numbers of sentences that answer it, none where nothing does."""

    passage: str
    text: str
    places: tuple[int, ...] = ()
    said: str = ""  # yes, no, or the words that are the answer

    def placed(self, id: str, passage: str) -> dict[str, object]:
        """As the sets of documents have it."""
        spans = sentences(passage)
        marks = [[self.passage, *spans[place - 1]] for place in self.places if place <= len(spans)]
        return row(id, self.text, self.passage, self.said, marks)


def row(id: str, question: str, passage: str, said: str, marks: Sequence[Sequence[object]]) -> dict[str, object]:
    """A question on a passage as the sets of documents have it; without marks nothing answers it."""
    row: dict[str, object] = {
        "id": id,
        "question": question,
        "answers": [said] if said not in ("", "yes", "no") else [],
        "gold": [passage],
        "kind": kind_of(question),
        "generated": "written",
        "marks": marks,
    }
    if not marks:
        row["impossible"] = True
    elif said in ("yes", "no"):
        row["yesno"] = said
    return row


def written(lines: Iterable[str]) -> Iterator[Written]:
    passage = asked = ""
    for line in filter(None, map(str.strip, lines)):
        mark, _, text = line.partition(" ")
        if mark == "@":
            passage = text.strip()
        elif mark == "?":
            asked = text
        elif mark == "!":
            yield Written(passage, text)
        elif mark == "=" and (answer := _ANSWER.fullmatch(line)):
            said = answer["said"] or ""
            yield Written(passage, asked, tuple(_numbers(answer["places"])), said.strip('"'))
        elif not line.startswith("#"):
            raise ValueError(f"cannot be read: {line!r}")


def _numbers(places: str) -> Iterator[int]:
    for part in places.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def rows(questions: Iterable[Written], texts: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """The rows of questions whose passage is known and holds what they name."""
    for number, one in enumerate(questions):
        passage = texts.get(one.passage)
        if passage is None or (one.said not in ("", "yes", "no") and one.said not in passage):
            continue
        made = one.placed(f"{one.passage}-{number}", passage)
        if bool(made["marks"]) == bool(one.places):
            yield made


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, nargs="+", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    corpus = list(read_rows(options.corpus))
    texts = {str(row["id"]): str(row["text"]) for row in corpus}
    with gzip.open(options.output / "corpus.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in corpus)
    asked = [one for path in options.questions for one in written(path.read_text(encoding="utf-8").splitlines())]
    made = list(rows(asked, texts))
    with gzip.open(options.output / "questions.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in made)
    print(f"{len(corpus)} passages, {len(made)} of {len(asked)} questions")


if __name__ == "__main__":
    main()
