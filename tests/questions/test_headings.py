"""The fixed headings of reports, in the languages that we can write."""

from __future__ import annotations

import pytest

from wellread.questions.headings import TAKEN, headings
from wellread.questions.languages import NAMES, foreign_language


@pytest.mark.parametrize(
    ("question", "sources"),
    [
        ("Was ist über den Mond Titan bekannt?", "Quellen"),
        ("¿Qué se sabe de la luna Titán?", "Fuentes"),
        ("Que sait-on de la lune Titan ?", "Sources"),
        ("Che cosa si sa della luna Titano?", "Fonti"),
        ("Wat is er bekend over de maan Titan?", "Bronnen"),
        ("O que se sabe sobre a lua Titã?", "Fontes"),
        ("What is known about the moon Titan?", "Sources"),
        ("Mit tudunk a Titán holdról?", "Sources"),
    ],
)
def test_headings_follow_the_language_of_the_question(question: str, sources: str) -> None:
    assert headings(foreign_language(question)).sources == sources


def test_every_language_has_its_own_headings_or_the_english_ones() -> None:
    english = headings(None)
    for code in NAMES:
        assert all(headings(code))
        assert set(map(str.casefold, headings(code))) <= TAKEN
        assert headings(code) is english or headings(code).missing != english.missing
