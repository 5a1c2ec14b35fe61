"""How often the citation check is wrong on sentences written as a strong model writes them, by what was changed in them.

    python benchmarks/citations_written.py [--data DIR] [--verifier] [--show KIND] [--part tuned|kept|fresh]

`citations_sentences.txt` holds the sentences, each from one passage of the given sets: true ones, and the same with another
agent, object, number, date, place, or with a negation put in or taken out. The passages are read from `--data`. The first
part was looked at while the check was made (`tuned`); the others are for the report alone (`kept`, and `fresh`, written last).
Printed are
`false_alarms`, the share of true sentences that were not carried, and `missed_KIND`, the share of changed ones that were.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from wellread.citations.check import check, weighed
from wellread.types import Passage

SENTENCES = Path(__file__).with_name("citations_sentences.txt")


class Written(NamedTuple):
    """A sentence, what was changed in it ("" for nothing), and the passage that it cites."""

    part: str
    passage: str
    kind: str
    text: str


def written(lines: Iterable[str]) -> Iterator[Written]:
    part, passage, true = "tuned", "", ""
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("@ "):
            passage = line[2:]
        elif line.startswith("+ "):
            true = line[2:]
            yield Written(part, passage, "", true)
        elif line.startswith("## "):
            part = line[3:].partition(":")[0]
        elif not line.startswith("#"):
            kind, _, change = line.partition(" | ")
            old, _, new = change.partition(" => ")
            if true.count(old) != 1:
                raise ValueError(f"{old!r} stands {true.count(old)} times in {true!r}")
            yield Written(part, passage, kind, true.replace(old, new))


def passages(names: Iterable[str], data: Path) -> dict[str, Passage]:
    wanted: dict[str, set[str]] = {}
    for name in names:
        folder, _, id = name.partition(":")
        wanted.setdefault(folder, set()).add(id)
    found: dict[str, Passage] = {}
    for folder, ids in wanted.items():
        with gzip.open(data / folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["id"] in ids:
                    found[f"{folder}:{row['id']}"] = Passage(row["id"], row["text"], title=row["title"])
    return found


async def reread(cases: Iterable[Written], known: dict[str, Passage]) -> list[tuple[Written, bool]]:
    """The same with the verifier."""
    from wellread.citations import verdicts
    from wellread.ranking.evaluator import Evaluator

    reader, found = Evaluator(), list[tuple[Written, bool]]()
    for case in cases:
        (sentence,), _ = await verdicts.reread(weighed(f"{case.text} [1]", {1: known[case.passage]}), lambda: reader, 100)
        found.append((case, sentence.sentence.supported == (not case.kind)))
    return found


def judged(cases: Iterable[Written], known: dict[str, Passage]) -> Iterator[tuple[Written, bool]]:
    """Each sentence with whether it was judged rightly."""
    for case in cases:
        (sentence,) = check(f"{case.text} [1]", {1: known[case.passage]})
        yield case, sentence.supported == (not case.kind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared/data")
    parser.add_argument("--part", choices=("tuned", "kept", "fresh"), help="only this part")
    parser.add_argument("--show", metavar="KIND", help="print the wrong ones of the tuned part: agent, number, …, true or all")
    parser.add_argument("--verifier", action="store_true", help="with the verifier, as at normal effort")
    parser.add_argument("--quick", action="store_true", help="the same: it takes seconds")
    options = parser.parse_args()
    cases = [one for one in written(SENTENCES.read_text(encoding="utf-8").splitlines()) if options.part in (None, one.part)]
    known = passages((one.passage for one in cases), options.data)
    report: dict[str, object] = {}
    total: Counter[tuple[str, str]] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for case, right in asyncio.run(reread(cases, known)) if options.verifier else judged(cases, known):
        name = f"missed_{case.kind}" if case.kind else "false_alarms"
        total[case.part, name] += 1
        wrong[case.part, name] += not right
        if not right and case.part == "tuned" and options.show in ("all", case.kind or "true"):
            print(f"{case.kind or 'true'}: {case.text}\n    {known[case.passage].title}: {known[case.passage].text[:300]}\n")
    for part in sorted({part for part, _ in total}):
        counts = {name: count for (of, name), count in total.items() if of == part}
        report[part] = {name: round(wrong[part, name] / count, 4) for name, count in counts.items()}
        print(part, counts)
        report[f"{part}_right"] = round(1 - sum(wrong[part, name] for name in counts) / sum(counts.values()), 4)
    print(json.dumps({"sentences": sum(total.values()), **report}))


if __name__ == "__main__":
    main()
