"""Step 0b for the questions that are held out: where their answers stand, found by the checksums that are kept of them.

    python -m training.evaluator.held --corpus HELD.jsonl.gz --output DATA/held

`held_out.jsonl` has the questions with checksums of every three words of the sentences that answer. `HELD`
has the passages of the packages they were written on, cut by this version or another: a question whose sentences are
in no single passage is left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from training.evaluator.asked import Asked, questions, runs
from training.evaluator.data import read_rows
from training.evaluator.written import row

from wellread.text.sentences import sentences

_MOST = 0.85  # of the runs of three words that a passage must hold
_OWN = 0.6  # of the runs of a sentence that belong to what was named


def located(asked: Iterable[Asked], texts: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Rows of the usual form."""
    sums = {id: frozenset(runs(text)) for id, text in texts.items()}
    for number, one in enumerate(asked):
        own = {id: held for id, held in sums.items() if id.startswith(f"{one.package}:")}
        found = max(own, key=lambda id: len(own[id] & one.runs), default=None) if one.runs else next(iter(own), None)
        if found is None or len(own[found] & one.runs) < _MOST * len(one.runs):
            continue
        marks = [[found, *span] for span in _named(texts[found], one)]
        if bool(marks) != bool(one.runs):
            continue
        yield row(f"{one.package}-{number}", one.text, found, one.answer, marks)


def _named(text: str, one: Asked) -> Iterator[tuple[int, int]]:
    for start, end in sentences(text):
        said = runs(text[start:end])
        if sum(run in one.runs for run in said) >= _OWN * len(said):
            yield start, end


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    corpus = list(read_rows(options.corpus))
    texts = {str(row["id"]): str(row["text"]) for row in corpus}
    asked = [*questions("tune"), *questions("report")]
    made = list(located(asked, texts))
    for name, rows in (("corpus", corpus), ("questions", made)):
        with gzip.open(options.output / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(corpus)} passages, {len(made)} of {len(asked)} questions")


if __name__ == "__main__":
    main()
