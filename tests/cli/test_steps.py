"""What of a run stays readable on stderr: steps where they are wanted, sources that failed in any case."""

from __future__ import annotations

import pytest

from wellread import events
from wellread.cli import show
from wellread.types import Answer

RUN = [
    events.Thought("thought", "I should look up England, and then its neighbours, one after the other."),
    events.Decided("correct", "the best passage scores 0.90"),
    events.Searched("England", (), failures=("newsapi: apiKeyInvalid: your key is wrong (HTTP 401)",)),
    events.Searched("Wales", (), failures=("newsapi: apiKeyInvalid: your key is wrong (HTTP 401)",)),
]


def left(capsys: pytest.CaptureFixture[str], strategy: str, steps: bool | None) -> str:
    with show.display(steps=steps) as display:
        display.event(events.Started("What is England?", strategy, "m", ("library",)))
        for event in RUN:
            display.event(event)
        display.event(events.Answered(Answer("What is England?", "A country.", "answered", strategy)))
    return capsys.readouterr().err


def test_steps_stay_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    said = left(capsys, "fanout", True)
    assert "thought: I should look up England, and then its neighbours, one after the other." in said
    assert "the best passage scores 0.90" in said


def test_the_query_of_a_second_step_is_one_line() -> None:
    query = "Where was the author born?\n\nHamlet " + "is a tragedy " * 40
    (line,) = show.Steps(wanted=True).lines(events.Searched(query, ()))
    assert line.startswith("searched: Where was the author born? Hamlet is a tragedy")
    assert len(line) < 200
    assert "\n" not in line


def test_in_a_pipe_they_do_not_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert "thought" not in left(capsys, "react", None)
    assert "thought" not in left(capsys, "react", False)


def test_on_a_terminal_they_do_for_react_and_corrective(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for strategy, kept in (("react", True), ("corrective", True), ("fanout", False)):
        steps = show.Steps()
        steps.lines(events.Started("?", strategy, "m", ("library",)))
        assert bool(steps.lines(RUN[0])) is kept


def test_a_source_that_failed_is_named_once_with_its_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    said = left(capsys, "fanout", None)
    assert said.count("could not be searched: newsapi: apiKeyInvalid: your key is wrong (HTTP 401)") == 1
