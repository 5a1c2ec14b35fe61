"""How often the citation check is wrong on freely worded sentences, by what was changed, and which signs flagged true ones.

    python benchmarks/citations_claims.py [--data DIR] [--held] [--verifier] [--quick] [--show SIGN]

The sentences of training/verifier/written, on one or two passages each: `claims*.txt` may be tuned on, `held.txt` is for the
report alone (`--held`). `right` is what share is judged rightly where nine sentences are true and one is not. True sentences
with a "not" were asked for and are many here; `said` counts them as often as answers have them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from training.verifier.written import told

from benchmarks.citations_written import passages
from wellread import entailment
from wellread.ranking.evaluator import Evaluator
from wellread.text import citations, objections
from wellread.text.objections import DOUBTED
from wellread.text.words import read
from wellread.types import Passage

ROOT = Path(__file__).resolve().parents[1]

WRITTEN = ROOT / "training/verifier/written"
SAY_NOT = 0.05  # of true sentences; 0.02 to 0.05 in the parts of citations_sentences.txt, where none were asked for
TRUE_OF_TEN = 0.9
READ_AGAIN = 400


class Case(NamedTuple):
    """A sentence, what was changed in it ("" for nothing), and the passages that it cites."""

    passages: tuple[str, ...]
    kind: str
    text: str


def cases(held: bool) -> Iterator[Case]:
    for path in sorted(WRITTEN.glob("held.txt" if held else "claims*.txt")):
        for one in told(path.read_text(encoding="utf-8").splitlines()):
            yield Case(one.passages, "", one.true)
            for kind, untrue in zip(one.kinds, one.untrue, strict=True):
                yield Case(one.passages, kind, untrue)


def judged(case: Case, known: dict[str, Passage]) -> tuple[Sequence[citations.Weighed], list[str]]:
    """The sentence checked, and the signs against it."""
    cited = {number: known[name] for number, name in enumerate(case.passages, 1)}
    seen: list[str] = []

    def signs(reading: objections.Reading, numbers: Sequence[int]) -> list[str]:
        found = objections.signs(reading, numbers)
        seen.extend(found)
        return found

    citations.signs = signs
    return citations.weighed(case.text + "".join(f" [{number}]" for number in cited), cited), seen


async def reread(sentences: Sequence[citations.Weighed]) -> bool:
    again, _ = await entailment.reread(sentences, evaluator, 100)
    return all(one.sentence.supported for one in again)


@cache
def evaluator() -> Evaluator:
    return Evaluator()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--held", action="store_true", help="the sentences that nothing is tuned on")
    parser.add_argument("--show", metavar="SIGN", help="print the true sentences that a sign was seen at")
    parser.add_argument(
        "--verifier", action="store_true", help="with the verifier, as at normal effort; a tenth of a second each"
    )
    parser.add_argument("--quick", action="store_true", help=f"only {READ_AGAIN} of them")
    options = parser.parse_args()
    chosen = list(cases(options.held))
    if options.quick:
        chosen = random.Random(1).sample(chosen, READ_AGAIN)
    known = passages((name for case in chosen for name in case.passages), options.data)
    total, flagged, signs = Counter[str](), Counter[str](), Counter[tuple[str, bool]]()
    for case in chosen:
        sentences, seen = judged(case, known)
        carried = asyncio.run(reread(sentences)) if options.verifier else all(one.sentence.supported for one in sentences)
        group = case.kind or ("true, says not" if read(case.text).negated else "true")
        total[group] += 1
        flagged[group] += not carried
        signs.update({(sign, not case.kind) for sign in seen})
        if options.show in seen and not case.kind and not options.held:
            print(case.text)
    report(total, flagged, signs)


def report(total: Counter[str], flagged: Counter[str], signs: Counter[tuple[str, bool]]) -> None:
    true = [name for name in total if name.startswith("true")]
    counts = {of: sum(n for name, n in total.items() if (name in true) == of) for of in (True, False)}
    for sign in objections.WEIGHTS:
        print(f"{sign:32} weight {objections.WEIGHTS[sign]} of {DOUBTED}", end="  ")
        print(*(f"{'true' if of else 'untrue'} {signs[sign, of] / max(1, counts[of]):.4f}" for of in (True, False)))
    alarms = sum(flagged[name] for name in true) / counts[True]
    plain, negative = (flagged[name] / max(1, total[name]) for name in ("true", "true, says not"))
    said = SAY_NOT * negative + (1 - SAY_NOT) * plain
    missed = {name: round(1 - flagged[name] / n, 3) for name, n in sorted(total.items()) if name not in true}
    misses = 1 - sum(flagged[name] for name in missed) / counts[False]
    right = {
        of: round(1 - TRUE_OF_TEN * alarm - (1 - TRUE_OF_TEN) * misses, 4)
        for of, alarm in (("as written", alarms), ("said", said))
    }
    shares = {"false_alarms": round(alarms, 4), "false_alarms_said": round(said, 4), "missed": round(misses, 4), **missed}
    print(json.dumps({"sentences": sum(total.values()), **shares, "right": right}))


if __name__ == "__main__":
    main()
