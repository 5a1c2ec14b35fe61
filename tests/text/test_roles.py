"""Who does what to whom, and when: names and numbers that are there, in places that are not theirs."""

from __future__ import annotations

import pytest

from wellread.text.citations import check
from wellread.types import Passage

POST = Passage(
    "post",
    "Simon runs a blog about niche museums. A reader wrote to him last week. She recommends the Pirate Museum, which has a "
    "great view of the harbour and is found on an island off Madagascar.",
    title="Niche museums",
)
PLAY = Passage(
    "play",
    "The Long Night is a 1931 drama film directed by Ada Berg and starring Otto Lund. The music was composed by Ivo Stern. "
    "Lund was defeated by Karl Moe in the chess final of 4 May 1935 against all odds. Berg, whose son Emil Berg is a painter, "
    "married Ivo Stern on 12 June 1940. The studio was founded as Nord Film, Inc. by her uncle Hans Berg in 1922.",
    title="The Long Night",
)
LIFE = Passage(
    "life",
    "Nils Holt (3 March 1901 – 9 July 1977) was a Norwegian painter. Holt lived in Bergen. From 1930 to 1938 he taught in Oslo. "
    "The museum opened with 1,200 pictures and 40 rooms on March 12, 1980. He died in Tromsø.",
    title="Nils Holt",
)


def carried(text: str, passage: Passage) -> bool:
    (sentence,) = check(f"{text} [1]", {1: passage})
    return sentence.supported


@pytest.mark.parametrize("text", ["Simon has been to Madagascar.", "Simon visited Madagascar."])
def test_two_names_in_one_post_are_not_connected_by_that(text: str) -> None:
    assert not carried(text, POST)
    assert carried(text, Passage("trip", "In 2019 Simon visited Madagascar.", title="Travels"))
    assert carried("Simon runs a blog about museums.", POST)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Ada Berg directed The Long Night.", "Otto Lund directed The Long Night."),
        ("The Long Night was directed by Ada Berg.", "The Long Night was directed by Ivo Stern."),
        ("Ivo Stern composed the music.", "Ada Berg composed the music."),
        ("Karl Moe defeated Lund in the chess final.", "Lund defeated Karl Moe in the chess final."),
        ("Hans Berg founded the studio in 1922.", "Ada Berg founded the studio in 1922."),
        ("Her uncle Hans Berg founded the studio.", "Her son Hans Berg founded the studio."),
    ],
)
def test_the_agent_of_a_verb_counts(right: str, wrong: str) -> None:
    assert carried(right, PLAY)
    assert not carried(wrong, PLAY)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Holt was born in 1901.", "Holt was born in 1977."),
        ("Holt died in Tromsø in 1977.", "Holt died in Tromsø in 1901."),
        ("He was born on 3 March 1901.", "He was born on 9 March 1901."),
        ("He taught in Oslo from 1930 to 1938.", "He taught in Oslo from 1901 to 1977."),
        ("The museum opened with 1,200 pictures.", "The museum opened with 12 pictures."),
    ],
)
def test_a_date_or_number_belongs_to_one_thing(right: str, wrong: str) -> None:
    assert carried(right, LIFE)
    assert not carried(wrong, LIFE)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Holt taught in Oslo.", "Holt never taught in Oslo."),
        ("The museum opened with 40 rooms.", "The museum failed to open with 40 rooms."),
        ("Ivo Stern composed the music.", "Ivo Stern refused to compose the music."),
    ],
)
def test_not_needs_a_reason_in_the_passage(right: str, wrong: str) -> None:
    passage = PLAY if "Stern" in right else LIFE
    assert carried(right, passage)
    assert not carried(wrong, passage)


def test_the_opposite_of_a_word_is_not_the_word() -> None:
    passage = Passage("p", "The course of the disease is unpredictable. Lynxes are less common than foxes. Moe won the final.")
    assert carried("The course of the disease is unpredictable.", passage)
    assert not carried("The course of the disease is predictable.", passage)
    assert not carried("Moe lost the final.", passage)


def test_the_same_order_seen_from_the_other_side_is_the_same() -> None:
    text = "Ada Holt was nominated 28 years after Rosa Lind. The hall is smaller than the court of Bath, its last home."
    passage = Passage("p", text)
    assert carried("28 years before Holt, Rosa Lind was nominated.", passage)
    assert carried("The court of Bath is larger than the hall.", passage)
    assert not carried("Ada Holt was nominated 28 years before Rosa Lind.", passage)
    assert not carried("The hall was the first home of the court of Bath.", passage)
