"""Sentences that say what is missing: told from claims, and no hiding place for one."""

from __future__ import annotations

import time

import pytest

from wellread.citations.check import check
from wellread.citations.missing import told
from wellread.citations.verdicts import missing, outcome
from wellread.types import Passage

FILM = Passage("film", "Rome Nights is a 1953 film directed by Anna Bell. It was shot in Rome.", title="Rome Nights")
BELL = Passage("bell", "Bell was born in Bangkok in 1921. Bangkok is the capital of Thailand.", title="Anna Bell")
PASSAGES = {1: FILM, 2: BELL}
QUESTION = "Who produced Rome Nights, and what did Carl Meyer do?"


def verdict(text: str) -> str:
    (sentence,) = check(text, PASSAGES, QUESTION)
    return sentence.verdict


@pytest.mark.parametrize(
    "text",
    [
        "The material does not say who produced it.",
        "The producer is not named.",
        "The film's budget isn't mentioned.",
        "Nothing is said about the producer.",
        "The sources leave open who produced the film.",
        "Das Material nennt keinen Produzenten.",
        "Wer den Film produziert hat, geht aus den Quellen nicht hervor.",
        "Über die Kosten des Films sagen die Texte nichts.",
        "Zu den Kosten gibt es keine Angaben.",
        "The material doesn't say what Carl Meyer did. [1]",
        "Who produced Rome Nights is not stated in the passages.",
        "Its producer is not named in the material.",
        "None of the passages mentions Carl Meyer.",
        "No source says who produced the film.",
        "There is no information about Carl Meyer in the material.",
        "The answer cannot be determined from the passages.",
        "It is not stated when the film was shot.",
        "Why it failed was never explained.",
        "However, the sources say nothing about the producer.",
        "I could not find who produced it.",
        "Die Quellen sagen nicht, wer den Film produziert hat.",
        "Les passages ne disent pas qui a produit le film.",
    ],
)
def test_what_is_missing_is_no_claim(text: str) -> None:
    assert verdict(text) == "says what is missing"


@pytest.mark.parametrize(
    "text",
    [
        "The material does not say who produced it, but it was Anna Bell.",
        "The material does not say who produced it; it was made in Paris.",
        "The material does not say that Peter Smith produced it.",
        "The material does not say who paid the 40 million for it.",
        "The material does not mention the producer, who was a spy.",
        "The material does not say why the banker poisoned the bishop.",
        "The actor did not say why he left.",
        "The actor was not named heir of the banker.",
        "Die Quellen des Flusses liegen nicht im Gebirge.",
        "The negatives were not found in the archive.",
        "When the war ended, the director was not recalled to Rome.",
        "Rome Nights, which was shot in Rome, was not given by Anna Bell.",
        "However, when Rome Nights was not shown again, it was shot in Rome.",
    ],
)
def test_it_hides_no_claim(text: str) -> None:
    assert verdict(text) == "not carried"
    assert verdict(f"{text} [1]") == "not carried"


def test_what_a_sentence_claims_besides_must_be_carried() -> None:
    assert verdict("Rome Nights was directed by Anna Bell [1], but the material does not say who produced it.") == "carried"
    assert verdict("Rome Nights was directed by Carl Meyer [1], but the material does not say who produced it.") == "not carried"


def test_the_verdicts_decide_what_an_answer_is() -> None:
    whole = check("Rome Nights was directed by Anna Bell. [1]", PASSAGES, QUESTION)
    lacking = check("The material does not say who produced it.", PASSAGES, QUESTION)
    both = check("Rome Nights was shot in Rome, but the material does not say who produced it. [1]", PASSAGES, QUESTION)
    assert outcome(whole, missing(whole, ())) == "answered"
    assert outcome(whole, missing(whole, ["who produced it"])) == "partial"
    assert outcome([*whole, *lacking], missing([*whole, *lacking], ())) == "partial"
    assert outcome(lacking, missing(lacking, ())) == "unsure"
    assert missing(both, ()) == ("the material does not say who produced it.",)
    assert missing(lacking, [" ", "who  paid"]) == ("who paid", "The material does not say who produced it.")


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("Anna Bell, who directed Rome Nights, was born in Thailand (inference). [1][2]", True),
        ("The film of 1953 came after her birth in 1921 (inference) [1][2].", True),
        ("Anna Bell was born in Laos (inference). [1][2]", False),  # nobody names it
        ("The film of 1953 came after her birth in 1931 (inference) [1][2].", False),
        ("The film of 1953 came after her birth in 1921 (inference).", False),  # nothing is cited
        ("She was older (inference) [2].", False),  # no side of it is named
    ],
)
def test_an_inference_is_marked_and_both_its_sides_are_cited(text: str, carried: bool) -> None:
    (sentence,) = check(text, PASSAGES)
    assert sentence.inferred
    assert sentence.supported == carried


def test_a_conclusion_without_the_mark_is_none() -> None:
    claim = "The picture from 1953 therefore precedes the old lady's arrival, 1921, by many long decades"
    (sentence,) = check(f"{claim} [1][2].", PASSAGES)
    assert (sentence.inferred, sentence.verdict) == (False, "not carried")


@pytest.mark.parametrize("unit", ["not ", "the material does not say ", ", who ", "is not " * 3, "no source " * 3])
def test_long_ones_take_no_longer_than_short_ones(unit: str) -> None:
    begun = time.thread_time()
    for size in (390, 4_000, 40_000):
        told((unit * size)[:size])
    assert time.thread_time() - begun < 0.5
