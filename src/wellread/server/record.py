"""One run as the history keeps it, and how it is read from a row that may be damaged."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from wellread.encodable import Encodable
from wellread.parameters import PublicSpec, public
from wellread.types import Outcome

State = Literal["running", "done", "failed", "stopped", "interrupted"]

COLUMNS = "id, thread, parent, question, strategy, model, sources, state, created, finished, outcome, answer, turns, via"
_STATES = get_args(State)
_OUTCOMES = get_args(Outcome)
_ROWS, _LINES = ("sentences", "citations", "nearest"), ("missing", "notes", "tries")  # lists of an answer: of rows, of texts
_TEXTS = ("question", "answer", "short", "sure", "reason", "understood", "asks", "strategy", "model")
_ROW_TEXTS = ("text", "verdict", "title", "url", "source", "document", "heading", "anchor", "place", "quote", "id")
_COUNTS = {"input_tokens": 0, "output_tokens": 0}
_PLACE: dict[str, Any] = {"title": "", "source": "", "url": None, "start": 0, "end": 0}
_WITHOUT: dict[str, dict[str, Any]] = {  # what stands in a row for what was not kept
    "sentences": {"text": "", "supported": False, "citations": []},
    "citations": {**_PLACE, "number": 0, "quote": "", "support": 0.0},
    "nearest": {**_PLACE, "text": ""},
}
_LAST_MOMENT = 253_402_300_800  # seconds: the year 10000, which calendars do not know
_DAMAGED = object()  # a column that is no JSON
DAMAGED_EVENT = '{"event": "damaged"}'  # in place of what an event said


@dataclass(frozen=True, slots=True)
class Record(Encodable):
    """One run as the history keeps it. `answer` is the JSON of `ask --json`, None before the end."""

    id: str
    thread: str
    parent: str | None
    question: str
    strategy: str
    model: PublicSpec | None
    sources: tuple[PublicSpec, ...]
    state: State
    created: float
    finished: float | None = None
    outcome: str | None = None
    answer: dict[str, object] | None = None
    turns: tuple[tuple[str, str], ...] = ()  # that a client told with the question: said before, and not here
    via: str | None = None  # the door it came in by, where that was not the page: api, openai, mcp

    @property
    def told(self) -> str:
        """What was said, for a later question to refer to; see `Answer.told`."""
        said = self.answer or {}
        return "\n\n".join(str(part) for part in (said.get("short"), said.get("answer")) if part) or str(said.get("asks") or "")

    @property
    def short(self) -> str | None:
        """The answer in a few words."""
        return str(found) if (found := (self.answer or {}).get("short")) else None

    @property
    def text(self) -> str:
        return str((self.answer or {}).get("answer") or "")


def from_row(row: tuple[object, ...]) -> Record:
    """A row as it can be read: where a column is damaged the run has failed, and the others are still shown."""
    values = list(row)
    values[6] = _sources(_json(values[6]))
    values[12] = _turns(_json(values[12]))
    answer = _json(values[11])
    whole = answer is None or is_answer(answer)
    values[11] = completed(answer) if answer and whole else None
    values[9] = values[9] if _is_moment(values[9]) else None
    values[8] = values[8] if _is_moment(values[8]) else 0.0
    if not whole or values[7] not in _STATES:
        values[7] = "failed"
    for place in (0, 1, 2, 3, 4, 5, 10, 13):
        values[place] = values[place] if values[place] is None else str(values[place])
    values[5] = values[5] and public(str(values[5]))  # it was kept with its password once
    return Record(*values)  # pyright: ignore[reportArgumentType]


def event_row(row: tuple[object, ...]) -> tuple[int, str]:
    """The number and the JSON of an event; where that is damaged, of one that says nothing."""
    found = _json(row[1])
    whole = isinstance(found, dict) and isinstance(cast("dict[str, Any]", found).get("event"), str)
    return int(row[0]) if isinstance(row[0], int | float) else 0, str(row[1]) if whole else DAMAGED_EVENT


def _json(column: object) -> Any:
    if column is None:
        return None
    try:
        return json.loads(column if isinstance(column, str) else "[", parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        return _DAMAGED


def _finite(said: str) -> float:
    """JSON knows no others, and what makes it for clients refuses to write them."""
    if not math.isfinite(number := float(said)):
        raise ValueError(said)
    return number


def _is_moment(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _LAST_MOMENT


def _sources(found: Any) -> tuple[PublicSpec, ...]:
    return tuple(public(str(one)) for one in cast("list[object]", found)) if isinstance(found, list) else ()


def _turns(found: Any) -> tuple[tuple[str, str], ...]:
    turns = cast("list[object]", found) if isinstance(found, list) else []
    pairs = [cast("list[object]", turn) for turn in turns if isinstance(turn, list)]
    return tuple((str(turn[0]), str(turn[1])) for turn in pairs if len(turn) == 2)


def is_answer(found: Any) -> bool:
    """Whether it has what every reader of an answer takes for granted."""
    if not isinstance(found, dict) or cast("dict[str, Any]", found).get("outcome") not in _OUTCOMES:
        return False
    answer = cast("dict[str, Any]", found)
    return (
        _are_told(answer, _TEXTS, str)
        and _are_told(answer, ("confidence", "seconds"), int | float)
        and _are_told(answer, ("usage",), dict)
        and _are_told(usage := cast("dict[str, Any]", answer.get("usage") or {}), list(usage), int | float)
        and _are_told(answer, (*_ROWS, *_LINES), list)
        and all(isinstance(line, str) for name in _LINES for line in _list(answer, name))
        and all(isinstance(row, dict) and _is_row(cast("dict[str, Any]", row)) for name in _ROWS for row in _list(answer, name))
    )


def completed(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with all that its readers look for, also where it was kept before there was such a thing."""
    if answer.get("model"):
        answer = {**answer, "model": public(answer["model"])}
    rows = {name: [_filled(row, _WITHOUT[name]) for row in _list(answer, name)] for name in _ROWS}
    return {**answer, **rows, "answer": answer.get("answer") or "", "usage": _filled(answer.get("usage") or {}, _COUNTS)}


def _filled(said: dict[str, Any], without: dict[str, Any]) -> dict[str, Any]:
    return {**said, **{name: value for name, value in without.items() if said.get(name) is None}}


def _is_row(row: dict[str, Any]) -> bool:
    return (
        _are_told(row, _ROW_TEXTS, str)
        and _are_told(row, ("number", "page", "start", "end"), int)
        and _are_told(row, ("support",), int | float)
        and _are_told(row, ("citations",), list)
        and all(isinstance(number, int) for number in _list(row, "citations"))
    )


def _are_told(said: dict[str, Any], names: Sequence[str], kind: Any) -> bool:
    return all(said.get(name) is None or (isinstance(said[name], kind) and _is_small(said[name])) for name in names)


def _is_small(value: object) -> bool:
    """An integer of JSON may have thousands of digits, which no other number can hold."""
    return not isinstance(value, int) or abs(value) < 1 << 53


def _list(said: dict[str, Any], name: str) -> list[Any]:
    return cast("list[Any]", said.get(name) or [])
