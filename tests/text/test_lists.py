"""Sentences that a list or a piece of code goes on with."""

from __future__ import annotations

import pytest

from wellread.text.quoting import leans_back, surrounded, with_context, with_what_follows, with_what_it_names

STEPS = "To restart it, do this:\n\n1. Stop the server.\n2. Start it again.\n\nThat is all there is."
BULLETS = "You need:\n- a key,\n  which is in the hall\n- a lamp\nThen go on."
HOOKS = "It has two hooks:\n\ninit: called at the start\n\nclean  up: called at the end\n\nThere are no more, we promise."
CODE = "Run this command:\n\n```\nmake clean\nmake all\n```\n\nIt takes a minute."


@pytest.mark.parametrize(
    ("text", "first", "whole"),
    [
        (STEPS, "To restart it, do this:", "To restart it, do this:\n\n1. Stop the server.\n2. Start it again."),
        (BULLETS, "You need:", "You need:\n- a key,\n  which is in the hall\n- a lamp"),
        (CODE, "Run this command:", "Run this command:\n\n```\nmake clean\nmake all\n```"),
        (STEPS, "That is all there is.", STEPS),
        (HOOKS, "It has two hooks:", "It has two hooks:\n\ninit: called at the start\n\nclean  up: called at the end"),
        (HOOKS, "It has two hooks:\n\ninit: called at the start", HOOKS.rpartition("\n\n")[0]),  # told with its first entry alone
        (BULLETS, "You need:\n- a key,\n  which is in the hall\n- a lamp\nThen go on.", BULLETS),
        ("It says: yes. No more.", "It says: yes.", "It says: yes."),
        ("What it is:\n\nA thing.", "What it is:", "What it is:"),
    ],
)
def test_what_a_colon_leads_to_belongs_to_it(text: str, first: str, whole: str) -> None:
    assert text[: with_what_follows(text, text.index(first), text.index(first) + len(first))] == whole


def test_a_list_without_end_is_cut() -> None:
    text = "All of them:\n" + "".join(f"- item {number}\n" for number in range(500))
    end = with_what_follows(text, 0, len("All of them:"))
    assert 0 < end <= len("All of them:") + 900
    assert text[:end].rsplit("\n", 1)[1].startswith("- item ")


@pytest.mark.parametrize(
    ("text", "label", "whole"),
    [
        ("cleanup\n\nCalled when it ends. No more.", "cleanup", "cleanup\n\nCalled when it ends."),
        ("It is so:\n\ncolor=red\n\nNo more.", "color=red", "It is so:\n\ncolor=red"),
        ("Sit down.\n\nNote", "Note", "Note"),
        ("Sit down with care now.\n\nNote it.", "Sit down with care now.", "Sit down with care now."),
    ],
)
def test_a_label_is_told_with_what_it_names(text: str, label: str, whole: str) -> None:
    start = text.index(label)
    start, end = with_what_it_names(text, start, start + len(label))
    assert text[start:end] == whole


def test_what_is_told_comes_with_what_belongs_to_it() -> None:
    listed = "Keys.\n\n- Press Ctrl+Y to redo.\n- Press F9 to start again.\n- Press F1 for help.\n\nEnd."
    prose = "Switch it off. Then wipe the glass. The reason is that soap leaves streaks.\n\nAnother matter."
    table = "Fees:\n\n| Who | A year |\n| Friend | 30 |\n| Junior | 95 |"
    long = "One stands before. " + "This is told. " + "One stands behind. " + "And much more follows it. " * 30
    for text, told, wanted in (
        (listed, "Press F9 to start again.", "- Press Ctrl+Y to redo.\n- Press F9 to start again.\n- Press F1 for help."),
        (prose, "Then wipe the glass.", "Switch it off. Then wipe the glass. The reason is that soap leaves streaks."),
        (table, "| Friend | 30 |", "| Who | A year |\n| Friend | 30 |\n| Junior | 95 |"),
        ("## Fees\n\n- A boat costs 9.\n- An oar costs 2.", "A boat costs 9.", "- A boat costs 9.\n- An oar costs 2."),
        (long, "This is told.", "One stands before. This is told. One stands behind."),
    ):
        start = text.index(told)
        a, b = with_context(text, start, start + len(told))
        assert text[a:b] == wanted


def test_what_comes_near_is_shown_with_two_sentences_behind_it_for_each_before() -> None:
    filler = " ".join(f"Sentence {n} of this text says nothing at all." for n in range(20))
    text = f"A title\n\n{filler} This is a sentence which leads to it at last. Press F9. Then wait. {filler}\n\n- And more"
    start = text.index("Press F9.")
    a, b = surrounded(text, start, start + len("Press F9."), 450)
    assert text[a:b].startswith("Sentence 18 of this text says nothing at all. Sentence 19 ")
    assert "at last. Press F9. Then wait. Sentence 0 " in text[a:b]
    assert text[a:b].endswith("at all.")
    assert 390 < b - a <= 450
    a, b = surrounded(text, start, start + len("Press F9."), 4_000)
    assert text[a:b] == text.removeprefix("A title\n\n")
    end = len(text.partition(" Then wait.")[0])
    a, b = surrounded(text[:end], start, end, 450)
    assert text[a:b].endswith("nothing at all. This is a sentence which leads to it at last. Press F9.")
    assert surrounded("Alone.", 0, 6, 450) == (0, 6)


def test_a_sentence_that_leans_on_the_one_before_it() -> None:
    assert leans_back("This process is called deskewing.")
    assert leans_back("It does.")
    assert not leans_back("Deskewing is a process.")
    assert not leans_back(" ")
