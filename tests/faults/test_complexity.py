"""The small form of `benchmarks/complexity.py`: no reader of foreign text takes more than linear time."""

from __future__ import annotations

import pytest
from benchmarks.complexity import PARSERS, SMALL_GROWTH, measured, seconds
from benchmarks.shapes import SHAPES

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 130
    assert len(PARSERS) >= 80


@pytest.mark.parametrize("parser", PARSERS)
def test_ten_times_the_text_takes_about_ten_times_as_long(parser: str) -> None:
    assert [slow for shape in SHAPES if (slow := measured(parser, shape, [300, 3_000], 20, SMALL_GROWTH))] == []


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("check of an answer", "| a | b |\n" + "|" + "  |" * 26 + " x\n"),
        ("Markdown", "# a" + " " * 40_000 + "b"),
        ("cut to a window", "a\n" + " \n" * 20_000 + "b " * 300),
        ("tags", "<" + " " * 40_000),
        ("tags taken out", "<search>a</search>" * 4_000),
        ("begun turn", " " * 40_000 + "!"),
        ("turn", "Action: a" + " " * 40_000 + "!"),
        ("attribution", "a.b " * 2_500),
        ("attribution", "e.g. A " * 1_500),
        ("wiki extract", "== a" + " " * 40_000 + "="),
        ("title", "a " + "(" * 40_000),
        ("words of a hit", "<div>" * 20_000),
        ("wiki page", "<table><tr><td>" * 2_000),
        ("wiki page", "<pre> " * 60_000),
        ("wiki page", "".join(f"<x{n}>" for n in range(40_000))),
        ("check of an answer", "A" + "a" * 60_000 + "ian is here. [1]"),
        ("history", "\xa0" * 40_000),
        ("GNU Info", "     A" + " b" * 20_000 + "!"),
        ("GNU Info", "\x1f\nFile: a" + " Node:" * 40_000),
        ("Org", "* a" + " " * 40_000 + "b"),
        ("Org", "-" + " " * 5_000 + "\na"),
        ("LaTeX", "\\title[" * 20_000),
        ("LaTeX", "\\item[" * 15_000),
        ("AsciiDoc", "= a" + " " * 40_000 + "b"),
        ("AsciiDoc", "<" * 10_000),
        ("manual", "\\f[" * 50_000),
        ("manual", "\\n[" * 50_000),
        ("manual", ".if n " * 200_000),
        ("manual", ".Dd a\n.Fl a" + " ," * 200_000),
        ("a letter's sender", '"' * 20_000),
        ("a letter's subject", "=?utf-8?q?ab?= " * 40_000),
        ("a letter's kind", ";" * 40_000),
        ("a cell of OpenDocument", ("a" * 100 + " ") * 30_000),
        ("a cell of a slide", ("a" * 100 + " ") * 30_000),
        ("POD", "=item abcdefgh\n\n" * 100_000),
        ("check against much the same", " ".join(f"{chr(65 + n % 26)}n{'abcdefghij'[n % 10]} in {1000 + n}" for n in range(400))),
        ("what is missing", "the material does not " * 2_000),
    ],
)
def test_texts_that_froze_it_once(parser: str, text: str) -> None:
    assert seconds(PARSERS[parser], text) < 1.5


def test_the_lines_of_a_long_piece_are_put_together_once() -> None:
    few, many = (seconds(PARSERS["pieces"], "1. a\n" * lines) for lines in (40_000, 240_000))
    assert many < 12 * few
