"""Which entry of a list of options a question means."""

from __future__ import annotations

import time

import pytest

from wellread.questions.defaults import begins_entry, nearer_label

SCRIPTS = """The daemon runs scripts:

- host-up: This script is started when any host becomes reachable.
- host-down: This script is started when any host becomes unreachable.
- subnet-up: This script is started when a subnet becomes reachable."""


def label(question: str, phrase: str, text: str = SCRIPTS) -> str | None:
    start = text.index(phrase)
    found = nearer_label(question, text, start, start + len(phrase))
    return text[slice(*found)] if found else None


@pytest.mark.parametrize(
    ("question", "phrase", "meant"),
    [
        ("Which script is started when any host becomes unreachable?", "host-up", "host-down"),
        ("Which script is started when a subnet becomes reachable?", "host-down", "subnet-up"),
        ("Which script is started when any host becomes reachable?", "host-up", None),
        ("Which scripts does the daemon run?", "host-up", None),  # none says more than another
        ("Which script is started when any host becomes unreachable?", "This script", None),  # no label
    ],
)
def test_the_entry_that_says_more_of_the_question(question: str, phrase: str, meant: str | None) -> None:
    assert label(question, phrase) == meant


def test_of_two_the_one_that_says_it_in_the_same_words() -> None:
    rows = [
        "x: runs when the one host gets unreachable",
        "up: runs when any host is reachable",
        "down: runs when any host is unreachable",
    ]
    text = "\n".join(rows)
    assert label("What runs when any host is unreachable?", "up", text) == "down"


def test_two_that_say_as_much_leave_it_as_it_is() -> None:
    text = "-a: show files\n-b: show hidden files\n-c: show hidden files and folders"
    assert label("Which option shows hidden files?", "-a", text) is None
    assert label("Which option shows hidden folders?", "-a", text) == "-c"


@pytest.mark.parametrize("text", ["a: " * 200_000, "a:\n" * 200_000, " " * 500_000 + "a: b", "- " * 300_000])
def test_long_passages_take_no_time(text: str) -> None:
    begun = time.thread_time()
    nearer_label("Which option is a b?", text, 0, 1)
    assert time.thread_time() - begun < 0.5


def test_a_label_begins_a_line() -> None:
    text = "lamps: How many burn. Note: each needs a wire.\n  - bell: It rings."
    assert [begins_entry(text, text.index(word)) for word in ("lamps", "Note", "bell", "It")] == [True, False, True, False]
