"""The bar: main text on real pages, with the benchmark's own measure. Needs the data beside the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.extraction import f1, load, page_scores

from wellread.reading.extract import extract


def test_main_text_of_real_pages(shared_data: Path) -> None:
    if not (shared_data / "html" / "ground-truth.json").exists():
        pytest.skip("the pages are not there")
    truth, pages = load(shared_data / "html", None)
    score, precision, recall = f1(truth, {page: extract(html).text for page, html in pages.items()})
    assert score >= 0.975
    assert min(precision, recall) >= 0.965


def test_the_measure() -> None:
    text = "one two three four five six"
    assert page_scores(text, text) == (1.0, 1.0)
    assert page_scores(text, "") == (None, 0.0)
    assert page_scores("", text) == (0.0, None)
    assert page_scores("", None) == (None, None)
    assert page_scores(text, "one two three four five") == (1.0, 2 / 3)
    assert page_scores("a b", "a b") == (1.0, 1.0)
