"""Sentences written by hand as a data set of the usual form: is this so? Yes where the passages carry it, else no.

python -m training.verifier.yes_or_no --data ../shared/data --written training/verifier/written/*.txt --output DATA/claims
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path

from training.verifier.prepare import Passages
from training.verifier.written import told


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    known, used, count = Passages(options.data), dict[str, None](), 0
    with gzip.open(options.output / "questions.jsonl.gz", "wt", encoding="utf-8") as out:
        for one in (one for path in options.written for one in told(path.read_text(encoding="utf-8").splitlines())):
            used |= dict.fromkeys(one.passages)
            for place, said in enumerate((one.true, *one.untrue)):
                row = {"id": count, "question": said, "answers": [], "gold": one.passages, "yesno": "no" if place else "yes"}
                out.write(json.dumps(row | {"kind": "yes-no"}, ensure_ascii=False) + "\n")
                count += 1
    with gzip.open(options.output / "corpus.jsonl.gz", "wt", encoding="utf-8") as out:
        for name in used:
            title, text = known.find(name)
            out.write(json.dumps({"id": name, "title": title, "text": text}, ensure_ascii=False) + "\n")
    print(f"{count} sentences on {len(used)} passages")


if __name__ == "__main__":
    main()
