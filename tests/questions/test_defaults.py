"""Defaults: who asks for one, who tells one, and to whom a line "Default: 21" belongs."""

from __future__ import annotations

import pytest

from wellread.questions.defaults import asks_default, begins_entry, default_alone, is_meant

MANUAL = """lampd runs in the background.

--wire <file>: Where the socket of lampd is. Default value: /run/lampd.wire

--settings <file>: Read this configuration file.

--lamps <number>: How many lamps lampd can keep burning at once. Note: each needs a wire. Default value: 40

listen_port: The port for lamps that report. It must be free.

Default: 21

report_port: The port for lamps that report over a radio.

Default: 22

The configuration file is read after lampd has changed its root.

--root <folder>

Where the root is. Default value: /srv/lampd
"""


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


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Where is the socket of lampd by default?", "/run/lampd.wire"),
        ("How many lamps can lampd keep burning by default?", "40"),
        ("Which port is for lamps that report over a radio by default?", "22"),
        ("What is the default listen_port?", "21"),
        ("What is the default root of lampd?", "/srv/lampd"),
        ("Which file is the default configuration of lampd?", None),  # the entry that speaks of it has none
        ("What is the default configuration file of lampd?", None),
        ("Who owns the box by default?", None),
        ("How loud does the bell of lampd ring by default?", None),
    ],
)
def test_a_line_tells_the_default_of_the_entry_above_it(question: str, value: str | None) -> None:
    places = [
        MANUAL.index(line)
        for line in ("Default value: /run", "Default value: 40", "Default: 21", "Default: 22", "Default value: /srv")
    ]
    meant = [at for at in places if is_meant(question, "lampd(8)", MANUAL, at)]
    told = [default_alone(MANUAL[at:].splitlines()[0]) for at in meant]
    assert told == ([value] if value else [])


def test_a_place_without_a_default_tells_none() -> None:
    assert not is_meant("What does lampd run in by default?", "lampd(8)", MANUAL, 0)


def test_a_label_begins_a_line() -> None:
    text = "lamps: How many burn. Note: each needs a wire.\n  - bell: It rings."
    assert [begins_entry(text, text.index(word)) for word in ("lamps", "Note", "bell", "It")] == [True, False, True, False]
