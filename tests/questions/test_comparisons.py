"""Questions that two values decide."""

from __future__ import annotations

import pytest

from wellread.questions.comparisons import Comparison, Value, comparison, decide, shown

BORN = Comparison(("A", "B"), "When was {} born?", "date", least=True)
DIED = Comparison(("A", "B"), "When did {} die?", "date", least=True)
LONG = Comparison(("A", "B"), "How long is {}?", "number", least=False)


def value(text: str, measure: str) -> Value | None:
    return (BORN if measure == "date" else LONG).value("A", text)


@pytest.mark.parametrize(
    ("question", "asked", "least"),
    [
        ("Which was released first, Tron or Alien?", "When was Tron released?", True),
        ("Which film came out first, Tron or Alien?", "When was Tron released?", True),
        ("Which film was released more recently, Tron or Alien?", "When was Tron released?", False),
        ("Who was born later, Tron or Alien?", "When was Tron born?", False),
        ("Was Tron or Alien born first?", "When was Tron born?", True),
        ("Who died first, Tron or Alien?", "When did Tron die?", True),
        ("Who is older, Tron or Alien?", "When was Tron born?", True),
        ("Which is older, Tron or Alien?", "When was Tron founded or built?", True),
        ("Which river is longer, Tron or Alien?", "How long is Tron?", False),
        ("Which is smaller, Tron or Alien?", "How large is Tron?", True),
        ("Which planet has more moons, Tron or Alien?", "How many moons does Tron have?", False),
    ],
)
def test_a_comparison_is_taken_apart(question: str, asked: str, least: bool) -> None:
    found = comparison(question)
    assert found is not None
    assert found.sides == ("Tron", "Alien")
    assert (found.question("Tron"), found.least) == (asked, least)


@pytest.mark.parametrize(
    "question",
    [
        "Which is the capital, Rome or Milan?",
        "Which film has the director who was born first, Tron or Alien?",
        "Who was the first man on the Moon?",
        "Is it better to fry or to grill a steak?",
        "Which came first?",
    ],
)
def test_what_two_values_do_not_decide_is_none(question: str) -> None:
    assert comparison(question) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("discovered on 25 March 1655", (1655, 3, 25)),
        ("released May 9, 2016", (2016, 5, 9)),
        ("in June 1940 and again in 2013", (1940, 6, 0)),
        ("founded in 1940", (1940, 0, 0)),
        ("born 384 BC", (-384, 0, 0)),
    ],
)
def test_dates_are_read(text: str, key: tuple[float, ...]) -> None:
    found = value(text, "date")
    assert found is not None
    assert found.key == key


def test_of_the_dates_of_a_life_the_second_is_the_death() -> None:
    life = "He (1 January 1634 – 25 August 1698) was a courtier."
    born, died = value(life, "date"), DIED.value("A", life)
    assert born is not None
    assert died is not None
    assert (born.key[0], died.key[0]) == (1634, 1698)


@pytest.mark.parametrize(
    ("one", "other", "winner"),
    [
        ("6,650 km", "4,000 miles", 0),
        ("2.5 million", "900,000", 0),
        ("300 m", "0.9 km", 1),
        ("300 m", "5 kg", None),
        ("7", "7", None),
    ],
)
def test_measures_are_compared_in_one_unit(one: str, other: str, winner: int | None) -> None:
    asked = Comparison(("A", "B"), "How long is {}?", "number", least=False)
    read = value(one, "number"), value(other, "number")
    assert read[0] is not None
    assert read[1] is not None
    assert decide(asked, *read) == winner


def test_a_year_alone_does_not_decide_within_a_year() -> None:
    asked = Comparison(("A", "B"), "When was {} released?", "date", least=True)
    year, day = value("1940", "date"), value("3 May 1940", "date")
    assert year is not None
    assert day is not None
    assert decide(asked, year, day) is None


def test_the_earlier_date_wins_and_the_comparison_is_told() -> None:
    asked = comparison("Which was released first, Tron or Alien?")
    old, new = value("1940", "date"), value("2013", "date")
    assert asked is not None
    assert old is not None
    assert new is not None
    assert decide(asked, new, old) == 1
    assert shown(asked, (new, old), 1) == "compared Tron: 2013; Alien: 1940; 1940 is earlier"


def test_a_year_beside_what_is_counted_is_no_count() -> None:
    asked = comparison("Which planet has more moons, Saturn or Jupiter?")
    assert asked is not None
    assert asked.value("Saturn", "In 1610 Galileo saw the moons of Jupiter for the first time.") is None
    counted = asked.value("Saturn", "In 2023 Saturn had 146 known moons.")
    assert counted is not None
    assert counted.key == (146,)
    assert asked.value("Saturn", "146") is not None


def test_a_year_in_a_name_is_no_date() -> None:
    asked = comparison("Which film came out first, Tron or Dilan 1991?")
    assert asked is not None
    found = asked.value("Dilan 1991", "Dilan 1991 is an Indonesian film of 2019.")
    assert found is not None
    assert found.key[0] == 2019
