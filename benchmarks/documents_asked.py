"""Questions in people's own words about manuals that nothing was trained or tuned on: right, wrong, rightly refused.

    python benchmarks/documents_asked.py [--part report|tune|fixed|next] [--questions N] [--effort normal|low|high] [--data DIR]
        [--show]

`training/evaluator/held_out.jsonl` holds the questions, written by hand by somebody who saw one passage at a time and no answer
of the program; of the sentences that answer it has checksums of every three words, not the text. DIR holds unpacked packages, a
folder each; without it they are fetched by name. All packages of a part are one index. Questions without `runs` are
such as a manual could be expected to answer and does not. The parts `fixed` and `next` were written before
anything was run on their packages, to be asked once at the end of a round; both have been.

An answer is right if its headline holds the words asked for, or if what is quoted below it and the sentences that were named
have most of the one's or the other's runs of three words in common; without a headline, all that is told (at most 900
characters); a how-to is never answered by a phrase. Other places may answer well, so `wrong` is an upper bound: `--show`
prints what to look at. `visible` is how many of the answerable ones have the answer on the screen, told or among what comes near,
when asked as everybody asks: the words asked for, or half of the named sentences in one piece. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from training.evaluator.asked import Asked, questions, runs
from training.evaluator.cut import cut
from training.evaluator.documents import PACKAGES
from training.evaluator.wording import kind_of

from benchmarks.documents_qa import Outcome, Question, build, fetched, figures, words
from wellread import settings
from wellread.engine import Engine
from wellread.types import Answer, Passage

_TOLD = ("how-to", "why")
_LEAST_TOLD = 6  # words
_NUMBER = re.compile(r"\[\d+\]")


def is_right(one: Asked, answer: Answer) -> bool:
    shown = answer.short or answer.text
    if one.answer in ("yes", "no") and words(shown).startswith(f" {one.answer} "):
        return True
    if one.answer not in ("", "yes", "no"):
        return words(one.answer) in words(shown) or _most_of(shown, one.answer)
    if kind_of(one.text) in _TOLD and answer.short and len(answer.short.split()) < _LEAST_TOLD:
        return False
    quoted = runs(_shown(answer)) if answer.citations else []
    shared = sum(run in one.runs for run in quoted)
    return bool(quoted) and (2 * shared >= len(quoted) or 2 * len(one.runs.intersection(quoted)) >= len(one.runs))


def _shown(answer: Answer) -> str:
    """What is read first: the quotation below a headline; where there is none, everything that is told."""
    return answer.citations[0].quote if answer.short else _NUMBER.sub(" ", answer.text)


def _most_of(shown: str, wanted: str) -> bool:
    """Whether a headline is half or more of what was asked for: "9000" of "port 9000"."""
    return words(shown) in words(wanted) and 2 * len(words(shown).split()) >= len(words(wanted).split()) > 0


def is_visible(one: Asked, answer: Answer) -> bool:
    pieces = [answer.short or "", answer.text, *(near.words for near in answer.nearest)]
    shared = max(len(one.runs.intersection(runs(piece))) for piece in pieces)
    return (bool(answer.text) and is_right(one, answer)) or 2 * shared >= len(one.runs)


async def ask(folder: Path, asked: Sequence[Asked], effort: str, show: bool) -> tuple[list[Outcome], list[bool]]:
    """What comes of each question, and whether the answer to each that has one is on the screen."""
    outcomes: list[Outcome] = []
    visible: list[bool] = []
    async with Engine(settings.load({"effort": effort, "sources": [f"index:{folder}"]})) as engine:
        for one in asked:
            # Everything is told here, so that it is known of refused answers too whether they were right.
            answer = await engine.ask(one.text, strategy="quote", params={"min_confidence": 0.0})
            right = bool(one.runs) and is_right(one, answer)
            question = Question(one.text, kind_of(one.text), one.package, "", one.answer)
            said = f"{answer.short or ''} | {answer.citations[0].quote if answer.citations else ''}"
            outcomes.append(Outcome(question, bool(one.runs), right, answer.confidence or 0.0, said))
            if one.runs:
                visible.append(is_visible(one, await engine.ask(one.text, strategy="quote")))
            if show:
                print(_line(outcomes[-1]), flush=True)
    return outcomes, visible


def _line(one: Outcome) -> str:
    mark = ("right" if one.right else "wrong") if one.given else "held back, right" if one.right else "unsure"
    wanted = f" [{one.question.answer}]" if one.question.answer else ""
    return (
        f"{mark} {one.confidence:.2f} {'' if one.possible else '(impossible) '}{one.question.text}{wanted} → {one.said[:220]!r}"
    )


def stocked(part: str, data: Path) -> list[Passage]:
    return [
        passage
        for package, own in PACKAGES.items()
        if own == part and (data / package).is_dir()
        for passage in cut(data / package, whole=part == "next")  # written on whole packages, a manual in Info among them
    ]


async def measured(options: argparse.Namespace, shelf: Sequence[Passage]) -> tuple[list[Outcome], list[bool]]:
    asked = questions(options.part)[: options.questions]
    with tempfile.TemporaryDirectory() as temporary:
        await build(shelf, Path(temporary) / "index")
        return await ask(Path(temporary) / "index", asked, options.effort, options.show)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", choices=("low", "normal", "high"), default="normal")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--part", choices=("report", "tune", "fixed", "next"), default="report")
    parser.add_argument("--questions", type=int, help="so many of them")
    parser.add_argument("--quick", action="store_true", help="forty questions")
    parser.add_argument("--show", action="store_true", help="every question with what was said")
    options = parser.parse_args()
    options.questions = options.questions or (40 if options.quick else None)
    packages = sorted({one.package for one in questions(options.part)})
    with tempfile.TemporaryDirectory() as temporary:
        shelf = stocked(options.part, options.data or fetched(packages, Path(temporary)))
    outcomes, visible = asyncio.run(measured(options, shelf))
    seen = round(100 * sum(visible) / max(1, len(visible)), 1)
    print(json.dumps({"effort": options.effort, "passages": len(shelf), **figures(outcomes), "visible": seen}))


if __name__ == "__main__":
    main()
