"""Rows of a history that somebody else wrote: what is not as it should be is a run that failed, not a page that does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from wellread.errors import DamagedFile
from wellread.events import from_json
from wellread.server.record import COLUMNS, event_row, from_row, is_answer
from wellread.server.rendering import answer_html, markdown
from wellread.server.web.articles import article

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


def row(**columns: object) -> tuple[object, ...]:
    """A row of the table, with these columns in place of good ones."""
    said = json.dumps(ANSWER)
    good: dict[str, object] = dict(zip(COLUMNS.split(", "), ("id", "thread", None, "Who?", "quote", None, "[]"), strict=False))
    good |= {"state": "done", "created": 1.0, "finished": 2.0, "outcome": "answered", "answer": said, "turns": None, "via": None}
    return tuple({**good, **columns}.values())


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), -float("inf"), 1e308, 1e18, -1.0, 253_402_300_800, "soon"])
def test_a_moment_that_no_calendar_knows_is_none(moment: object) -> None:
    found = from_row(row(created=moment, finished=moment))
    assert (found.created, found.finished) == (0.0, None)
    assert found.answer is not None


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "1" + "0" * 400])
@pytest.mark.parametrize("name", ["seconds", "support"])
def test_a_number_that_json_cannot_hold_is_damage(name: str, number: str) -> None:
    said = re.sub(rf'"{name}": [0-9.]+', f'"{name}": {number}', json.dumps(ANSWER))
    assert number in said
    assert from_row(row(answer=said)).answer is None


@pytest.mark.parametrize("name", ["citations", "sentences", "nearest"])
def test_rows_of_an_answer_have_what_pages_look_for(name: str) -> None:
    found = from_row(row(answer=json.dumps({**ANSWER, name: [{}], "usage": None})))
    assert found.answer is not None
    assert markdown(found.answer)
    assert article(found, [], "http://x/")
    assert answer_html(found.answer)


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
    found = from_row(row(answer=json.dumps(damaged)))
    assert (found.state, found.answer) == ("failed", None)


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
