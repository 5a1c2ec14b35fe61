"""Step 4: what the rules saw and what the verifier says of sentences, through the engine's own code; minutes on many cores.

python -m training.verifier.measure --prepared PREPARED --model WEIGHTS --output ASIDE.json
python -m training.verifier.measure --sentences HELD.txt --data ../shared/data --model WEIGHTS --output HELD.json
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypedDict

from training.evaluator.data import read_rows
from training.verifier.cases import load, set_aside
from training.verifier.claims import Case, Claim, Text
from training.verifier.written import told

from wellread.citations import entailment
from wellread.citations.check import weighed
from wellread.ranking.verifier import Verifier
from wellread.types import Passage


class Row(TypedDict):
    """One sentence. Without signs the form decided, and `supported` is the verdict."""

    text: str
    kind: str
    true: bool
    supported: bool  # by the rules
    signs: list[str] | None
    share: float
    carried: float
    astray: float


def measured(case: Case, model: Path) -> list[Row]:
    cited = {number: Passage(str(number), one.text, title=one.title) for number, one in enumerate(case.passages, 1)}
    marks = "".join(f" [{number}]" for number in cited)
    rows: list[Row] = []
    for claim in case.claims:
        judged = weighed(claim.text + marks, cited)
        signs = judged[-1].signs  # one sentence, or in pieces: the last has the citations
        row = Row(
            text=claim.text, kind=claim.kind, true=claim.carried, supported=all(one.sentence.supported for one in judged),
            signs=None, share=0.0, carried=0.0, astray=0.0,
        )  # fmt: skip
        if signs and len(judged) == 1:
            said = _verifier(model).weigh(signs.body, entailment.cited(signs))
            row |= {"signs": list(signs.found), "share": signs.share, "carried": said.carried, "astray": said.astray}
        rows.append(row)
    return rows


@cache
def _verifier(model: Path) -> Verifier:
    return Verifier(model, 1)


def collect(cases: Sequence[Case], model: Path, processes: int) -> list[Row]:
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return [row for rows in pool.imap(partial(measured, model=model), cases, chunksize=8) for row in rows]


def cases_of(paths: Sequence[Path], data: Path) -> list[Case]:
    """Files of written sentences."""
    ones = [one for path in paths for one in told(path.read_text(encoding="utf-8").splitlines())]
    wanted = {name for one in ones for name in one.passages}
    known = {
        name: Text(str(row["title"]), str(row["text"]))
        for folder in sorted({name.partition(":")[0] for name in wanted})
        for row in read_rows(data / folder / "corpus.jsonl.gz")
        if (name := f"{folder}:{row['id']}") in wanted
    }
    return [
        Case(
            tuple(known[name] for name in one.passages),
            (Claim(one.true, True), *(Claim(text, False, None, kind) for kind, text in zip(one.kinds, one.untrue, strict=True))),
        )
        for one in ones
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, help="measure what was set aside there")
    parser.add_argument("--sentences", type=Path, nargs="*", default=[])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    cases = set_aside(load(options.prepared)) if options.prepared else cases_of(options.sentences, options.data)
    options.output.write_text(json.dumps(collect(cases, options.model, options.processes)), encoding="utf-8")


if __name__ == "__main__":
    main()
