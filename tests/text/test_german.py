"""German sentences: every noun has a capital letter, few are names."""

from __future__ import annotations

import pytest

from wellread.citations.check import check
from wellread.text.words import read
from wellread.types import Passage

MARKET = Passage(
    "markt",
    "Die Markthalle wurde am 3. Mai 1871 eröffnet und ersetzte einen älteren Markt am Fluss. Bei der Eröffnung waren 2.000 Gäste "
    "da. Das Dach aus Holz wurde 1902 durch einen Brand zerstört. Der Architekt Emil Brandt baute auch das Rathaus in Lüneburg.",
    title="Markthalle",
)


def carried(text: str) -> bool:
    (sentence,) = check(f"{text} [1]", {1: MARKET})
    return sentence.supported


@pytest.mark.parametrize(
    "text",
    [
        "Die Markthalle trat 1871 an die Stelle eines älteren Marktes.",
        "Ein Feuer hat 1902 das Holzdach der Markthalle zerstört.",
        "Zur Eröffnung kamen 2000 Gäste.",
        "Der Architekt Brandt schuf auch das Rathaus in Lüneburg.",
    ],
)
def test_nouns_of_its_own_do_not_make_a_sentence_foreign(text: str) -> None:
    assert carried(text)


@pytest.mark.parametrize(
    "text",
    [
        "Der Architekt Otto Wagner baute auch das Rathaus in Lüneburg.",
        "Der Architekt Emil Brandt baute auch das Rathaus in Hannover.",
        "Bei der Eröffnung waren 3.000 Gäste da.",
        "Die Markthalle wurde am 3. Juni 1871 am Fluss eröffnet.",
    ],
)
def test_names_and_numbers_that_are_not_there_do(text: str) -> None:
    assert not carried(text)


def test_names_are_told_by_more_than_a_capital_letter() -> None:
    assert list(read("Im Rahmen des Abkommens einigten sich BSkyB und Virgin Media über die Kanäle.").names) == [
        "bskyb",
        "virgin",
        "media",
    ]
    assert "marktes" not in read("Die Größe des Marktes ist nicht bekannt.").names
    assert "committee" in read("The report of the Committee was late.").names  # English is read as before


def test_a_point_groups_thousands() -> None:
    assert "#2000" in read("2.000 Gäste").counts
    assert "#3.142" in read("about 3.142").counts
    assert "#0.05" in read("0.050 g").counts
