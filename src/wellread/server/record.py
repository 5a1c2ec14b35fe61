"""One run as the history keeps it, and how it is read from a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from wellread.answer_json import AnswerJson
from wellread.codec import decode, loads
from wellread.core.unicode_safety import Encodable
from wellread.errors import DamagedFile
from wellread.parameters import PublicSpec, public

State = Literal["running", "done", "failed", "stopped", "interrupted"]

COLUMNS = "id, thread, parent, question, strategy, model, sources, state, created, finished, outcome, answer, turns, via"
_JSON = ("sources", "answer", "turns")


@dataclass(frozen=True, slots=True)
class Record(Encodable):
    """One run as the history keeps it. `answer` is what `ask --json` prints, None before the end."""

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
    answer: AnswerJson | None = None
    turns: tuple[tuple[str, str], ...] = ()  # that a client told with the question: said before, and not here
    via: str | None = None  # the door it came in by, where that was not the page: api, openai, mcp

    @property
    def told(self) -> str:
        """What was said, for a later question to refer to."""
        return self.answer.told if self.answer else ""

    @property
    def short(self) -> str | None:
        """The answer in a few words."""
        return self.answer.short if self.answer else None

    @property
    def text(self) -> str:
        return self.answer.answer if self.answer else ""


def from_row(row: tuple[object, ...]) -> Record:
    """A row of the table. Nobody but its owner writes the file: one that is damaged is to be restored, not guessed at."""
    said = dict(zip(COLUMNS.split(", "), row, strict=True))
    try:
        read = {name: loads(object, str(said[name])) for name in _JSON if said[name] is not None}
        record = decode(Record, {**said, "turns": (), **read})
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged at run {said['id']}: restore it from a copy ({problem})") from None
    model = public(record.model) if record.model else None  # it was kept with its password once
    return replace(
        record, model=model, sources=tuple(map(public, record.sources)), answer=record.answer and completed(record.answer)
    )


def event_row(row: tuple[object, ...]) -> tuple[int, str]:
    """The number and the JSON of an event."""
    try:
        return decode(tuple[int, str], row)
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged: restore it from a copy ({problem})") from None


def completed(answer: AnswerJson) -> AnswerJson:
    """Without a password that was kept with its model once."""
    return replace(answer, model=answer.model and public(answer.model))
