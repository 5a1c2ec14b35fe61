"""Questions about manuals that nothing was trained or tuned on: how many answers are right, wrong, rightly refused.

    python benchmarks/documents_qa.py [--effort normal|low|high] [--data DIR] [--part report|tune] [--quick] [--show]

DIR holds unpacked Debian packages, a folder each; without it they are fetched by name (`apt-get download`, `dpkg-deb -x`).
The questions are made by rules (`training.evaluator.manuals`): headings that are questions, headings and options that a
template turns into one, defaults. The packages stand on two shelves, an index each; every question is asked of its own
shelf, every third one of the other as well, where nothing answers it.

An answer is right if what is quoted first stands in the section under the heading that was asked; a how-to or a why is never
answered by a phrase. Where a few words are the answer (a default), the headline must hold them. `wrong` and `right` are
shares of the questions that can be answered, `refused` of those that cannot; `auc` is the chance that a right answer is surer
than anything else, refused ones included. `--part tune` asks other packages, for choosing with. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.evaluator.manuals import Asked, chance, questions_of, read
from training.evaluator.metrics import area_under_curve
from training.evaluator.wording import Verbs

from wellread import settings
from wellread.engine import Engine
from wellread.errors import ReadError
from wellread.strategies.quote import QuoteParams
from wellread.text.split import Splitting, passages
from wellread.types import Answer, Page, Passage

# What each package is called in a question. No package of one part is in the other, or was trained on.
Shelf = Mapping[str, str]
SHELVES: Mapping[str, tuple[Shelf, Shelf]] = {
    "report": (
        {"phpmyadmin": "phpMyAdmin", "getmail6": "getmail", "shorewall-doc": "Shorewall", "fish-common": "fish"},
        {"icewm-common": "IceWM", "awstats": "AWStats", "libvirt-doc": "libvirt", "wireshark-doc": "Wireshark"},
    ),
    "tune": (
        {"cacti": "Cacti", "slurm-wlm-doc": "Slurm", "keepass2-doc": "KeePass", "mpd": "MPD"},
        {"ganeti-doc": "Ganeti", "qemu-system-common": "QEMU", "borgbackup-doc": "Borg", "mplayer-doc": "MPlayer"},
    ),
}
PAGES, PASSAGES, QUESTIONS = 60, 450, 40  # of a package at most
MADE = ("heading", "from heading", "defined", "option told", "setting told", "setting asked", "option asked", "default")
_WORD = re.compile(r"\w+")
_FOREIGN = re.compile(r"(?:[_.]|/)(?!en)[a-z]{2}(?:[_-][A-Z]{2})?(?:\.html$|/)")  # a page's language in its name or folder
_COUNTED = re.compile(r"^(?:\(?FAQ [\w.]+\)?|Q\d*[.:)])\s*")
_TOLD = ("how-to", "why")
_LEAST_TOLD = 6  # words


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    kind: str
    package: str
    section: str  # its words, each between blanks
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    question: Question
    possible: bool
    right: bool
    confidence: float
    said: str

    @property
    def given(self) -> bool:
        return self.confidence >= QuoteParams().min_confidence


def fetched(names: Sequence[str], folder: Path) -> Path:
    """The packages, unpacked in a folder; those that are there already are not fetched again."""
    for name in names:
        if not (folder / name).is_dir():
            subprocess.run(["apt-get", "download", "-q", name], cwd=folder, check=True, capture_output=True)
            (archive,) = folder.glob(f"{name}_*.deb")
            subprocess.run(["dpkg-deb", "-x", str(archive), str(folder / name)], check=True)
            archive.unlink()
    return folder


def pages_of(package: Path) -> list[tuple[str, Page]]:
    """English HTML pages, those that are called FAQ first, until there are enough passages."""
    every = (path for path in package.rglob("*.html") if path.is_file() and not path.is_symlink())
    files = [path for path in every if not _FOREIGN.search(path.relative_to(package).as_posix())]
    files.sort(key=lambda path: ("faq" not in path.name.lower(), chance(path.relative_to(package))))
    found: dict[str, tuple[str, Page]] = {}
    size = 0
    for path in files[: 3 * PAGES]:
        try:
            page = read(path)
        except (ReadError, RecursionError):
            continue
        if page.language in (None, "en") and len(page.passages) > 2 and page.text not in found:
            found[page.text] = f"{package.name}/{path.relative_to(package).as_posix()}", page
            size += len(passages(page, "", Splitting()))
        if size > PASSAGES or len(found) == PAGES:
            break
    return list(found.values())


def words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def questions(pages: Sequence[tuple[str, Page]], package: str, name: str) -> list[Question]:
    """Questions that are asked once, real headings first, not too many of one form."""
    verbs = Verbs(text for _, page in pages for text in page.passages)
    asked = [(page, one) for _, page in pages for one in questions_of(page, name, verbs) if one.made in MADE]
    counts = Counter(one.text.casefold() for _, one in asked)
    once = [(page, one) for page, one in asked if counts[one.text.casefold()] == 1 and len(one.text.split()) > 3]
    once.sort(key=lambda pair: (pair[1].made not in ("heading", "from heading"), chance(package, pair[1].text)))
    forms: Counter[str] = Counter()
    kept: list[Question] = []
    for page, one in once:
        forms[one.made] += 1
        if len(kept) < QUESTIONS and (one.made in ("heading", "from heading") or forms[one.made] <= QUESTIONS // 6):
            section = words(" ".join(page.passages[place] for place in one.paragraphs))
            kept.append(Question(_named(one, name), one.kind, package, section, one.answer))
    return kept


def _named(one: Asked, name: str) -> str:
    """With the program's name, as somebody with several manuals would ask."""
    text = _COUNTED.sub("", one.text)
    return text if words(name) in words(text) else re.sub(r"\s*\??$", f" in {name}?", text, count=1)


def is_right(question: Question, answer: Answer) -> bool:
    shown = answer.short or answer.text
    if question.answer:
        return words(question.answer) in words(shown)
    if question.kind in _TOLD and answer.short and len(answer.short.split()) < _LEAST_TOLD:
        return False
    quoted = answer.citations[0].quote if answer.citations else ""
    return held(quoted, question.section)


def held(quoted: str, section: str) -> bool:
    """Whether most of a quotation's runs of three words stand in the section."""
    said = words(quoted).split()
    runs = [" ".join(said[at : at + 3]) for at in range(max(1, len(said) - 2))]
    return bool(said) and 2 * sum(f" {run} " in section for run in runs) >= len(runs)


async def build(shelf: Sequence[Passage], folder: Path) -> None:
    from wellread.embedding.onnx import OnnxEmbedder
    from wellread.index.build import build as build_index
    from wellread.index.feed import EmbeddingFeed

    async def all_passages() -> AsyncIterator[Passage]:
        for passage in shelf:
            yield passage

    await build_index(folder, EmbeddingFeed(all_passages, OnnxEmbedder(), "documents_qa"))


async def ask(folder: Path, asked: Sequence[tuple[Question, bool]], effort: str) -> list[Outcome]:
    """Each question and whether this shelf answers it."""
    outcomes: list[Outcome] = []
    async with Engine(settings.load({"effort": effort, "sources": [f"index:{folder}"]})) as engine:
        for question, possible in asked:
            # Everything is told here, so that it is known of refused answers too whether they were right.
            answer = await engine.ask(question.text, strategy="quote", params={"min_confidence": 0.0})
            right = possible and is_right(question, answer)
            outcomes.append(Outcome(question, possible, right, answer.confidence or 0.0, answer.short or answer.text))
    return outcomes


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    can, cannot = ([one for one in outcomes if one.possible is possible] for possible in (True, False))
    how_to = [one for one in can if one.question.kind == "how-to"]
    auc = area_under_curve([one.confidence for one in outcomes], [one.right for one in outcomes])
    return {
        "right": share([one.given and one.right for one in can]),
        "wrong": share([one.given and not one.right for one in can]),
        "refused": share([not one.given for one in cannot]),
        "auc": round(auc, 3),
        "how_to": share([one.given and one.right for one in how_to]),
        "questions": len(can),
        "how_to_questions": len(how_to),
        "impossible": len(cannot),
    }


def share(held: Sequence[bool]) -> float:
    return round(100 * sum(held) / max(1, len(held)), 1)


@dataclass(frozen=True, slots=True)
class Stocked:
    """A shelf: what stands on it and what can be asked of it."""

    passages: list[Passage]
    questions: list[Question]


def stocked(shelf: Shelf, data: Path) -> Stocked:
    texts: list[Passage] = []
    asked: list[Question] = []
    for package, name in shelf.items():
        pages = pages_of(data / package)
        texts += [passage for file, page in pages for passage in passages(page, file, Splitting())]
        found = questions(pages, package, name)
        print(f"{package}: {len(pages)} pages, {len(found)} questions", flush=True)
        asked += found
    return Stocked(texts, asked)


def to_ask(shelves: Sequence[Stocked], own: int, quick: bool) -> list[tuple[Question, bool]]:
    """What one shelf is asked: its own questions, and every third of the other's."""
    asked = [(one, True) for one in shelves[own].questions] + [(one, False) for one in shelves[1 - own].questions[::3]]
    random.Random(1).shuffle(asked)
    return asked[:20] if quick else asked


async def measured(shelves: Sequence[Stocked], effort: str, quick: bool) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as temporary:
        for own, shelf in enumerate(shelves):
            folder = Path(temporary) / str(own)
            await build(shelf.passages, folder)
            outcomes += await ask(folder, to_ask(shelves, own, quick), effort)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", choices=("low", "normal", "high"), default="normal")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--part", choices=tuple(SHELVES), default="report")
    parser.add_argument("--quick", action="store_true", help="forty questions")
    parser.add_argument("--show", action="store_true", help="every question with what was said")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        shelves = SHELVES[options.part]
        data = options.data or fetched([name for shelf in shelves for name in shelf], Path(temporary))
        both = [stocked(shelf, data) for shelf in shelves]
    outcomes = asyncio.run(measured(both, options.effort, options.quick))
    for one in outcomes if options.show else ():
        mark = ("right" if one.right else "wrong") if one.given else "unsure"
        print(f"{mark} {one.confidence:.2f} {'' if one.possible else '(impossible) '}{one.question.text} → {one.said[:150]!r}")
    count = sum(len(shelf.passages) for shelf in both)
    print(json.dumps({"effort": options.effort, "passages": count, **figures(outcomes)}))


if __name__ == "__main__":
    main()
