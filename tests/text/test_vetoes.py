"""Sentences in which one year, date, number, unit, name or "not" was changed: none passes, whoever reads it; true ones do.

Made by program from passages that nothing was tuned on; where these are not at hand, from the library of the package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from benchmarks.citations_changes import FOLDERS, Changed, changed, denied, passages, unchanged

import wellread
from wellread.citations import verdicts
from wellread.citations.check import Weighed, weighed
from wellread.protocols import AnswerReader
from wellread.types import Claim, Judgement, Passage

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


@cache
def at_low(one: Changed) -> list[Weighed]:
    """The sentence as the rules alone read it, once for all tests."""
    return weighed(f"{one.text} [1]", {1: one.passage})


def is_vetoed(one: Changed) -> bool:
    """Whether it is not carried, and nobody is asked about it: neither the verifier nor a language model."""
    return any(not found.sentence.supported and found.claim is None for found in at_low(one))


@pytest.mark.no_cover
def test_no_change_of_a_year_date_number_unit_or_name_passes_at_any_effort(given: list[Passage]) -> None:
    made = changed(given, A_KIND)
    passing = [one.text for one in made if not is_vetoed(one)]
    assert passing == []
    assert len(made) >= 500 or not DATA.is_dir(), Counter(one.kind for one in made)


class Agrees(AnswerReader):
    """A reader that finds everything carried, and is sure of it."""

    async def carries(self, claims: Sequence[Claim]) -> Sequence[Judgement]:
        return [Judgement(carried=True, sure=True)] * len(claims)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.no_cover
async def test_what_is_contradicted_at_low_effort_passes_at_none(given: list[Passage]) -> None:
    """A change of any kind that the rules flag, as at low effort, is flagged whoever reads it at another."""
    nots = denied(given)
    for one in (*changed(given, A_KIND), *nots):
        low = at_low(one)
        normal, _ = await verdicts.reread(low, Agrees, verdicts.MOST)
        assert all(b.sentence.supported <= a.sentence.supported for a, b in zip(low, normal, strict=True)), one.text
    assert sum(is_vetoed(one) for one in nots) >= 0.85 * len(nots)


@pytest.mark.slow
@pytest.mark.no_cover
def test_true_sentences_are_rarely_flagged(given: list[Passage]) -> None:
    true = unchanged(given)
    flagged = [one for one in true if not all(each.sentence.supported for each in at_low(one))]
    assert len(flagged) <= 0.01 * len(true)
