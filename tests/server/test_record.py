"""Rows of a history: what an older version kept is read, what is damaged is said to be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wellread.errors import DamagedFile
from wellread.events import from_json
from wellread.present.html import answer_html
from wellread.present.markdown import markdown
from wellread.server.history import COLUMNS, event_row, from_row
from wellread.server.web.articles import article

ANSWER: dict[str, Any] = {"outcome": "answered", "answer": "He. [1]"}  # as it was kept before there was more to say


def row(**columns: object) -> tuple[object, ...]:
    """A row of the table, with these columns in place of good ones."""
    good: dict[str, object] = dict(zip(COLUMNS.split(", "), ("id", "thread", None, "Who?", "quote", None, "[]"), strict=False))
    good |= {"state": "done", "created": 1.0, "finished": 2.0, "outcome": "answered", "answer": json.dumps(ANSWER)}
    return tuple({**good, "turns": None, "via": None, **columns}.values())


@pytest.mark.parametrize("more", [{}, {"citations": [{}]}, {"sentences": [{}]}, {"nearest": [{}], "usage": None}])
def test_rows_of_an_answer_have_what_pages_look_for(more: dict[str, Any]) -> None:
    found = from_row(row(answer=json.dumps({**ANSWER, **more})))
    assert found.answer is not None
    assert markdown(found.answer)
    assert article(found, [], "http://x/")
    assert answer_html(found.answer)


@pytest.mark.parametrize(
    "column",
    [
        *({"answer": said} for said in ("{", "7", '{"citations": [7]}', '{"seconds": NaN}', "[" * 100_000)),
        *({"sources": b"\xff"}, {"turns": '[["a"]]'}, {"created": "soon"}, {"state": "odd"}, {"question": None}),
    ],
)
def test_a_damaged_row_is_said_to_be_damaged(column: dict[str, object]) -> None:
    with pytest.raises(DamagedFile, match="at run id: restore it"):
        from_row(row(**column))
    with pytest.raises(DamagedFile, match="restore it"):
        event_row(("abc", "{}"))


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
