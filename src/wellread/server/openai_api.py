"""The endpoint that tools already speak: `/v1/chat/completions` and `/v1/models`. Models are strategies.

`wellread` is the default recipe, `wellread/iterative` a named one. The last user message is the question,
what comes before is the conversation. System messages, temperature, tools and the like have no meaning
here and are left aside. Citations come as `url_citation` annotations, which point at the `[n]` in the text,
and as a list of sources in Markdown at the end of the text.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wellread import events
from wellread.errors import UsageError, WellreadError
from wellread.server import service, shapes
from wellread.server.api import client
from wellread.server.asking import Asked, Wish
from wellread.server.limits import Ticket
from wellread.server.rendering import source_lines
from wellread.server.service import Service
from wellread.server.sse import EventStream
from wellread.types import Answer, Usage

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_PREFIX = "wellread"
_DOCUMENTED: dict[int | str, Any] = {
    200: {"description": "A completion, or chunks of one.", "content": {"application/json": {}, "text/event-stream": {}}},
    **shapes.refusals(400, 422, 429, 502, 503, error={"type": "object", "required": ["message", "type"]}),
}


class Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str = "text"
    text: str = Field("", max_length=100_000)


class ChatMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def words(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type in ("text", "input_text"))


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class ChatRequest(BaseModel):
    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"model": "wellread", "messages": [{"role": "user", "content": "Who invented the telescope?"}]}]
        },
    )
    model: str = Field(_PREFIX, max_length=200)
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=500)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None

    def wish(self) -> Wish:
        """The last user message, and what was said before it."""
        if self.n not in (None, 1):
            raise UsageError("n must be 1: there is one answer")
        spoken = [message for message in self.messages if message.role in ("user", "assistant") and message.words.strip()]
        if not spoken or spoken[-1].role != "user":
            raise UsageError("the last message must be a question from the user")
        turns: list[tuple[str, str]] = []
        for first, second in pairwise(spoken):
            if first.role == "user" and second.role == "assistant":
                turns.append((first.words, second.words))
        return Wish(spoken[-1].words, _strategy(self.model), history=tuple(turns[-8:]))


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """The recipes that can be used here, as models."""
    usable = [name for name, _, fine in service.of(request).menu.strategies() if fine]
    names = [_PREFIX, *(f"{_PREFIX}/{name}" for name in usable)]
    return {"object": "list", "data": [{"id": n, "object": "model", "created": 0, "owned_by": _PREFIX} for n in names]}


@router.post("/chat/completions", response_model=None, responses=_DOCUMENTED)
async def complete(request: Request, body: ChatRequest) -> Response:
    """Answer the last message; whole, or as chunks when `stream` is set. Leaving stops the work."""
    here = service.of(request)
    asked = here.menu.order(body.wish())
    reply = Reply(body.model)
    ticket = here.runs.admit(client(request))
    if body.stream:
        usage = bool(body.stream_options and body.stream_options.include_usage)
        return EventStream(_chunks(here, asked, ticket, reply, usage))
    # whole replies go the same way, so that a client that leaves is noticed
    return _Whole(_one(here, asked, ticket, reply))


class Reply:
    """The envelope around an answer."""

    def __init__(self, model: str) -> None:
        self.head: dict[str, Any] = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": model}

    def whole(self, answer: Answer) -> dict[str, Any]:
        text = spoken(answer)
        message = {"role": "assistant", "content": text, "refusal": None, "annotations": url_citations(text, answer)}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self.head, "object": "chat.completion", "choices": [choice], "usage": usage_json(answer.usage)}

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _line({**self.head, "object": "chat.completion.chunk", "choices": [choice]})

    def usage(self, usage: Usage) -> str:
        return _line({**self.head, "object": "chat.completion.chunk", "choices": [], "usage": usage_json(usage)})


async def _chunks(here: Service, asked: Asked, ticket: Ticket, reply: Reply, usage: bool) -> AsyncGenerator[str, None]:
    said = ""
    try:
        yield reply.chunk({"role": "assistant", "content": ""})
        async with aclosing(here.runs.attach(asked, ticket)) as stream:
            async for event in stream:
                if isinstance(event, events.AnswerDelta):
                    said += event.text
                    yield reply.chunk({"content": event.text})
                elif isinstance(event, events.Answered):
                    for line in _ending(reply, event.answer, said, usage):
                        yield line
    except WellreadError as problem:
        yield _line({"error": _fault(500, str(problem))})
    finally:
        ticket.release()
    yield "data: [DONE]\n\n"


def _ending(reply: Reply, answer: Answer, said: str, usage: bool) -> list[str]:
    """What has not been said yet, the annotations and the last chunk."""
    if answer.outcome == "failed":
        return [_line({"error": _fault(502, answer.reason or "the run failed")})]
    whole = spoken(answer)
    rest = whole[len(said) :] if whole.startswith(said) else _sources(answer)
    lines = [reply.chunk({"content": rest})] if rest else []
    lines.append(reply.chunk({"annotations": url_citations(said + rest, answer)}, finish="stop"))
    return [*lines, reply.usage(answer.usage)] if usage else lines


async def _one(here: Service, asked: Asked, ticket: Ticket, reply: Reply) -> AsyncGenerator[JSONResponse, None]:
    try:
        async with aclosing(here.runs.attach(asked, ticket)) as stream:
            async for event in stream:
                if isinstance(event, events.Answered):
                    answer = event.answer
                    failed = answer.outcome == "failed"
                    yield error(502, answer.reason or "the run failed") if failed else JSONResponse(reply.whole(answer))
    except WellreadError as problem:
        yield error(500, str(problem))
    finally:
        ticket.release()


class _Whole(EventStream):
    """Waits for one finished response and sends it; a client that leaves meanwhile stops the run."""

    def __init__(self, answers: AsyncGenerator[JSONResponse, None]) -> None:
        self.answers = answers
        self.background = None

    async def _send(self, send: Any) -> None:
        async def receive() -> Any:
            raise AssertionError("a finished response reads nothing")

        async with aclosing(self.answers):
            async for answer in self.answers:
                await answer({"type": "http"}, receive, send)


def spoken(answer: Answer) -> str:
    """The answer's text with its sources; where there is none, why."""
    if not answer.text:
        return f"No answer was found: {answer.reason or 'nothing fits'}."
    return answer.text + _sources(answer)


def _sources(answer: Answer) -> str:
    lines = source_lines(events.answer_json(answer))
    return "\n\n**Sources**\n\n" + "\n".join(lines) if lines else ""


def url_citations(text: str, answer: Answer) -> list[dict[str, Any]]:
    """One for every `[n]` of the text."""
    passages = {citation.number: citation.passage for citation in answer.citations}
    found: list[dict[str, Any]] = []
    for match in re.finditer(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]", text):
        for number in map(int, re.findall(r"\d+", match[1])):
            if passage := passages.get(number):
                place = {"start_index": match.start(), "end_index": match.end()}
                cited = {**place, "title": passage.title, "url": passage.url or passage.source}
                found.append({"type": "url_citation", "url_citation": cited})
    return found


def usage_json(usage: Usage) -> dict[str, int]:
    total = usage.input_tokens + usage.output_tokens
    return {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens, "total_tokens": total}


def error(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error in OpenAI's shape."""
    return JSONResponse({"error": _fault(status, message)}, status, headers=headers)


def _fault(status: int, message: str) -> dict[str, Any]:
    kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
    return {"message": message, "type": kind, "param": None, "code": None}


def _line(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


def _strategy(model: str) -> str | None:
    name = model.removeprefix(_PREFIX).removeprefix("/")
    return name or None
