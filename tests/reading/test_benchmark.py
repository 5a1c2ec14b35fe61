"""The bars: main text on real pages, with each benchmark's own measure. Needs the data beside the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.extraction import Score, Segments, Set, load, page_scores, segment_score

from wellread.reading.extract import extract

pytestmark = pytest.mark.slow


def _score(pages: Set) -> Score:
    return pages.score({page: extract(html).text for page, html in pages.pages.items()})


@pytest.mark.parametrize(
    ("folder", "name", "part", "bar"),
    [
        ("html", "html", "all", 0.965),
        ("pages", "articles", "all", 0.955),
        ("pages", "segments", "held-out", 0.92),
        ("pages", "segments", "tune", 0.925),
    ],
)
def test_main_text_of_real_pages(shared_data: Path, folder: str, name: str, part: str, bar: float) -> None:
    sets = [pages for pages in load(shared_data / folder, part) if pages.name == name]
    if not sets:
        pytest.skip("the pages are not there")
    assert _score(sets[0]).f1 >= bar


def test_the_measure_of_texts() -> None:
    text = "one two three four five six"
    assert page_scores(text, text) == (1.0, 1.0)
    assert page_scores(text, "") == (None, 0.0)
    assert page_scores("", text) == (0.0, None)
    assert page_scores("", None) == (None, None)
    assert page_scores(text, "one two three four five") == (1.0, 2 / 3)
    assert page_scores("a b", "a b") == (1.0, 1.0)


def test_the_measure_of_segments() -> None:
    truth = {
        "a": Segments("https://a.example/1", ["one two", "three"], ["four"]),
        "b": Segments("https://b.example/", ["five"], []),
    }
    score = segment_score(truth, {"a": "one\ntwo and four", "b": None})
    assert (score.precision, score.recall, score.lost) == (0.5, 1 / 3, 1)


def test_pages_of_one_domain_are_in_one_part() -> None:
    parts = {Segments(f"https://{www}a.example/{n}", [], []).part for n in range(20) for www in ("", "www.")}
    assert len(parts) == 1
    assert {Segments(f"https://{n}.example/", [], []).part for n in range(20)} == {"tune", "held-out"}
