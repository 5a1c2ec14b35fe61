"""How often sentences of answers are judged wrongly where a language model reads them a second time, by what was changed.

    python benchmarks/citations_proof.py --model SPEC [--effort normal|high] [--sentences FILE] [--data DIR] [--most N]
    python benchmarks/citations_proof.py --sheets DIR …         # the prompts as texts, for a model that is asked by hand
    python benchmarks/citations_proof.py --replies DIR …        # and its replies: replyN.jsonl, {"item": 3, "not_carried": [2]}

The answers of `answers_held.txt`: two sentences each, both as they are and changed. Every answer stands here three times, each
time with another version of each sentence, drawn by lot; no two of the three are on one sheet. Each goes through the whole
check, as in a run: rules, the reader of sentences, and the model for what is asked of it at that effort. Tokens are estimated.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from training.verifier.claims import Case, Text
from training.verifier.written import cases_of

from wellread.budget import Budget, Limits
from wellread.core.effort import Effort
from wellread.errors import WellreadError
from wellread.events import Event, Notice
from wellread.models.scripted import ScriptedModel
from wellread.parts import Parts
from wellread.protocols import Model
from wellread.run import Run
from wellread.settings import Settings
from wellread.strategies.proof import proofread
from wellread.types import Capabilities, Passage, Prompt, Sentence

ROOT = Path(__file__).resolve().parents[1]

WRITTEN = ROOT / "training/verifier/written"
SHEETS = 3
TRUE_OF_TEN = 0.9


class Item(NamedTuple):
    passages: tuple[Text, ...]
    sentences: tuple[str, ...]
    kinds: tuple[str, ...]  # what was changed in each; "" for nothing


class Told(NamedTuple):
    """Which sentences of an answer were marked, by the check alone and in the end, and the tokens of the call, if any."""

    item: Item
    before: tuple[bool, ...]
    after: tuple[bool, ...]
    tokens: int


def drawn(cases: Sequence[Case], most: int) -> list[list[Item]]:
    """The answers on sheets."""
    lot = random.Random(77)
    answers: dict[tuple[Text, ...], list[list[tuple[str, str]]]] = defaultdict(list)
    for case in cases:
        versions = [(claim.text, claim.kind) for claim in case.claims][:SHEETS]
        lot.shuffle(versions)
        answers[case.passages].append(versions)
    chosen = lot.sample(list(answers.items()), min(most, len(answers)))
    sheets: list[list[Item]] = []
    for number in range(SHEETS):
        items: list[Item] = []
        for passages, sentences in chosen:
            if versions := [each[number] for each in sentences if number < len(each)]:
                texts, kinds = zip(*versions, strict=True)
                items.append(Item(passages, texts, kinds))
        lot.shuffle(items)
        sheets.append(items)
    return sheets


class Check:
    """The check of a run, with a model that is asked as a run asks it."""

    def __init__(self, model: Model | None, effort: Effort, spec: str = "none") -> None:
        self.parts = Parts(Settings(model=spec, effort=effort))
        self.model = model or self.parts.model()
        self._source = self.parts.source("library")

    async def read(self, item: Item, number: int) -> Told:
        seen: list[Event] = []
        purse = Budget(Limits(), time.monotonic)
        today, marker = time.strftime("%Y-%m-%d"), f"{number:08x}"
        run = Run("", "guided", self._source, self.parts, purse, seen.append, time.monotonic, today, marker)
        run.passages = {place: Passage(str(place), one.text, title=one.title) for place, one in enumerate(item.passages, 1)}
        marks = "".join(f" [{place}]" for place in run.passages)
        texts = [f"{text}{marks}" for text in item.sentences]
        answer = await run.answer(" ".join(texts))
        again = await run.answer(" ".join(texts), proof=lambda read: proofread(run, read, self.model))
        for notice in seen:
            if isinstance(notice, Notice):
                print(notice.message, file=sys.stderr)
        used = purse.usage.input_tokens + purse.usage.output_tokens
        return Told(item, _marked(answer.sentences, texts), _marked(again.sentences, texts), used)


def _marked(sentences: Sequence[Sentence], texts: Sequence[str]) -> tuple[bool, ...]:
    """Whether any of what each text was cut into is marked."""
    marked: list[bool] = []
    start = 0
    for text in texts:
        end = start + len(text)
        marked.append(any(not one.supported for one in sentences if one.start < end and one.end > start))
        start = end + 1
    return tuple(marked)


async def told(sheets: Sequence[Sequence[Item]], check: Check, before: Callable[[int, int], None]) -> list[Told]:
    """The answers, sheet by sheet; `before` is told which is next."""
    found: list[Told] = []
    try:
        for number, sheet in enumerate(sheets):
            for place, item in enumerate(sheet, 1):
                before(number, place)
                found.append(await check.read(item, len(found)))
                print(f"\r{len(found)}", end="", file=sys.stderr, flush=True)
    finally:
        await check.parts.aclose()
    return found


class ByHand:
    """A model that replies what is in a folder; without a reply there its prompt is put into one."""

    def __init__(self, folder: Path, write: bool) -> None:
        self._folder, self._write, self._at = folder, write, (0, 0)
        self._replies: dict[tuple[int, int], str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if not write:
            for path in folder.glob("reply*.jsonl"):
                rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
                sheet = int(path.stem.removeprefix("reply"))
                self._replies |= {(sheet, row["item"]): json.dumps({"not_carried": row["not_carried"]}) for row in rows}

    def next(self, sheet: int, item: int) -> None:
        self._at = (sheet, item)

    def __call__(self, prompt: Prompt) -> str:
        if not self._write:
            return self._replies[self._at]
        text = "\n".join(message.text for message in prompt.messages)
        sheet, item = self._at
        with (self._folder / f"sheet{sheet}.txt").open("a", encoding="utf-8") as file:
            file.write(f"=== ITEM {item}\n{text[text.index('must not be obeyed.') + 19 :].strip()}\n\n")
        return '{"not_carried": []}'


def report(found: Iterable[Told]) -> dict[str, object]:
    found = list(found)
    result: dict[str, object] = {}
    for way in ("before", "after"):
        wrong: dict[str, list[bool]] = defaultdict(list)
        for one in found:
            for kind, marked in zip(one.item.kinds, getattr(one, way), strict=True):
                wrong[kind].append(marked != bool(kind))
        untrue = [one for kind, ones in wrong.items() if kind for one in ones]
        flagged, passing = (sum(ones) / max(1, len(ones)) for ones in (wrong[""], untrue))
        result[way] = {
            "true": len(wrong[""]), "flagged": round(flagged, 3), "untrue": len(untrue), "passing": round(passing, 3),
            "right": round(TRUE_OF_TEN * (1 - flagged) + (1 - TRUE_OF_TEN) * (1 - passing), 3),
            "passing_by_kind": {kind: round(sum(ones) / len(ones), 3) for kind, ones in sorted(wrong.items()) if kind},
        }  # fmt: skip
    calls = [one.tokens for one in found if one.tokens]
    true = [one for one in found if not any(one.item.kinds)]
    return result | {
        "answers": len(found), "asked": len(calls), "tokens_a_call": round(sum(calls) / max(1, len(calls))),
        "true_answers": len(true), "true_answers_asked": sum(bool(one.tokens) for one in true),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--sentences", type=Path, default=WRITTEN / "answers_held.txt")
    parser.add_argument("--effort", choices=("normal", "high"), default="normal")
    parser.add_argument("--most", type=int, default=10_000, help="passages whose answers are read")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--model")
    how.add_argument("--sheets", type=Path)
    how.add_argument("--replies", type=Path)
    options = parser.parse_args()
    sheets = drawn(cases_of([options.sentences], options.data), options.most)
    try:
        if options.model:
            found = asyncio.run(told(sheets, Check(None, options.effort, options.model), lambda *_: None))
        else:
            hand = ByHand(options.sheets or options.replies, write=options.sheets is not None)
            model = ScriptedModel(hand, capabilities=Capabilities(32_000, schemas=True), piece=4_000)
            found = asyncio.run(told(sheets, Check(model, options.effort), hand.next))
    except WellreadError as problem:
        sys.exit(str(problem))
    print(json.dumps(report(found)))


if __name__ == "__main__":
    main()
