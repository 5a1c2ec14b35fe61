"""What goes over the wire, as FastAPI documents it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from wellread.core.codec import encode
from wellread.core.effort import Effort
from wellread.server.history import Record
from wellread.server.menu import ClientRequest
from wellread.server.viewer import linked

Limit = Annotated[float | None, Field(default=None, ge=0, allow_inf_nan=False)]
RUN_ID = r"^[A-Za-z0-9_-]{12}$"


class AskRequest(BaseModel):
    """A question, and optionally how to answer it. Limits can lower the server's own, never raise them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"question": "Who invented the telescope?"},
                {"question": "Which planet has the most moons?", "strategy": "quote", "sources": ["library"], "max_seconds": 20},
            ]
        },
    )

    question: str = Field(min_length=1, max_length=20_000, description="What you want to know.")
    strategy: str | None = Field(None, max_length=100, description="How to answer; see /api/menu.")
    sources: list[Annotated[str, Field(max_length=500)]] = Field(
        default_factory=list, max_length=8, description="What to search; see /api/menu."
    )
    fallback: str | None = Field(
        None, max_length=500, description="Where corrective looks when its sources are not enough; one of the menu's sources."
    )
    model: str | None = Field(None, max_length=500, description="Language model; see /api/menu.")
    params: dict[Annotated[str, Field(max_length=100)], str | int | float | bool | None] = Field(
        default_factory=dict, max_length=50, description="Parameters of the strategy; see /api/plugins. null: none."
    )
    effort: Effort | None = Field(None, description="How thorough: low, normal or high, as far as the operator lets it.")
    max_searches: int | None = Field(None, ge=0, le=1_000_000)
    max_tokens: int | None = Field(None, ge=0, le=1_000_000_000)
    max_seconds: Limit = None
    max_cost: Limit = None

    def wish(self, history: tuple[tuple[str, str], ...] = ()) -> ClientRequest:
        return ClientRequest(
            question=self.question,
            strategy=self.strategy or None,
            sources=tuple(self.sources),
            fallback=self.fallback or None,
            model=self.model or None,
            params=self.params,
            history=history,
            effort=self.effort,
            limits={name: getattr(self, name) for name in ("max_searches", "max_tokens", "max_seconds", "max_cost")},
        )


class RunRequest(AskRequest):
    """A question to be worked on whether anyone listens or not."""

    parent: str | None = Field(None, pattern=RUN_ID, description="The run that this one follows up on.")
    resume: str | None = Field(None, pattern=RUN_ID, description="A report of the same question that was stopped, to go on with.")

    def wish(self, history: tuple[tuple[str, str], ...] = ()) -> ClientRequest:
        return replace(super().wish(history), resume=self.resume)


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
    """What a request can choose from; the first of each is the default."""

    strategies: list[Choice]
    sources: list[Choice]
    models: list[Choice]


def summary(record: Record) -> Summary:
    return Summary.model_validate(record)


def whole(record: Record, html: str, base: str | None) -> Run:
    return Run(**exported(record, base), html=html)


def exported(record: Record, base: str | None) -> dict[str, Any]:
    """A run with its answer for a reader elsewhere."""
    answer = encode(linked(record.answer, base)) if record.answer else None
    return {**summary(record).model_dump(), "answer": answer}


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
