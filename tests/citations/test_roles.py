"""Who does what to whom, and when: names and numbers that are there, in places that are not theirs."""

from __future__ import annotations

import pytest

from wellread.citations.arrangement import arranged
from wellread.citations.check import check
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


RECORD = Passage(
    "record",
    "Far Off is a song recorded by Danish singer and songwriter Mia Holm-jensen. It was directed in 1974 by Ivo B. Stern as a "
    "short film. The ferry was used by the Nord Line owned by Hans Berg to carry mail. The studio of the two men is in Bergen.",
    title="Far Off",
)


@pytest.mark.parametrize(
    "text",
    [
        "Mia Holm-jensen recorded the song.",  # not "Danish"
        "Ivo Stern directed Far Off as a short film in 1974.",  # a date before "by", an initial within the name
        "Hans Berg's line used the ferry to carry mail.",  # it is his line that used it
        "The Danish singer recorded the song Far Off.",
    ],
)
def test_who_acts_is_read_through_descriptions_and_dates(text: str) -> None:
    assert carried(text, RECORD)


@pytest.mark.parametrize("verb", ["beat", "hosts", "eventually met"])
def test_who_acts_in_a_second_verb_is_who_acts_in_the_first(verb: str) -> None:
    passage = Passage("cup", f"The Elm Ravens {verb} the Oak Owls in two games and won their first cup.", title="The cup")
    assert carried("The Elm Ravens won the cup.", passage)


@pytest.mark.parametrize(
    "text",
    [
        "Hans Berg recorded the song.",
        "Mia Holm-jensen directed Far Off as a short film in 1974.",
        "Hans Berg later recorded the song.",
    ],
)
def test_another_who_acts_is_seen_all_the_same(text: str) -> None:
    assert not carried(text, RECORD)


def test_nouns_that_end_like_participles_are_no_verbs() -> None:
    line = arranged("The president and the men of the town often speak of the government in the decade.")
    assert not any(line.is_verb(place) for place in range(len(line.tokens)))
    told = arranged("She wrote of the coats they had worn and made.")
    assert [token.form for place, token in enumerate(told.tokens) if told.is_verb(place)] == ["wrote", "worn", "made"]


CLUB = Passage(
    "club",
    "The club is a closed society founded in 1910; new members are invited. The second prize went to a private school. The "
    "first volume came out in 1950 and the final volume in 1955. Its chronicle was written c. AD 66 – 70.",
    title="The club",
)


@pytest.mark.parametrize(
    "text",
    [
        "The club is not open to everyone: new members are invited.",
        "It was the private school, not the club, that the second prize went to.",
        "The last volume came out in 1955.",
        "The final volume came out five years after 1950.",
        "The chronicle was written between 66 and 70 AD.",
    ],
)
def test_the_same_in_opposite_words_is_the_same(text: str) -> None:
    assert carried(text, CLUB)


@pytest.mark.parametrize(
    "text",
    [
        "The club is an open society founded in 1910.",
        "The second prize went to a public school.",
        "The final volume came out nine years after 1950.",
        "The final volume came out forty-five years after 1950.",  # 1955 is as far from 1910, which it does not speak of
        "The first volume came out in 1955 and the final volume never.",
    ],
)
def test_the_opposite_is_not(text: str) -> None:
    assert not carried(text, CLUB)
