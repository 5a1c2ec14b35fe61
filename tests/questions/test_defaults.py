"""Defaults: who asks for one, who tells one, and where an entry begins."""

from __future__ import annotations

import pytest

from wellread.questions.kinds import asks_default, begins_entry, default_alone


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("Default: 21", "21"),
        ("(default: 300 seconds)", "300 seconds"),
        ("Default: 0 (unlimited)", "0 (unlimited)"),
        ('Default is "strict", which requires full validation.', "strict"),
        ("Defaults to /etc/ftpd.conf.", "/etc/ftpd.conf"),
        ("Default value is: 5", "5"),
        ("The default depends on the system.", None),
        ("Default behaviour of the tool.", None),
        ("(default behaviour)", None),
        ("Defaults tolerated", None),
        ("Nothing is set.", None),
    ],
)
def test_a_default_that_stands_alone(sentence: str, value: str | None) -> None:
    assert default_alone(sentence) == value


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Which port does lampd use by default?", True),
        ("What is the default port?", True),
        ("How many lamps burn by default?", True),
        ("How do I change the default lamp?", False),
        ("Why is there no default lamp?", False),
        ("Which port does lampd use?", False),
    ],
)
def test_some_questions_ask_for_a_default(question: str, asks: bool) -> None:
    assert asks_default(question) is asks


def test_a_label_begins_a_line() -> None:
    text = "lamps: How many burn. Note: each needs a wire.\n  - bell: It rings."
    assert [begins_entry(text, text.index(word)) for word in ("lamps", "Note", "bell", "It")] == [True, False, True, False]
