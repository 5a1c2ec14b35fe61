"""The endpoint that tools already speak: `/v1/chat/completions` and `/v1/models`; see `openai_format`."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wellread.answer_json import AnswerJson
from wellread.errors import UsageError
from wellread.marks import Marks
from wellread.server import openai_format, service, session, shapes
from wellread.server.menu import ClientRequest, Menu
from wellread.server.openai_format import PREFIX, Message
from wellread.server.session import Ending, Telling
from wellread.server.sse import EventStream, Whole

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_DOCUMENTED: dict[int | str, Any] = {
    200: {"description": "A completion, or chunks of one.", "content": {"application/json": {}, "text/event-stream": {}}},
    **shapes.refusals(400, 413, 422, 429, 502, 503, error=openai_format.ERROR),
}


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
    model: str = Field(PREFIX, max_length=200)
    messages: Annotated[list[Message], Field(min_length=1, max_length=500)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    store: bool | None = None
    sources: list[str] | None = Field(None, max_length=50, description="Where to search, by the names of `/api/menu`.")
    marks: Marks | None = Field(None, description="`none`: sentences that are not carried get no mark in the text.")

    def wish(self, menu: Menu) -> ClientRequest:
        """The last user message, and what was said before it."""
        if self.n not in (None, 1):
            raise UsageError("n must be 1: there is one answer")
        question, turns = openai_format.conversation(self.messages)
        return openai_format.asked(self.model, menu, question, turns, self.sources)


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """The recipes that can be used here, as models."""
    names = openai_format.models(service.of(request).menu)
    return {"object": "list", "data": [{"id": n, "object": "model", "created": 0, "owned_by": PREFIX} for n in names]}


@router.post("/chat/completions", response_model=None, responses=_DOCUMENTED)
async def complete(request: Request, body: ChatRequest) -> Response:
    """Answer the last message; whole, or as chunks when `stream` is set. Leaving stops the work."""
    here = session.of(request)
    reply = Reply(body.model)
    telling = await here.attach(body.wish(here.service.menu), via=None if body.store is False else "openai", marks=body.marks)
    if body.stream:
        usage = bool(body.stream_options and body.stream_options.include_usage)
        return EventStream(_chunks(reply, telling, usage=usage), telling.leave)
    return Whole(partial(_one, reply, telling), telling.leave)  # the same way, so that a client that leaves is noticed


class Reply:
    """The envelope around an answer."""

    def __init__(self, model: str) -> None:
        self.head: dict[str, Any] = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": model}

    def whole(self, answer: AnswerJson) -> dict[str, Any]:
        text = openai_format.spoken(answer)
        content = text + openai_format.sources(answer)
        message = {"role": "assistant", "content": content, "refusal": None, "annotations": _annotations(text, answer)}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        more = openai_format.beyond(answer)
        return {**self.head, "object": "chat.completion", "choices": [choice], "usage": _usage(answer), "wellread": more}

    def chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return openai_format.line({**self.head, "object": "chat.completion.chunk", "choices": [choice], **more})

    def usage(self, answer: AnswerJson) -> str:
        return openai_format.line({**self.head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(answer)})


async def _chunks(reply: Reply, telling: Telling, *, usage: bool) -> AsyncGenerator[str, None]:
    said = ""
    async with aclosing(telling.pieces()) as pieces:
        yield reply.chunk({"role": "assistant", "content": ""})
        async for piece in pieces:
            if isinstance(piece, str):
                said += piece
                yield reply.chunk({"content": piece})
            else:
                for line in _ending(reply, piece, said, usage):
                    yield line
    yield "data: [DONE]\n\n"


def _ending(reply: Reply, ending: Ending, said: str, usage: bool) -> list[str]:
    """What has not been said yet, the annotations and the last chunk."""
    if (answer := ending.answer) is None or ending.problem:
        return [openai_format.line({"error": openai_format.fault(ending.status, ending.problem or "the run failed")})]
    text = said + openai_format.remaining(answer, said)
    rest = text[len(said) :] + openai_format.sources(answer, streamed=bool(said))
    lines = [reply.chunk({"content": rest})] if rest else []
    lines.append(reply.chunk({"annotations": _annotations(text, answer)}, finish="stop", wellread=openai_format.beyond(answer)))
    return [*lines, reply.usage(answer)] if usage else lines


async def _one(reply: Reply, telling: Telling) -> JSONResponse:
    ending = await telling.ending()
    if ending.answer and not ending.problem:
        return JSONResponse(reply.whole(ending.answer))
    return openai_format.error(ending.status, ending.problem or "the run failed")


def _annotations(text: str, answer: AnswerJson) -> list[dict[str, Any]]:
    return [{"type": "url_citation", "url_citation": one} for one in openai_format.cited(text, answer)]


def _usage(answer: AnswerJson) -> dict[str, int]:
    read, written = answer.used.input_tokens, answer.used.output_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
