"""How often a language model is wrong when it reads answers a second time, as it does at high effort, by what was changed.

    python benchmarks/citations_proof.py --model SPEC [--data DIR] [--most N]
    python benchmarks/citations_proof.py --sheets DIR         # the same as texts, for a model that is asked by hand
    python benchmarks/citations_proof.py --replies DIR        # and what it replied: replyN.jsonl, {"item": 3, "not_carried": [2]}

The answers of `answers_held.txt`: two sentences each, both as they are and changed. Every answer stands here three times, each
time with another version of each sentence, drawn by lot; no two of the three are on one sheet.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from wellread.budget import Budget, Limits
from wellread.errors import WellreadError
from wellread.events import Event, Notice
from wellread.parts import Kit
from wellread.run import Run
from wellread.settings import Settings
from wellread.strategies.proof import proofread
from wellread.types import Answer, Citation, Passage, Sentence

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from training.verifier.claims import Case, Text  # noqa: E402
from training.verifier.measure import cases_of  # noqa: E402

HELD = ROOT / "training/verifier/written/answers_held.txt"
SHEETS = 3


class Item(NamedTuple):
    passages: tuple[Text, ...]
    sentences: tuple[str, ...]
    kinds: tuple[str, ...]  # what was changed in each; "" for nothing


def drawn(cases: Sequence[Case]) -> list[list[Item]]:
    """The answers on sheets."""
    lot = random.Random(77)
    answers: dict[tuple[Text, ...], list[list[tuple[str, str]]]] = defaultdict(list)
    for case in cases:
        versions = [(claim.text, claim.kind) for claim in case.claims][:SHEETS]
        lot.shuffle(versions)
        answers[case.passages].append(versions)
    sheets: list[list[Item]] = []
    for number in range(SHEETS):
        items: list[Item] = []
        for passages, sentences in answers.items():
            texts, kinds = zip(*(versions[number] for versions in sentences), strict=True)
            items.append(Item(passages, texts, kinds))
        lot.shuffle(items)
        sheets.append(items)
    return sheets


def as_answer(item: Item) -> Answer:
    """As it would be if the program had let every sentence pass."""
    cited = {number: Passage(str(number), one.text, title=one.title) for number, one in enumerate(item.passages, 1)}
    proofs = tuple(Citation(number, passage, 0, len(passage.text), 1.0) for number, passage in cited.items())
    marks = "".join(f"[{number}]" for number in cited)
    sentences = [Sentence(f"{text} {marks}", 0, len(text), "carried", proofs) for text in item.sentences]
    return Answer("", " ".join(one.text for one in sentences), "answered", "guided", sentences=tuple(sentences), passages=cited)


async def asked(sheets: Sequence[Sequence[Item]], spec: str, most: int) -> list[tuple[Item, set[int]]]:
    """Which sentences the model marks, one call an answer."""
    parts = Kit(Settings(model=spec, effort="high"))
    source, told = parts.source("library"), list[tuple[Item, set[int]]]()
    try:
        for item in [item for sheet in sheets for item in sheet][:most]:
            notices: list[Event] = []
            purse = Budget(Limits(), time.monotonic)
            run = Run("", "guided", source, parts, purse, notices.append, time.monotonic, time.strftime("%Y-%m-%d"), "5f3a9c21")
            answer = await proofread(run, as_answer(item), parts.model())
            for notice in notices:
                if isinstance(notice, Notice):
                    print(notice.message, file=sys.stderr)
            told.append((item, {number for number, one in enumerate(answer.sentences, 1) if not one.supported}))
            print(f"\r{len(told)}", end="", file=sys.stderr, flush=True)
    finally:
        await parts.aclose()
    return told


def written(sheet: Iterable[Item]) -> str:
    return "\n".join(
        f"=== ITEM {place}\n"
        + "\n".join(f"[{number}]\n{one.title}\n{one.text}" for number, one in enumerate(item.passages, 1))
        + "\n\nSentences of the answer:\n"
        + "".join(f"{number}. {text}\n" for number, text in enumerate(item.sentences, 1))
        for place, item in enumerate(sheet, 1)
    )


def replied(sheets: Sequence[Sequence[Item]], folder: Path) -> list[tuple[Item, set[int]]]:
    told: list[tuple[Item, set[int]]] = []
    for number, sheet in enumerate(sheets):
        lines = (folder / f"reply{number}.jsonl").read_text(encoding="utf-8").splitlines()
        marks = {row["item"]: set(row["not_carried"]) for row in map(json.loads, lines)}
        told += [(item, marks[place]) for place, item in enumerate(sheet, 1)]
    return told


def report(told: Iterable[tuple[Item, set[int]]]) -> dict[str, object]:
    wrong: dict[str, list[bool]] = defaultdict(list)
    for item, marked in told:
        for number, kind in enumerate(item.kinds, 1):
            wrong[kind].append((number in marked) != bool(kind))
    untrue = [one for kind, ones in wrong.items() if kind for one in ones]
    share = {kind: round(sum(ones) / len(ones), 3) for kind, ones in wrong.items() if kind}
    flagged, passing = (sum(ones) / max(1, len(ones)) for ones in (wrong[""], untrue))
    return {
        "true": len(wrong[""]), "flagged": round(flagged, 3), "untrue": len(untrue), "passing": round(passing, 3),
        "right": round(0.9 * (1 - flagged) + 0.1 * (1 - passing), 3), "by_kind": share,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--most", type=int, default=10_000, help="answers that are read")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--model")
    how.add_argument("--sheets", type=Path)
    how.add_argument("--replies", type=Path)
    options = parser.parse_args()
    sheets = drawn(cases_of([HELD], options.data))
    if options.sheets:
        options.sheets.mkdir(parents=True, exist_ok=True)
        for number, sheet in enumerate(sheets):
            (options.sheets / f"sheet{number}.txt").write_text(written(sheet), encoding="utf-8")
        return
    try:
        told = replied(sheets, options.replies) if options.replies else asyncio.run(asked(sheets, options.model, options.most))
    except WellreadError as problem:
        sys.exit(str(problem))
    print(json.dumps(report(told)))


if __name__ == "__main__":
    main()
