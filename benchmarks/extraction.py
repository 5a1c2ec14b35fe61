"""Main text of web pages: how well and how fast, next to trafilatura and resiliparse.

    python benchmarks/extraction.py [--data DIR] [--quick]

DIR holds `ground-truth.json` ({id: {"articleBody": text}}) and `html/<id>.html.gz`, as the
article-extraction-benchmark lays them out. The measure is that benchmark's: runs of four words, compared
page by page as multisets; precision and recall averaged over pages; F1 of the two averages. Speed is the
ratio of processor times in this run, trafilatura's to ours. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

Extractor = Callable[[str], str | None]
DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "html"
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


def f1(truth: Mapping[str, str], found: Mapping[str, str | None]) -> tuple[float, float, float]:
    scores = [page_scores(text, found[page]) for page, text in truth.items()]
    precision = statistics.fmean(p for p, _ in scores if p is not None)
    recall = statistics.fmean(r for _, r in scores if r is not None)
    return 2 * precision * recall / (precision + recall), precision, recall


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


def load(data: Path, limit: int | None) -> tuple[dict[str, str], dict[str, str]]:
    truth = json.loads((data / "ground-truth.json").read_text("utf-8"))
    truth = {page: item["articleBody"] for page, item in sorted(truth.items())[:limit]}
    pages = {page: gzip.decompress((data / "html" / f"{page}.html.gz").read_bytes()).decode("utf-8") for page in truth}
    return truth, pages


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=DEFAULT_DATA)
    arguments.add_argument("--quick", action="store_true", help="one round instead of three")
    chosen = arguments.parse_args()
    truth, pages = load(chosen.data, None)
    result: dict[str, float] = {}
    seconds: dict[str, float] = {}
    print(f"{len(pages)} pages\n{'':12} {'F1':>7} {'precision':>10} {'recall':>7} {'ms/page':>8}")
    for name, extractor in extractors().items():
        found, seconds[name] = measure(extractor, pages, 1 if chosen.quick else 3)
        score, precision, recall = f1(truth, found)
        print(f"{name:12} {score:7.4f} {precision:10.4f} {recall:7.4f} {seconds[name] / len(pages) * 1000:8.2f}")
        result["f1" if name == "wellread" else f"{name}_f1"] = round(score, 4)
    result["speed_ratio"] = round(seconds["trafilatura"] / seconds["wellread"], 3)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
