"""References out of an answer: formats that other programs read, one entry a work."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable

import pytest

from wellread.answer_json import CitationJson
from wellread.citations.references import FORMATS, brief, footnotes, references, together, written
from wellread.errors import MissingExtra
from wellread.types import Reference

NOTES = Reference(
    title="Notes & sketches of 100% engines",
    authors=("Lovelace, Ada B.", "The Test Group"),
    year=1843,
    venue="Scientific Memoirs",
    doi="10.5555/Notes_1",
    url="https://example.org/notes",
    volume="3",
    issue="2",
    pages="666–731",
)
ARTICLE = CitationJson(number=1, title="Saturn", source="library")
CITED = [
    CitationJson(number=2, title="Notes", url="https://doi.org/10.5555/Notes_1", page=12, reference=NOTES),
    CitationJson(number=1, title="Suez Canal", url="https://example.org/suez", source="wikipedia"),
    CitationJson(number=3, title="Notes", page=9, reference=NOTES),
    CitationJson(number=4, title="Report", url="file:///x/report.pdf", document="report.pdf", source="files:x", page=7),
]


def test_each_work_comes_once_in_the_order_of_its_numbers() -> None:
    found = references(CITED)
    assert [(one.numbers, one.pages) for one in found] == [((1,), ()), ((2, 3), (9, 12)), ((4,), (7,))]
    assert [one.work.kind for one in found] == ["webpage", "article-journal", "document"]
    again = together([CITED, CITED[:1]])
    assert [(one.numbers, one.work.title) for one in again] == [((1,), "Suez Canal"), ((2,), NOTES.title), ((3,), "report.pdf")]


def test_bibtex() -> None:
    text = written(references(CITED), "bibtex")
    assert text.count("@") == 3
    assert "@article{lovelace1843notes,\n" in text
    assert "  title = {{Notes \\& sketches of 100\\% engines}},\n" in text
    assert "  author = {Lovelace, Ada B. and {The Test Group}},\n" in text
    assert "  pages = {666--731},\n" in text
    assert "  doi = {10.5555/Notes_1},\n" in text
    twice = references([*CITED, CitationJson(number=5, reference=Reference("Notes, again", ("Lovelace, A.",), 1843))])
    assert "{lovelace1843notesb," in written(twice, "bibtex")


def test_ris_and_csl() -> None:
    ris = written(references(CITED), "ris")
    for line in ("TY  - JOUR", "AU  - Lovelace, Ada B.", "PY  - 1843", "SP  - 666", "EP  - 731", "DO  - 10.5555/Notes_1"):
        assert f"{line}\n" in ris
    assert ris.count("ER  - \n") == 3
    records = {one["id"]: one for one in json.loads(written(references(CITED), "csl"))}
    notes = records["lovelace1843notes"]
    assert notes["author"] == [{"family": "Lovelace", "given": "Ada B."}, {"literal": "The Test Group"}]
    assert notes["issued"] == {"date-parts": [[1843]]}


def test_a_plain_list_and_footnotes() -> None:
    assert written(references(CITED), "plain").splitlines()[1] == (
        "[2, 3] Lovelace, Ada B.; The Test Group (1843). Notes & sketches of 100% engines. Scientific Memoirs 3(2), 666–731. "
        "https://doi.org/10.5555/Notes_1. cited: p. 9, 12."
    )
    text = footnotes("It opened in 1869 [1]. She wrote notes [2][3], see [9].", CITED[:3])
    assert text.startswith("It opened in 1869 [^1]. She wrote notes [^2][^2], see [9].\n\n[^1]: Suez Canal. wikipedia. https://")
    assert brief(NOTES) == "Lovelace and The Test Group 1843, Scientific Memoirs"


@pytest.mark.parametrize(
    ("style", "line"),
    [
        (
            "apa",
            "[2, 3] Lovelace, A. B., & The Test Group. (1843). Notes & sketches of 100% engines. Scientific Memoirs, 3(2), "
            "666–731. https://doi.org/10.5555/Notes_1",
        ),
        (
            "ieee",
            "[2, 3] A. B. Lovelace and The Test Group, “Notes & sketches of 100% engines,” Scientific Memoirs, vol. 3, no. 2, "
            "pp. 666–731, 1843, doi: 10.5555/Notes_1.",
        ),
        (
            "chicago",
            "[2, 3] Lovelace, Ada B., and The Test Group. 1843. “Notes & Sketches of 100% Engines.” Scientific Memoirs 3 (2): "
            "666–731. https://doi.org/10.5555/Notes_1.",
        ),
    ],
)
def test_styles(style: str, line: str) -> None:
    if importlib.util.find_spec("citeproc") is None:
        with pytest.raises(MissingExtra, match=r"wellread\[styles\]"):
            written(references(CITED), style)
        return
    assert line in written(references(CITED), style).splitlines()


def test_a_work_without_authors_is_named_once(need: Callable[[bool, str], None]) -> None:
    need(importlib.util.find_spec("citeproc") is not None, "citeproc")
    assert written(references([ARTICLE]), "chicago").count("Saturn") == 1
    assert written(references([ARTICLE]), "apa") == "[1] Saturn. (n.d.). library.\n"
    page = CitationJson(number=1, title="Suez Canal", url="https://example.org/suez", source="wikipedia")
    assert written(references([page]), "chicago") == "[1] Wikipedia. n.d. “Suez Canal.” Wikipedia. https://example.org/suez.\n"


def test_nothing_cited_is_nothing_written() -> None:
    assert [written([], how) for how in FORMATS if how not in ("csl", "apa", "chicago", "ieee")] == [""] * 3
    assert json.loads(written([], "csl")) == []
