"""Which answer wins, told from verdicts written by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.ranking.answers import AnswerWeights, Best, Doubt, Kind, best_answers, settles, told_in
from wellread.ranking.paths import Marked, Verdict, Weights

WEIGHTS, SCORING = Weights(), AnswerWeights()
SPAN, YES, NO, NONE = (-4.0, 4.0, -4.0, -4.0), (-4.0, -4.0, 4.0, -4.0), (-4.0, -4.0, -4.0, 4.0), (9.0, -4.0, -4.0, -4.0)
Verdicts = dict[tuple[str, ...], Verdict]


def span(text: str, relevance: float = 3.0, likelihood: float = -0.2, passage: int = 0) -> Verdict:
    return Verdict(relevance, SPAN, likelihood, passage, 10, 10 + len(text), text)


def best(verdicts: Verdicts, order: str = "abcd") -> list[Best[str]]:
    return best_answers(order, verdicts, WEIGHTS, SCORING)


def texts(answers: list[Best[str]], kind: str = "span") -> list[str]:
    return [answer.text for answer in answers if answer.kind == kind]


def test_nothing_judged_is_no_answer() -> None:
    assert best({}) == []


def test_the_answer_of_the_likelier_passage_comes_first() -> None:
    answers = best({("a",): span("Titan", -2.0), ("b",): span("Ganymede", 5.0)})
    assert texts(answers) == ["Ganymede", "Titan"]
    first = answers[0]
    assert (first.chain, first.kind, first.verdict.start, first.verdict.end) == (("b",), "span", 10, 18)
    assert first.confidence > next(answer for answer in answers if answer.text == "Titan").confidence


def test_the_same_answer_from_several_chains_counts_once() -> None:
    verdicts = {
        ("a",): span("the Moon", 1.0),
        ("b",): span("The  moon", 4.0),
        ("a", "b"): span("THE MOON", 0.0, passage=1),
        ("c",): span("Mars", 0.0),
    }
    answers = best(verdicts)
    assert texts(answers) == ["The  moon", "Mars"]
    assert answers[0].chain == ("b",), "as the likeliest chain says it"
    assert answers[0].place == 0, "and as far up as the best place where it stands"


def test_accents_do_not_make_two_answers_of_one() -> None:
    assert texts(best({("a",): span("Žofie"), ("b",): span("Zofie", 1.0)})) == ["Žofie"]


def test_yes_and_no_have_no_words_of_their_own() -> None:
    answers = best({("a",): Verdict(4.0, YES, -3.0, 0, 2, 5, "xyz"), ("b",): Verdict(-4.0, NO, -3.0, 0, 2, 5, "xyz")})
    assert (answers[0].kind, answers[0].text, answers[0].chain) == ("yes", "yes", ("a",))
    assert answers[0].span == 0.0
    assert best({("a",): Verdict(4.0, NO)})[0].kind == "no"
    assert {answer.kind for answer in answers} == {"yes", "no", "span"}


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_span_is_not_an_answer(text: str) -> None:
    assert texts(best({("a",): span(text)})) == []


def test_a_passage_that_holds_no_answer_is_doubted() -> None:
    doubted = best({("a",): Verdict(3.0, NONE, -0.2, 0, 0, 4, "Mars")})
    sure = best({("a",): span("Mars")})
    assert doubted[0].confidence < sure[0].confidence


def test_further_down_is_a_little_worse() -> None:
    verdicts = {("a",): span("one"), ("b",): span("two")}
    assert texts(best(verdicts, "ab")) == ["one", "two"]
    assert texts(best(verdicts, "ba")) == ["two", "one"]
    assert texts(best({("z",): span("far"), **verdicts}, "ab"))[-1] == "far", "what nobody ranked is last"


def test_a_chain_is_as_good_as_its_steps() -> None:
    weak = {("a",): Verdict(-6.0, NONE), ("a", "b"): span("weak", passage=1)}
    strong = {("c",): Verdict(6.0, NONE), ("c", "d"): span("strong", passage=1)}
    assert texts(best({**weak, **strong}, "acbd")) == ["strong", "weak"]


logits = st.floats(-40, 40)
verdicts = st.builds(
    Verdict,
    relevance=logits,
    kinds=st.tuples(logits, logits, logits, logits),
    span=st.floats(-60, 0),
    text=st.sampled_from(["", "Mars", "mars", "Titan", "a moon"]),
)
chains = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True).map(tuple)


@given(st.dictionaries(chains, verdicts, max_size=8))
def test_answers_differ_come_best_first_and_have_a_probability(judged: Verdicts) -> None:
    answers = best(judged)
    keys = [answer.text.casefold() for answer in answers]
    assert len(keys) == len(set(keys))
    scores = [answer.score for answer in answers]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= answer.confidence <= 1.0 and math.isfinite(answer.margin) for answer in answers)
    assert all(answer.chain in judged for answer in answers)
    assert len(answers) >= 2 * bool(judged), "yes and no are always possible"


def test_an_answer_that_sentences_tell_is_all_of_them_around_the_best() -> None:
    marks = (Marked(0, 20, -3.0), Marked(21, 60, 0.4), Marked(61, 90, 2.0), Marked(91, 120, 1.0), Marked(121, 150, -1.0))
    told = Verdict(4.0, NONE, -3.0, 0, 2, 5, "xyz", told=9.0, evidence=marks)
    answers = best({("a",): told})
    assert (answers[0].kind, answers[0].verdict.start, answers[0].verdict.end) == ("text", 21, 120)


def test_sentences_are_expected_where_an_instruction_or_a_reason_is_asked_for() -> None:
    scoring = AnswerWeights(told=3.0)
    expected = ["How do I reset it?", "Why is it slow?", "Tell me how to pair the remote", "What happens after an hour?"]
    assert all(scoring.asked(question).told == 3.0 for question in expected)
    named = ["How many moons has Mars?", "Who found Titan?", "How long is the Arve?", "What is the capital of Peru?"]
    assert all(scoring.asked(question).told == 0.0 for question in named)


def test_what_is_told_ends_where_a_heading_stands() -> None:
    first, second, beyond = Marked(0, 20, 3.0), Marked(21, 50, 1.0), Marked(70, 90, 2.0)
    assert told_in((first, second, beyond)) == (0, 50)
    assert told_in((first, second, Marked(51, 90, 2.0))) == (0, 90)


def test_a_word_without_meaning_is_no_answer() -> None:
    kinds = (0.0, 5.0, 0.0, 0.0)
    answers = best({("a",): Verdict(4.0, kinds, -0.1, 0, 0, 3, "Any"), ("b",): Verdict(1.0, kinds, -0.1, 0, 0, 4, "Mars")})
    assert [answer.text for answer in answers if answer.kind == "span"] == ["Mars"]


def test_questions_about_ones_own_things_want_to_be_told() -> None:
    scoring = AnswerWeights(told=3.0)
    own = [
        "Can I use two keyboards?",
        "My backup is slow.",
        "What's wrong with it?",
        "What does the -x option do?",
        "Could you add a key?",
    ]
    assert all(scoring.asked(question).told == 3.0 for question in own)
    named = ["Who was king before Elizabeth I?", "When did World War I begin?", "Is Titan larger than Mercury?"]
    assert all(scoring.asked(question).told == 0.0 for question in named)


@pytest.mark.parametrize(
    ("question", "kind", "confidence", "missing", "settled"),
    [
        ("Who found Titan?", "span", 0.7, 0.0, True),
        ("Who found Titan?", "span", 0.5, 0.0, False),
        ("Who found Titan?", "span", 0.7, 0.5, False),
        ("Who found Titan?", "yes", 0.9, 0.0, False),
        ("Who found the moon that orbits the planet which Galileo saw first?", "span", 0.9, 0.0, False),
        ("How do I reset the radio that stands beside my bed at home?", "text", 0.55, 0.5, True),
    ],
)
def test_a_sure_answer_to_a_short_question_or_one_that_is_told_settles_it(
    question: str, kind: Kind, confidence: float, missing: float, settled: bool
) -> None:
    answer = Best("x", kind, ("a",), Verdict(0.0), 0.0, 0.0, 0, Doubt(0.0, missing), confidence=confidence)
    assert settles(question, answer) is settled
