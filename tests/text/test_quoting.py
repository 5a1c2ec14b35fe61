"""Code in answers: quoted as it stands, read and checked as one piece, and apart from what follows it."""

from __future__ import annotations

import time

import pytest

from wellread.citations.check import check
from wellread.text.quoting import one_after_another, quoted
from wellread.text.sentences import sentences
from wellread.types import Passage

CODE = "```\n  listen-address [::1]:8118\n  forward / proxy[1].example:8000\n```"
MANUAL = Passage(
    "manual#0",
    f"To listen on the loopback device of an IPv6 machine, write:\n\n{CODE}\n\nSome systems prefer IPv6 to IPv4.\n\n"
    "```\n  toggle 1",
)
PASSAGES = {1: MANUAL}


def verdicts(answer: str) -> list[str]:
    return [sentence.verdict for sentence in check(answer, PASSAGES)]


def test_code_keeps_its_lines_and_other_words_stand_on_one() -> None:
    assert quoted("Some systems\nprefer IPv6.", "[1]") == "Some systems prefer IPv6. [1]"
    assert quoted(CODE, "[1]") == f"{CODE}\n[1]"
    assert quoted("```\n  toggle 1", "[1]") == "```\n  toggle 1\n```\n[1]", "a passage may end within its code"


def test_paragraphs_items_and_code_of_one_piece_stay_apart() -> None:
    told = f"Take\nthese:\n\n- a key,\n  which is in the hall\n  - its ring\n- a lamp\n\n{CODE}\nThen go on. It is late."
    assert quoted(told, "[1]") == (
        "Take these: [1]\n\n- a key, which is in the hall [1]\n  - its ring [1]\n- a lamp [1]\n\n"
        f"{CODE}\n[1]\n\nThen go on. It is late. [1]"
    )


def test_every_sentence_of_a_passage_is_carried_when_it_is_quoted() -> None:
    spans = sentences(MANUAL.text)
    assert [MANUAL.text[start:end] for start, end in spans][1] == CODE
    answer = one_after_another([quoted(MANUAL.text[start:end], "[1]") for start, end in reversed(spans)])
    judged = check(answer, PASSAGES)
    assert [sentence.verdict for sentence in judged] == ["carried"] * len(spans)
    assert all(citation.support == 1 for sentence in judged for citation in sentence.citations)
    assert "forward / proxy[1].example:8000" in judged[2].citations[0].quote


NUMBERED = (
    ("It sailed in 1950. [1]", "It sailed in 1950. [1]"),
    ("It sailed in 1950 [1, 2]. It\nsank [3] in 1951.[4] [5]", "It sailed in 1950 (1, 2). It sank (3) in 1951. [1]"),
    (
        "Give argv[1] or [[2]] to 【3】 and [0-9], or see `argv[1]`.",
        "Give argv(1) or ((2)) to (3) and [0-9], or see `argv[1]`. [1]",
    ),
    ("- Set port to p[1]", "- Set port to p(1) [1]"),
    ("It has " + "a small bell, [2] " * 60 + "and no clock.", "It has " + "a small bell, (2) " * 60 + "and no clock. [1]"),
)


@pytest.mark.parametrize(("page", "told"), NUMBERED)
def test_numbers_of_a_page_are_not_taken_for_citations_and_it_is_carried(page: str, told: str) -> None:
    assert quoted(page, "[1]") == told
    judged = check(told, {number: Passage(str(number), page) for number in range(1, 6)})
    assert [(one.number, one.support) for sentence in judged for one in sentence.citations] == [(1, 1.0)] * len(judged)
    assert {sentence.verdict for sentence in judged} == {"carried"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("``` listen-address [::1]:8118 ``` [1]\n\nIt is green. [1]", ["carried", "not carried"]),  # closed on its line
        ("``` listen-address [::1]:8118. Toggle ``` [1]", ["carried"]),
        ("```ini\nlisten-address [::1]:8118\n```\n[1]", ["carried"]),
        ("```ini\nlisten-address [::1]:9999\n```\n[1]", ["not carried"]),
        ("To listen on the loopback device: [1]\n\n~~~\nlisten-address [::1]:8118\n~~~", ["carried", "carried"]),
        ("To listen on the loopback device: [1]\n\n~~~\nlisten-address [::1]:9999\n~~~", ["carried", "not carried"]),
        ("```\nlisten-address [::1]:8118\n```", ["not carried"]),  # nothing cites it
        ("``` ```", ["carried"]),  # states nothing
    ],
)
def test_code_is_checked_as_what_it_says(answer: str, expected: list[str]) -> None:
    assert verdicts(answer) == expected


@pytest.mark.parametrize("answer", ["```" + " " * 60_000 + "x", "```a. B```. " * 10_000, "```\n" * 20_000])
@pytest.mark.no_cover
def test_the_time_grows_with_the_length(answer: str) -> None:
    begun = time.process_time()
    sentences(answer)
    assert time.process_time() - begun < 2
