"""How well the citation check tells carried sentences from others, in one table beside published figures.

    python benchmarks/citations.py [--data DIR] [--limit N] [--quick]

Human labels: balanced accuracy, carried against the rest, on the claims of LFQA, WiCE and Factcheck whose first passage has a
checksum that nothing is fitted on (`held_out`); by the rules alone, as at low effort, and with the verifier, as at normal effort.
Vetoes: sentences of passages in which one year, date, number, unit or name was changed (`citations_changes`), the share that a
reader could still let pass; and true sentences, word for word and nearly so, that are flagged. `answers_held`: sentences written
for this project that nothing was trained on, the share judged rightly where nine of ten are true. Without the data, vetoes and
true sentences are made from the library of the package.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import random
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from training.verifier.written import cases_of

import wellread
from benchmarks.citations_changes import changed, passages, unchanged
from wellread.citations import verdicts
from wellread.citations.check import weighed
from wellread.ranking.evaluator import Evaluator
from wellread.types import Passage

ROOT = Path(__file__).resolve().parents[1]

BARS = {"lfqa": 0.82, "wice": 0.75, "factcheck": 0.76, "answers_held": 0.925}  # with the verifier
MOST_MS, MOST_FLAGGED = 60.0, 0.01
PUBLISHED = {  # on whole documents: SummaC-ZS, AlignScore (0.4 B), MiniCheck-Flan-T5-L (0.8 B), GPT-4o
    "lfqa": (0.776, 0.845, 0.852, 0.836),
    "wice": (0.628, 0.660, 0.722, 0.785),
    "factcheck": (),
}
TRUE_OF_TEN = 0.9


class Claim(NamedTuple):
    text: str
    passages: tuple[Passage, ...]
    carried: bool


def held_out(row: dict[str, Any]) -> bool:
    """The fifth of the claims that is for the report alone; no passage is on both sides."""
    return int(hashlib.sha256(row["passages"][0]["text"].encode()).hexdigest(), 16) % 5 == 0


def labelled(path: Path) -> list[Claim]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if held_out(row)]
    return [
        Claim(
            row["claim"],
            tuple(Passage(str(n), one["text"], title=one["title"]) for n, one in enumerate(row["passages"])),
            row["label"] == "carried",
        )
        for row in rows
    ]


def written(path: Path, data: Path) -> list[Claim]:
    return [
        Claim(one.text, tuple(Passage(str(n), text.text, title=text.title) for n, text in enumerate(case.passages)), one.carried)
        for case in cases_of([path], data)
        for one in case.claims
    ]


async def judged(claims: Sequence[Claim], reader: Evaluator | None) -> tuple[list[bool], float]:
    """Whether each claim passes, and milliseconds of one processor for each sentence that was read."""
    found: list[bool] = []
    seconds, sentences_read = 0.0, 0
    for claim in claims:
        cited = dict(enumerate(claim.passages, 1))
        began = time.process_time()
        sentences = weighed(claim.text + "".join(f" [{number}]" for number in cited), cited)
        read, used = await verdicts.reread(sentences, lambda: reader, 100)
        seconds, sentences_read = seconds + (time.process_time() - began if used else 0), sentences_read + used
        found.append(all(one.sentence.supported for one in read))
    return found, 1e3 * seconds / max(1, sentences_read)


def shares(claims: Sequence[Claim], passing: Sequence[bool]) -> tuple[float, float]:
    """Of the carried ones the share that passes, of the others the share that does not."""
    true = [passes for claim, passes in zip(claims, passing, strict=True) if claim.carried]
    untrue = [not passes for claim, passes in zip(claims, passing, strict=True) if not claim.carried]
    return statistics.mean(true), statistics.mean(untrue)


def library() -> list[Passage]:
    files = sorted((Path(wellread.__file__).parent / "library/articles").glob("*.md"))
    return [
        Passage(f"{file.stem}{n}", part) for file in files for n, part in enumerate(file.read_text("utf-8").split("\n\n")[1:])
    ]


def row(name: str, values: Iterable[object]) -> None:
    print(f"{name:24}", *(f"{value:>10.3f}" if isinstance(value, float) else f"{value:>10}" for value in values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--limit", type=int, default=10_000, help="claims of each set that are read")
    parser.add_argument("--quick", action="store_true", help="40 claims of each set with the verifier, and fewer changes")
    options = parser.parse_args()
    report: dict[str, float] = {"lfqa_ms": 0.0}
    limit = 40 if options.quick else options.limit
    row("", ("bar", "verifier", "rules", "ms", "SummaC", "AlignScore", "MiniCheck", "GPT-4o"))
    sets = {name: options.data / f"claims/{name}.jsonl.gz" for name in PUBLISHED}
    for name, path in sets.items():
        if path.is_file():
            claims = labelled(path)
            some = random.Random(1).sample(claims, min(limit, len(claims)))
            report[f"{name}_rules"] = round(statistics.mean(shares(claims, asyncio.run(judged(claims, None))[0])), 4)
            passing, report[f"{name}_ms"] = asyncio.run(judged(some, Evaluator()))
            report[name] = round(statistics.mean(shares(some, passing)), 4)
            row(name, (BARS[name], report[name], report[f"{name}_rules"], report[f"{name}_ms"], *PUBLISHED[name]))
    held = ROOT / "training/verifier/written/answers_held.txt"
    if (options.data / "claims").is_dir():
        claims = written(held, options.data)
        some = random.Random(1).sample(claims, min(limit, len(claims)))
        for name, ones, reader in (("answers_held_rules", claims, None), ("answers_held", some, Evaluator())):
            passing, milliseconds = asyncio.run(judged(ones, reader))
            true, untrue = shares(ones, passing)
            report[name] = round(TRUE_OF_TEN * true + (1 - TRUE_OF_TEN) * untrue, 4)
        row(name, (BARS[name], report[name], report["answers_held_rules"], milliseconds))
    given = passages(options.data, 600 if options.quick else 3_000) if (options.data / "claims").is_dir() else library()
    made, true = changed(given, 40 if options.quick else 100), unchanged(given)
    vetoed = [
        any(not o.sentence.supported and o.claim is None for o in weighed(f"{one.text} [1]", {1: one.passage})) for one in made
    ]
    flagged = [not all(o.sentence.supported for o in weighed(f"{one.text} [1]", {1: one.passage})) for one in true]
    report |= {"vetoes": len(made), "vetoes_passing": vetoed.count(False), "true": len(true)}
    report["true_flagged"] = round(statistics.mean(flagged), 4)
    row(f"passing of {len(made)} changed", (0, report["vetoes_passing"]))
    row(f"flagged of {len(true)} true", (MOST_FLAGGED, report["true_flagged"]))
    row("ms a sentence", (MOST_MS, max(report[one] for one in report if one.endswith("_ms"))))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
