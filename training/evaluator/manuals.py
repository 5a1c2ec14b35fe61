"""Step 0, on any machine: questions out of unpacked documentation packages, as a data set of the usual form.

    apt-get download postfix-doc … ; dpkg-deb -x postfix-doc_*.deb PACKAGES/postfix-doc …
    python -m training.evaluator.manuals --packages PACKAGES --output DATA/manuals

Pages are read and cut as the engine does. What is asked: headings that are questions, headings that a template turns into one
("Installing X" → "How do I install X?"), terms with their definitions, options with what they do, and defaults. Half of the
headings that were asked are taken out of the text, so that the answer has to be known by what it says; the other half stay,
and with
them the contents lists and the chunks that end in a heading: what looks like the answer and is not.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from training.evaluator.wording import Verbs, default_in, from_heading, from_option, plain_heading

from wellread.errors import ReadError
from wellread.reading import documents
from wellread.text.lexicon import STOPWORDS
from wellread.text.split import Splitting, split
from wellread.types import Page

CHUNKS, QUESTIONS = 600, 400  # of one package at most
PAGES = 150  # of one package, drawn at random
MIN_BODY, MAX_BODY = 60, 6000  # characters of a section that answers
LEAST_SMALL = 3  # words like "the" and "is" without which something is a list of names and tells nothing
SHOWN = 0.5  # the share of asked headings that stay in the text
_HEADING = re.compile(r"#{1,6}\s+(.+)")
_SUFFIXES = (".html", ".htm", ".xhtml", ".pod")
_POD_CODE = re.compile(r"[A-Z]<<?\s*([^<>]*?)\s*>>?")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question on a page, and the paragraphs that answer it; `answer` where a few words of them are enough."""

    text: str
    kind: str
    made: str
    paragraphs: tuple[int, ...]
    heading: int | None = None
    answer: str = ""


def chance(*parts: object) -> float:
    """The same number between 0 and 1 for the same parts."""
    return int(hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


def pages_of(package: Path) -> Iterator[tuple[str, Page]]:
    """The readable pages of a package, each text once."""
    seen: set[str] = set()
    files = (path for path in package.rglob("*") if path.name.endswith(_SUFFIXES) and path.is_file() and not path.is_symlink())
    for path in sorted(files, key=lambda path: chance(path.relative_to(package)))[:PAGES]:
        try:
            page = _pod(path) if path.suffix == ".pod" else read(path)
        except (ReadError, RecursionError, ValueError):
            continue
        if page.language in (None, "en") and page.text not in seen and len(page.passages) > 2:
            seen.add(page.text)
            yield path.relative_to(package).as_posix(), page


def read(path: Path) -> Page:
    return documents.read(documents.opened(path))


def _pod(path: Path) -> Page:
    """Perl's documentation: headings begin with `=head`, code is indented."""
    blocks: list[str] = []
    for part in re.split(r"\n\s*\n", path.read_text(encoding="utf-8", errors="replace")):
        text = _POD_CODE.sub(r"\1", part.strip("\n"))
        if heading := re.match(r"=head(\d)\s+(.+)", text, re.DOTALL):
            blocks.append("#" * (int(heading[1]) + 1) + " " + " ".join(heading[2].split()))
        elif item := re.match(r"=item\s+(.+)", text, re.DOTALL):
            blocks.append("- " + " ".join(item[1].split()))
        elif text and not text.startswith("="):
            blocks.append(text if text[0].isspace() else " ".join(text.split()))
    return Page(path.as_uri(), path.stem, tuple(blocks))


def questions_of(page: Page, subject: str, verbs: Verbs) -> list[Asked]:
    """What can be asked of a page."""
    found: list[Asked] = []
    headings = [place for place, text in enumerate(page.passages) if _HEADING.match(text)]
    for place, following in pairwise([*headings, len(page.passages)]):
        heading = plain_heading(_HEADING.match(page.passages[place])[1])  # type: ignore[index]
        body = tuple(range(place + 1, following))
        if MIN_BODY <= sum(len(page.passages[n]) for n in body) <= MAX_BODY:
            opening = page.passages[body[0]]
            if question := from_heading(heading, opening, subject, verbs):
                found.append(Asked(question.text, question.kind, question.made, body, place))
    for place, text in enumerate(page.passages):
        found += _entry(text, place, subject, verbs)
    return found


def _entry(text: str, place: int, subject: str, verbs: Verbs) -> Iterator[Asked]:
    """A term of a definition list and the paragraph that tells it, which are one passage of a page."""
    term, _, rest = text.partition("\n")
    told = " ".join(rest.split())
    small = sum(word in STOPWORDS for word in told.lower().split())
    if len(term) > 90 or _HEADING.match(term) or len(told) < 25 or small < LEAST_SMALL:
        return
    for question in from_option(term, told, subject, verbs):
        yield Asked(question.text, question.kind, question.made, (place,), None, question.answer)
    if (default := default_in(term, told, subject)) is not None:
        yield Asked(default.text, default.kind, default.made, (place,), None, default.answer)


def chunks_of(page: Page, asked: Sequence[Asked], name: str) -> tuple[list[str], list[tuple[Asked, list[tuple[int, int, int]]]]]:
    """The page cut as the engine cuts it, without the headings that are not shown; and where each answer stands."""
    hidden = {one.heading for one in asked if one.heading is not None and chance(name, one.text) >= SHOWN}
    texts = split([text for place, text in enumerate(page.passages) if place not in hidden], Splitting())
    placed: list[tuple[Asked, list[tuple[int, int, int]]]] = []
    for one in asked:
        marks: list[tuple[int, int, int]] = []
        first = 0
        for paragraph in one.paragraphs:
            for number, at, end in _places(texts, page.passages[paragraph].strip(), first):
                marks.append((number, at, end))
                first = number
        if marks:
            placed.append((one, marks))
    return texts, placed


def _places(texts: Sequence[str], paragraph: str, first: int) -> Iterator[tuple[int, int, int]]:
    """Where a paragraph stands in the chunks: whole in one, or cut between sentences over several."""
    for number in range(first, len(texts)):
        if (at := texts[number].find(paragraph)) >= 0:
            yield number, at, at + len(paragraph)
            return
    for number in range(first, len(texts)):
        text = texts[number]
        if text in paragraph:
            yield number, 0, len(text)
        elif len(paragraph) > 400:  # its beginning ends a chunk, or its end begins one
            if (at := text.find(paragraph[:60])) >= 0:
                yield number, at, len(text)
            elif (at := text.find(paragraph[-60:])) >= 0:
                yield number, 0, at + 60


def rows_of(package: Path) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Corpus and question rows of one package."""
    pages = list(pages_of(package))
    verbs = Verbs(text for _, page in pages for text in page.passages)
    subject = re.sub(r"-(?:doc|docs|html|en|common|amd64|15|user|guide|server|desktop)\b", "", package.name)
    corpus: list[dict[str, object]] = []
    questions: list[dict[str, object]] = []
    for name, page in pages:
        if len(corpus) > CHUNKS:
            break
        texts, placed = chunks_of(page, questions_of(page, subject, verbs), f"{package.name}/{name}")
        ids = [f"{package.name}:{name}#{number}" for number in range(len(texts))]
        title = plain_heading(page.title)[:120] or subject
        corpus += [{"id": i, "title": title, "text": text, "language": "en"} for i, text in zip(ids, texts, strict=True)]
        for number, (one, marks) in enumerate(placed):
            gold = list(dict.fromkeys(ids[chunk] for chunk, _, _ in marks))[:4]
            questions.append(
                {
                    "id": f"{package.name}:{name}-{number}",
                    "question": one.text,
                    "answers": [one.answer] if one.answer else [],
                    "gold": gold,
                    "kind": one.kind,
                    "generated": one.made,
                    "answer_is_passage": not one.answer,
                    "marks": [[ids[chunk], start, end] for chunk, start, end in marks if ids[chunk] in gold],
                }
            )
    return corpus, _chosen(questions)


def _chosen(questions: list[dict[str, object]]) -> list[dict[str, object]]:
    """Questions that are asked once, and not too many of one kind; real questions all stay."""
    counts = Counter(str(row["question"]).casefold() for row in questions)
    once = [row for row in questions if counts[str(row["question"]).casefold()] == 1]
    real = [row for row in once if row["generated"] == "heading"]
    made = sorted((row for row in once if row["generated"] != "heading"), key=lambda row: chance(row["id"]))
    by_kind: Counter[str] = Counter()
    kept = list(real)
    for row in made:
        by_kind[str(row["generated"])] += 1
        if by_kind[str(row["generated"])] <= QUESTIONS // 4:
            kept.append(row)
    return kept


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True, help="a folder with one unpacked package in each folder")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    with (
        gzip.open(options.output / "corpus.jsonl.gz", "wt", encoding="utf-8") as passages,
        gzip.open(options.output / "questions.jsonl.gz", "wt", encoding="utf-8") as asked,
    ):
        for package in sorted(path for path in options.packages.iterdir() if path.is_dir()):
            corpus, questions = rows_of(package)
            passages.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in corpus)
            asked.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in questions)
            made = Counter(str(row["generated"]) for row in questions)
            print(f"{package.name}: {len(corpus)} passages, {len(questions)} questions {dict(made)}", flush=True)


if __name__ == "__main__":
    main()
