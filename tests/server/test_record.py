"""Rows of a history that somebody else wrote: what is not as it should be is a run that failed, not a page that does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wellread.errors import DamagedFile
from wellread.events import from_json
from wellread.server.record import event_row, from_row, is_answer

ANSWER: dict[str, Any] = {
    "question": "Who?",
    "answer": "He. [1]",
    "short": "He",
    "confidence": 0.8,
    "sure": "fairly",
    "outcome": "answered",
    "reason": None,
    "understood": None,
    "asks": None,
    "strategy": "quote",
    "model": None,
    "seconds": 1,
    "missing": [],
    "notes": ["one"],
    "tries": [],
    "usage": {"searches": 1},
    "sentences": [{"text": "He. [1]", "verdict": "carried", "supported": True, "inferred": False, "citations": [1]}],
    "citations": [{"number": 1, "title": "T", "url": None, "quote": "He", "start": 0, "end": 2, "page": None, "support": 0.9}],
    "nearest": [{"id": "1", "title": "T", "text": "He", "start": 0, "end": 2}],
}
ODD: list[object] = [1e308, "x", {"a": 1}, [1]]
NO_TEXT: list[object] = [1, [1], {"a": 1}, True]
NO_NUMBER: list[object] = ["x", [[]], {"a": 1}]
DAMAGES: list[tuple[tuple[str | int, ...], object]] = [
    *(((name,), value) for name in ("notes", "tries", "missing", "sentences", "citations", "nearest") for value in ODD),
    *(((name,), value) for name in ("answer", "short", "reason", "model", "sure") for value in NO_TEXT),
    *(((name,), "x") for name in ("confidence", "seconds", "usage")),
    *((("citations", 0, name), value) for name in ("number", "start", "end", "page", "support") for value in NO_NUMBER),
    *((("citations", 0, name), value) for name in ("title", "url", "quote", "place") for value in NO_TEXT),
    *((("sentences", 0, "citations"), value) for value in NO_NUMBER),
]


def test_an_answer_is_an_answer() -> None:
    assert is_answer(ANSWER)
    assert is_answer({"outcome": "answered", "answer": "He."})  # as it was kept before there was more to say


@pytest.mark.parametrize(("place", "value"), DAMAGES)
def test_a_damaged_answer_is_none(place: tuple[str | int, ...], value: object) -> None:
    damaged = json.loads(json.dumps(ANSWER))
    inner = damaged
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert not is_answer(damaged)
    row = ("id", "thread", None, "Who?", "quote", None, "[]", "done", 1.0, 2.0, "answered", json.dumps(damaged), None, None)
    assert (from_row(row).state, from_row(row).answer) == ("failed", None)


@pytest.mark.parametrize(
    "event",
    [
        {"event": "numbered", "number": {}, "passage": {"id": "1", "text": "x"}},
        {"event": "numbered", "number": 1, "passage": None},
        {"event": "numbered", "number": 1, "passage": {"id": "1", "text": ["x"]}},
        {"event": "searching", "query": {"a": 1}},
        {"event": "searching", "query": "x", "at": 10**400},
    ],
)
def test_an_event_that_says_something_else_is_damaged(event: dict[str, Any]) -> None:
    with pytest.raises(DamagedFile):
        from_json(event)


def test_an_event_without_a_number_is_read() -> None:
    assert event_row(("abc", '{"event": "started"}')) == (0, '{"event": "started"}')
    assert event_row((7, "no")) == (7, '{"event": "damaged"}')
