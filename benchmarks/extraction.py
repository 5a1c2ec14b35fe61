"""Main text of web pages: how well and how fast, next to trafilatura and resiliparse.

    python benchmarks/extraction.py [--data DIR]… [--part tune|held-out|all] [--quick]

DIR holds one or more of three sets, with their pages gzipped beside them:

    ground-truth.json  {id: {"articleBody": text}}, html/<id>.html.gz: the article-extraction-benchmark
    articles.json      {id: html of the article}, articles/<id>.html.gz: Mozilla's tests of Readability
    segments.json      {id: {"url", "with": […], "without": […]}}, segments/<id>.html.gz: trafilatura's evaluation

Texts are compared as that benchmark does: runs of four words, page by page as multisets; precision and
recall averaged over pages; F1 of the two averages. Segments are counted over all pages: one that must be
there and is, one that must not and is, one that must and is not. A page is lost when none of its segments
is there. Halves of the segments are parted by a hash of the domain: rules are made by looking at `tune` alone.
Speed is the ratio of processor times in this run, trafilatura's to ours. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Extractor = Callable[[str], str | None]
Texts = Mapping[str, str | None]
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DEFAULT_DATA = (SHARED / "html", SHARED / "pages")
RUN = 4


def shingles(text: str | None) -> Counter[tuple[str, ...]]:
    """Runs of four words, with their counts; a shorter text is one run."""
    words = re.findall(r"\w+", text or "")
    runs = (tuple(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1)))
    return Counter(run for run in runs if run)


def page_scores(true: str, found: str | None) -> tuple[float | None, float | None]:
    """Precision and recall of one page; None where the average leaves the page out."""
    wanted, got = shingles(true), shingles(found)
    both = (wanted & got).total()
    if wanted == got:
        return (1.0, 1.0) if both else (None, None)
    precision = both / got.total() if got else None
    recall = both / wanted.total() if wanted else None
    return precision, recall


@dataclass(frozen=True, slots=True)
class Score:
    f1: float
    precision: float
    recall: float
    lost: int


def text_score(truth: Mapping[str, str], found: Texts) -> Score:
    scores = [page_scores(text, found[page]) for page, text in truth.items()]
    precision = statistics.fmean(p for p, _ in scores if p is not None)
    recall = statistics.fmean(r for _, r in scores if r is not None)
    lost = sum(not recall for _, recall in scores if recall is not None)
    return Score(2 * precision * recall / (precision + recall), precision, recall, lost)


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


@dataclass(frozen=True, slots=True)
class Segments:
    """What must and what must not be in the text of a page."""

    url: str
    wanted: Sequence[str]
    unwanted: Sequence[str]

    @property
    def part(self) -> str:
        address = self.url.rpartition("::")[2].removeprefix("http://").removeprefix("https://").removeprefix("www.")
        domain = re.split(r"[/:]", address)[0] if "://" in self.url else address.partition("-")[0]
        return "tune" if hashlib.sha256(domain.lower().encode()).digest()[0] % 2 else "held-out"

    def found_in(self, text: str | None) -> tuple[int, int]:
        """How many of the wanted and of the unwanted ones are there."""
        flat = _flat(text)
        return sum(_flat(part) in flat for part in self.wanted), sum(_flat(part) in flat for part in self.unwanted)


def segment_score(truth: Mapping[str, Segments], found: Texts) -> Score:
    there = {page: segments.found_in(found[page]) for page, segments in truth.items()}
    right = sum(wanted for wanted, _ in there.values())
    wrong = sum(unwanted for _, unwanted in there.values())
    wanted = sum(len(segments.wanted) for segments in truth.values())
    lost = sum(not there[page][0] for page, segments in truth.items() if segments.wanted)
    precision, recall = right / max(1, right + wrong), right / wanted
    return Score(2 * precision * recall / max(precision + recall, 1e-9), precision, recall, lost)


def measure(extractor: Extractor, pages: Mapping[str, str], rounds: int) -> tuple[dict[str, str | None], float]:
    """The texts, and the least processor time of the rounds."""
    extractor(next(iter(pages.values())))  # imports and caches are not the page's cost
    best = float("inf")
    found: dict[str, str | None] = {}
    for _ in range(rounds):
        start = time.process_time()
        found = {page: extractor(html) for page, html in pages.items()}
        best = min(best, time.process_time() - start)
    return found, best


def extractors() -> dict[str, Extractor]:
    import trafilatura
    from resiliparse.extract.html2text import extract_plain_text

    from wellread.reading.extract import extract

    return {
        "wellread": lambda html: extract(html).text,
        "trafilatura": lambda html: trafilatura.extract(html, include_comments=False),
        "resiliparse": lambda html: extract_plain_text(html, main_content=True),
    }


@dataclass(frozen=True, slots=True)
class Set:
    """Pages with what is to be found in them."""

    name: str
    pages: Mapping[str, str]
    score: Callable[[Texts], Score]


def _pages(folder: Path, names: Sequence[str]) -> dict[str, str]:
    return {name: gzip.decompress((folder / f"{name}.html.gz").read_bytes()).decode("utf-8", "replace") for name in names}


def plain(html: str) -> str:
    from lxml import html as parser

    return " ".join(parser.fromstring(html).xpath("//text()[not(ancestor::script or ancestor::style)]"))


def load(data: Path, part: str = "all") -> list[Set]:
    """The sets in a folder. Those without halves have no part that was not looked at."""
    sets: list[Set] = []
    if (data / "ground-truth.json").exists():
        truth = json.loads((data / "ground-truth.json").read_text("utf-8"))
        bodies = {page: item["articleBody"] for page, item in sorted(truth.items())}
        sets.append(Set("html", _pages(data / "html", list(bodies)), lambda found: text_score(bodies, found)))
    if (data / "articles.json").exists():
        articles = {page: plain(html) for page, html in json.loads((data / "articles.json").read_text("utf-8")).items()}
        sets.append(Set("articles", _pages(data / "articles", list(articles)), lambda found: text_score(articles, found)))
    if (data / "segments.json").exists():
        rows = json.loads((data / "segments.json").read_text("utf-8")).items()
        every = {page: Segments(row["url"], row["with"], row["without"]) for page, row in rows}
        chosen = {page: segments for page, segments in every.items() if part in ("all", segments.part)}
        sets.append(Set("segments", _pages(data / "segments", list(chosen)), lambda found: segment_score(chosen, found)))
    return sets


def compare(pages: Set, rounds: int) -> dict[str, float]:
    """One table, and its figures by name."""
    result: dict[str, float] = {}
    seconds: dict[str, float] = {}
    print(f"{pages.name}: {len(pages.pages)} pages\n{'':12} {'F1':>7} {'precision':>10} {'recall':>7} {'lost':>5} {'ms/page':>8}")
    for name, extractor in extractors().items():
        found, seconds[name] = measure(extractor, pages.pages, rounds)
        score = pages.score(found)
        each = seconds[name] / len(pages.pages) * 1000
        print(f"{name:12} {score.f1:7.4f} {score.precision:10.4f} {score.recall:7.4f} {score.lost:5} {each:8.2f}")
        prefix = "" if name == "wellread" else f"{name}_"
        result |= {f"{prefix}f1": round(score.f1, 4), f"{prefix}lost": score.lost}
    return result | {"speed_ratio": round(seconds["trafilatura"] / seconds["wellread"], 3)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, action="append", help="a folder of pages; may be given several times")
    arguments.add_argument("--part", choices=("tune", "held-out", "all"), default="all", help="of the segments")
    arguments.add_argument("--quick", action="store_true", help="one round instead of three")
    chosen = arguments.parse_args()
    sets = [found for data in chosen.data or DEFAULT_DATA for found in load(data, chosen.part)]
    if not sets:
        arguments.error("no pages there")
    results = {found.name: compare(found, 1 if chosen.quick else 3) for found in sets}
    # the first set's figures go without a name, as long as there has been only one
    named = {f"{name}_{key}": value for name, result in list(results.items())[1:] for key, value in result.items()}
    print(json.dumps(next(iter(results.values())) | named))


if __name__ == "__main__":
    main()
