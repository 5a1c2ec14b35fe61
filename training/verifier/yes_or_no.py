"""Sentences written by hand as a data set of the usual form: is this so? Yes where the passages carry it, else no.

python -m training.verifier.yes_or_no --data ../shared/data --written training/verifier/written/claims?.txt --output DATA/claims
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from training.evaluator.data import read_rows
from training.verifier.written import Told, told


def passages(names: Iterable[str], data: Path) -> dict[str, dict[str, object]]:
    """Rows of the sets by `SET:ID`, with that as their id."""
    wanted = dict.fromkeys(names)
    rows: dict[str, dict[str, object]] = {}
    for folder in dict.fromkeys(name.partition(":")[0] for name in wanted):
        for row in read_rows(data / folder / "corpus.jsonl.gz"):
            if (name := f"{folder}:{row['id']}") in wanted:
                rows[name] = {"id": name, "title": row["title"], "text": row["text"]}
    return rows


def questions(sentences: Iterable[Told]) -> Iterator[dict[str, object]]:
    for number, one in enumerate(sentences):
        for place, said in enumerate((one.true, *one.untrue)):
            answer = "no" if place else "yes"
            gold = list(one.passages)
            yield {"id": f"{number}-{place}", "question": said, "answers": [], "gold": gold, "yesno": answer, "kind": "yes-no"}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    sentences = [one for path in options.written for one in told(path.read_text(encoding="utf-8").splitlines())]
    known = passages((name for one in sentences for name in one.passages), options.data)
    for name, rows in (("questions", questions(sentences)), ("corpus", known.values())):
        with gzip.open(options.output / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{len(sentences)} true sentences with what was made of them, on {len(known)} passages")


if __name__ == "__main__":
    main()
