"""Sentences in which one year, date, number, unit, name or "not" was changed: none passes, whoever reads it; true ones do.

Made by program from passages that nothing was tuned on; where these are not at hand, from the library of the package.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks.citations_changes import FOLDERS, Changed, changed, denied, passages, unchanged

import wellread
from wellread.citations.check import weighed
from wellread.types import Passage

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared/data"
A_KIND = 90


@pytest.fixture(scope="module")
def given() -> list[Passage]:
    if all((DATA / folder / "corpus.jsonl.gz").is_file() for folder in FOLDERS):
        return passages(DATA, 1500)
    return [Passage(str(number), text) for number, text in enumerate(library())]


def library() -> list[str]:
    return [
        part
        for file in sorted((Path(wellread.__file__).parent / "library/articles").glob("*.md"))
        for part in file.read_text("utf-8").split("\n\n")[1:]
    ]


def is_vetoed(one: Changed) -> bool:
    """Whether it is not carried, and nobody is asked about it: neither the verifier nor a language model."""
    return any(not found.sentence.supported and found.claim is None for found in weighed(f"{one.text} [1]", {1: one.passage}))


@pytest.mark.no_cover
def test_no_change_of_a_year_date_number_unit_or_name_passes_at_any_effort(given: list[Passage]) -> None:
    made = changed(given, A_KIND)
    passing = [one.text for one in made if not is_vetoed(one)]
    assert passing == []
    assert len(made) >= 500 or not DATA.is_dir(), Counter(one.kind for one in made)


@pytest.mark.no_cover
def test_what_is_contradicted_at_low_effort_passes_at_none(given: list[Passage]) -> None:
    """A change of any kind is flagged by what no reader overrules, or passes at low effort as well."""
    made = [*changed(given, A_KIND), *(nots := denied(given))]
    judged = [(one, weighed(f"{one.text} [1]", {1: one.passage})) for one in made]
    better = [one.text for one, found in judged if any(not each.sentence.supported and each.claim for each in found)]
    assert better == []
    assert sum(is_vetoed(one) for one in nots) >= 0.85 * len(nots)


@pytest.mark.no_cover
def test_true_sentences_are_rarely_flagged(given: list[Passage]) -> None:
    true = unchanged(given)
    flagged = [one for one in true if not all(each.sentence.supported for each in weighed(f"{one.text} [1]", {1: one.passage}))]
    assert len(flagged) <= 0.01 * len(true)
