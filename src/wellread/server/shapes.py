"""Response models of the HTTP API, as FastAPI documents them (OpenAPI)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from wellread.core.codec import encode
from wellread.server.history import Record
from wellread.server.menu import AskRequest
from wellread.server.viewer import linked

RUN_ID = r"^[A-Za-z0-9_-]{12}$"


@dataclass(frozen=True, slots=True)
class RunRequest(AskRequest):
    """A question to be worked on whether anyone listens or not."""

    parent: Annotated[str | None, Field(pattern=RUN_ID, description="The run that this one follows up on.")] = None
    resume: Annotated[
        str | None, Field(pattern=RUN_ID, description="A report of the same question that was stopped, to go on with.")
    ] = None


class Started(BaseModel):
    """Where to find the run that was begun."""

    id: str = Field(examples=["q3J0vXo2mA9k"])
    page: str = Field(examples=["/r/q3J0vXo2mA9k"])
    events: str = Field(examples=["/api/runs/q3J0vXo2mA9k/events"])


class Summary(BaseModel):
    """A run in a list."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    thread: str
    parent: str | None
    question: str
    strategy: str
    model: str | None
    sources: list[str]
    state: str = Field(description="running, done, failed, stopped or interrupted")
    created: float = Field(description="seconds since 1970")
    finished: float | None
    outcome: str | None = Field(description="answered, partial, unsure, exhausted or failed")
    via: str | None = Field(description="api, openai or mcp where it did not come from the page or /api/runs")
    short: str | None = Field(description="the answer in a few words, where there are some")
    preview: str = Field(description="the answer's first words")


class Run(Summary):
    """A run with its answer, in the shape of `wellread ask --json`."""

    answer: dict[str, object] | None
    html: str = Field(description="the answer as safe HTML")


class RunList(BaseModel):
    runs: list[Summary]


class SearchHit(BaseModel):
    id: str
    title: str
    url: str | None
    text: str | None
    snippet: str
    published: str | None
    score: float
    source: str
    document: str | None = Field(None, description="the document that it is a passage of")
    heading: str = Field("", description="the headings above it, outermost first")
    page: int | None = Field(None, description="of a PDF, counted from 1")
    anchor: str = Field("", description="the id nearest before it on an HTML page")
    place: str = Field(description="where it stands, in words")
    reference: dict[str, object] | None = Field(None, description="the work that it is from: title, authors, year, venue, doi …")
    view: str | None = Field(None, description="where this server shows its document at that place; null where it cannot")


class FoundDocument(BaseModel):
    """A document with the passages of it that were found."""

    title: str
    url: str | None
    source: str
    document: str | None
    score: float
    hits: list[str] = Field(description="ids of its hits, best first")


class SearchResult(BaseModel):
    query: str
    hits: list[SearchHit]
    documents: list[FoundDocument] = Field(description="the same by document")


class Choice(BaseModel):
    name: str
    summary: str = ""
    usable: bool = True


class MenuCard(BaseModel):
    """Strategies, sources and models to choose from; the first of each is the default."""

    strategies: list[Choice]
    sources: list[Choice]
    models: list[Choice]


def whole(record: Record, html: str, base: str | None) -> Run:
    return Run(**exported(record, base), html=html)


def exported(record: Record, base: str | None) -> dict[str, Any]:
    """A run with its answer for a reader elsewhere."""
    answer = encode(linked(record.answer, base)) if record.answer else None
    return {**Summary.model_validate(record).model_dump(), "answer": answer}


def refusals(*statuses: int, error: dict[str, Any] | None = None) -> dict[int | str, Any]:
    """How errors are documented; written out because streaming routes would give them the stream's type."""
    schema = {"type": "object", "required": ["error"], "properties": {"error": error or {"type": "string"}}}
    content = {"application/json": {"schema": schema}}
    return {status: {"description": _REFUSALS[status], "content": content} for status in statuses}


_REFUSALS = {
    400: "The request makes no sense.",
    404: "There is no such run.",
    413: "The request is too large.",
    422: "The request has not the right form.",
    429: "Too many runs; `Retry-After` says when to come back.",
    502: "A search service or a language model failed.",
    503: "The server is stopping, or cannot write.",
}
