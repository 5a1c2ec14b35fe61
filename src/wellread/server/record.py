"""One run as the history keeps it, and how it is read from a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from wellread.answer_json import AnswerJson
from wellread.codec import Json, decode, encode, loads
from wellread.core.unicode_safety import Encodable
from wellread.errors import DamagedFile
from wellread.parameters import PublicSpec, public
from wellread.types import Usage

State = Literal["running", "done", "failed", "stopped", "interrupted"]

COLUMNS = "id, thread, parent, question, strategy, model, sources, state, created, finished, outcome, answer, turns, via"
_JSON = ("sources", "answer", "turns")


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
    answer: Json | None = None
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
    """A row of the table. Nobody but its owner writes the file: one that is damaged is to be restored, not guessed at."""
    said = dict(zip(COLUMNS.split(", "), row, strict=True))
    try:
        read = {name: loads(object, str(said[name])) for name in _JSON if said[name] is not None}
        record = decode(Record, {**said, "turns": (), **read})
        answer = completed(record.answer) if record.answer else None
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged at run {said['id']}: restore it from a copy ({problem})") from None
    model = public(record.model) if record.model else None  # it was kept with its password once
    return replace(record, model=model, sources=tuple(map(public, record.sources)), answer=answer)


def event_row(row: tuple[object, ...]) -> tuple[int, str]:
    """The number and the JSON of an event."""
    try:
        return decode(tuple[int, str], row)
    except ValueError as problem:
        raise DamagedFile(f"the history is damaged: restore it from a copy ({problem})") from None


def completed(answer: Json) -> Json:
    """An answer with all that its readers look for, also where it was kept before there was such a thing."""
    said = decode(AnswerJson, answer)
    return encode(replace(said, model=said.model and public(said.model), usage=said.usage or Usage()))
