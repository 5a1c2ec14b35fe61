"""OpenAI-compatible endpoints: `/v1/chat/completions`, `/v1/models` and the Responses API; see `openai_format`.

A response is kept as a run in the history, so that `previous_response_id` finds it, unless `store` is false. Either way it is
attached, as a completion is: a client that leaves stops the work.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Path, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from wellread.errors import UsageError
from wellread.present.marks import Marks
from wellread.server import openai_format, shapes
from wellread.server.history import Record
from wellread.server.menu import AskRequest, Menu, Turns
from wellread.server.openai_format import PREFIX, Message, Refused
from wellread.server.session import NO_RUN, Ending, Here, Session, Telling
from wellread.server.sse import EventStream, Whole
from wellread.server.viewer import NotThere
from wellread.types import Usage

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_GONE = shapes.refusals(400, 404, 422, error=openai_format.ERROR)
ResponseId = Annotated[str, Path(max_length=200, examples=["resp_q3J0vXo2mA9k"])]
_RESPONSE = {"type": "object", "required": ["id", "object", "created_at", "status", "output"]}
_CHATS = [{"model": "wellread", "messages": [{"role": "user", "content": "Who invented the telescope?"}]}]
_EXAMPLES = [
    {"model": "wellread", "input": "Who invented the telescope?"},
    {
        "model": "wellread/quote",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "Which planet has the most moons?"}]}],
        "stream": True,
        "store": False,
    },
]
_DONE = "data: [DONE]\n\n"
# what was not applied is told as null or empty
_LEFT_ASIDE: dict[str, Any] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "parallel_tool_calls": False,
    "reasoning": {"effort": None, "summary": None},
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "none",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}


def _documented(what: str, **schema: object) -> dict[int | str, Any]:
    content = {"application/json": schema, "text/event-stream": {}}
    refusals = shapes.refusals(400, 413, 422, 429, 502, 503, error=openai_format.ERROR)
    return {200: {"description": what, "content": content}, **refusals}


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")
    include_usage: bool = False


class Asked(BaseModel):
    """What both kinds of requests have. Fields that are not named have no meaning and are left aside."""

    model_config = ConfigDict(extra="ignore")
    model: str = Field(PREFIX, max_length=200, description="`wellread`, or `wellread/STRATEGY`; see /v1/models.")
    stream: bool | None = None
    store: bool | None = Field(None, description="Keep the run in the history, so that others can follow it; the default.")
    sources: list[str] | None = Field(None, max_length=50, description="Where to search, by the names of `/api/menu`.")
    marks: Marks | None = Field(None, description="`none`: sentences that are not carried get no mark in the text.")


class ChatRequest(Asked):
    model_config = ConfigDict(json_schema_extra={"examples": cast("Any", _CHATS)})
    messages: Annotated[list[Message], Field(min_length=1, max_length=500)]
    stream_options: StreamOptions | None = None
    n: int | None = None

    def wish(self, menu: Menu) -> tuple[AskRequest, Turns]:
        """The last user message, and what was said before it."""
        if self.n not in (None, 1):
            raise UsageError("n must be 1: there is one answer")
        question, turns = openai_format.conversation(self.messages)
        return openai_format.asked(self.model, menu, question, self.sources), turns


@router.get("/models")
async def models(here: Here) -> dict[str, Any]:
    """The recipes that can be used here, as models."""
    names = openai_format.models(here.service.menu)
    return {"object": "list", "data": [{"id": n, "object": "model", "created": 0, "owned_by": PREFIX} for n in names]}


@router.post("/chat/completions", response_model=None, responses=_documented("A completion, or chunks of one."))
async def complete(here: Here, body: ChatRequest) -> Response:
    """Answer the last message; whole, or as chunks when `stream` is set. Leaving stops the work."""
    wish, turns = body.wish(here.service.menu)
    telling = await here.attach(wish, None, None if body.store is False else "openai", turns, body.marks)
    usage = bool(body.stream_options and body.stream_options.include_usage)
    return _reply(Completion(body.model, usage), telling, stream=body.stream)


class Completion:
    """One completion of the protocol: its chunks, and the object itself."""

    def __init__(self, model: str, usage: bool) -> None:
        self._head: dict[str, Any] = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": model}
        self._usage, self._said = usage, ""

    def opening(self) -> str:
        return self._chunk({"role": "assistant", "content": ""})

    def delta(self, text: str) -> str:
        self._said += text
        return self._chunk({"content": text})

    def ending(self, ending: Ending) -> tuple[str, dict[str, Any]]:
        """The rest of the text, its annotations and the last chunk; and the completion, of which nothing was said before."""
        if (answer := ending.answer) is None or ending.problem:
            fault = {"error": openai_format.fault(ending.status, ending.problem or "the run failed")}
            return f"{openai_format.line(fault)}{_DONE}", fault
        text, rest = openai_format.said_and_left(answer, self._said)
        annotations = [{"type": "url_citation", "url_citation": one} for one in openai_format.cited(text, answer)]
        read, written = answer.used.input_tokens, answer.used.output_tokens
        more, head = openai_format.beyond(answer), {**self._head, "object": "chat.completion"}
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        lines = self._chunk({"content": rest}) if rest else ""
        lines += self._chunk({"annotations": annotations}, "stop", wellread=more)
        if self._usage:
            lines += openai_format.line({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        message = {"role": "assistant", "content": rest, "refusal": None, "annotations": annotations}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return lines + _DONE, {**head, "choices": [choice], "usage": usage, "wellread": more}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return openai_format.line({**self._head, "object": "chat.completion.chunk", "choices": [choice], **more})


def _reply(script: Completion | Script, telling: Telling, *, stream: bool | None) -> Response:
    """Whole or as events. Whole the same way, so that a client that leaves is noticed."""

    async def lines() -> AsyncGenerator[str, None]:
        async with aclosing(telling.pieces()) as pieces:
            yield script.opening()
            async for piece in pieces:
                yield script.delta(piece) if isinstance(piece, str) else script.ending(piece)[0]

    async def whole() -> Response:
        ending = await telling.ending()
        return JSONResponse(script.ending(ending)[1], ending.status)

    return EventStream(lines(), telling.leave) if stream else Whole(whole, telling.leave)


@router.post("/responses", response_model=None, responses=_documented("A response, or the events of one.", schema=_RESPONSE))
async def respond(here: Here, body: ResponseRequest) -> Response:
    """Answer the last message; whole, or as events when `stream` is set. Leaving stops the work."""
    question, turns = body.asked()
    before = await _previous(here, body.previous_response_id)
    wish = openai_format.asked(body.model, here.service.menu, question, body.sources)
    store = body.store is not False
    if store:
        telling = here.listen((await here.begin(wish, before, "openai", turns)).id, body.marks)
    else:
        telling = await here.attach(wish, before, None, turns, body.marks)
    script = Script(telling.run, body.model, body.previous_response_id, store, int(time.time()))
    return _reply(script, telling, stream=body.stream)


@router.get("/responses/{response}", responses=_GONE)
async def retrieve(here: Here, response: ResponseId, stream: bool = False) -> dict[str, Any]:
    """A response that was stored, as it stands."""
    if stream:
        raise Refused("a stored response does not stream again: /api/runs/ID/events does", "stream")
    record = await _find(here, response)
    previous = f"resp_{record.parent}" if record.parent else None
    script = Script(record.id, f"{PREFIX}/{record.strategy}", previous, True, int(record.created))
    if record.state == "running":
        return script.response("in_progress", [])
    return script.ending(await here.listen(record.id).ending())[1]


@router.delete("/responses/{response}", responses=_GONE)
async def delete(here: Here, response: ResponseId) -> dict[str, str | bool]:
    """Forget a response that was stored; one that is being written is stopped."""
    await here.forget((await _find(here, response)).id)
    return {"id": response, "object": "response", "deleted": True}


async def _find(here: Session, name: str) -> Record:
    if known := re.fullmatch(r"resp_([A-Za-z0-9_-]{12})", name):
        return await here.run(known[1])
    raise NotThere(NO_RUN)


async def _previous(here: Session, name: str | None) -> Record | None:
    if name is None:
        return None
    try:
        record = await _find(here, name)
    except NotThere:
        raise Refused(f"there is no response {name!r}", "previous_response_id", "previous_response_not_found") from None
    if record.state == "running":
        raise Refused(f"response {name!r} is still being written", "previous_response_id")
    return record


class InputMessage(Message):
    type: Literal["message"] = "message"


class OtherItem(BaseModel):
    """Calls of tools, thoughts and the like: left aside."""

    model_config = ConfigDict(extra="ignore")
    type: str = Field(max_length=100)


def _kind(item: object) -> str:
    kind = cast("dict[str, object]", item).get("type") if isinstance(item, dict) else getattr(item, "type", None)
    return "message" if kind in (None, "message") else "other"


Item = Annotated[Annotated[InputMessage, Tag("message")] | Annotated[OtherItem, Tag("other")], Discriminator(_kind)]


class ResponseRequest(Asked):
    model_config = ConfigDict(json_schema_extra={"examples": cast("Any", _EXAMPLES)})
    input: str | Annotated[list[Item], Field(min_length=1, max_length=500)] = Field(
        description="The question, or messages, of which the last is the question."
    )
    previous_response_id: str | None = Field(None, max_length=200, description="The response that this one follows up on.")
    background: bool | None = Field(None, description="Not possible here; `POST /api/runs` begins such a run.")
    conversation: Any = Field(None, description="Not possible here; send `previous_response_id` or the messages.")

    def asked(self) -> tuple[str, Turns]:
        """The question and what was said before it."""
        if self.background:
            raise Refused("background is not possible here: POST /api/runs begins a run that needs no listener", "background")
        if self.conversation is not None:
            raise Refused("there are no conversations here: send previous_response_id or the messages", "conversation")
        if isinstance(self.input, str):
            return self.input, ()
        if any(item.type == "item_reference" for item in self.input):
            raise Refused("items cannot be referred to: send previous_response_id or the messages", "input")
        return openai_format.conversation([item for item in self.input if isinstance(item, InputMessage)])


def text_part(text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


@dataclass(slots=True)
class Script:
    """One response of the protocol: the object itself, and its events, numbered and in order."""

    run: str
    model: str
    previous: str | None
    store: bool
    created: int
    said: str = ""
    number: int = 0  # of the next event

    @property
    def _part(self) -> dict[str, Any]:
        """Where its text is, as events say it."""
        return {"output_index": 0, "item_id": f"msg_{self.run}", "content_index": 0}

    def response(self, state: str, output: list[dict[str, Any]], ending: Ending | None = None) -> dict[str, Any]:
        """The object itself."""
        answer, error, cut = ending.answer if ending else None, None, state == "incomplete"
        used = answer.used if answer else Usage()
        words = ("outcome", "reason", "short", "sure", "understood", "asks")  # for which the protocol has no field
        if ending and state == "failed":
            error = openai_format.fault(ending.status, ending.problem or "the run failed", code="server_error")
        return {
            "id": f"resp_{self.run}",
            "object": "response",
            "created_at": self.created,
            "completed_at": int(time.time()) if state == "completed" else None,
            "status": state,
            "error": error,
            # the protocol knows few reasons: this one says that a limit was reached, the message says which
            "incomplete_details": {"reason": "max_output_tokens", "message": answer.reason} if answer and cut else None,
            "model": self.model,
            "output": output,
            "usage": {
                "input_tokens": used.input_tokens,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": used.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": used.input_tokens + used.output_tokens,
            }
            if answer
            else None,
            "previous_response_id": self.previous,
            "store": self.store,
            **_LEFT_ASIDE,
            "metadata": {name: str(said)[:512] for name in words if (said := getattr(answer, name, None)) is not None},
        }

    def message(self, state: str, *parts: dict[str, Any]) -> dict[str, Any]:
        """The one item of the output."""
        return {"id": f"msg_{self.run}", "type": "message", "role": "assistant", "status": state, "content": list(parts)}

    def opening(self) -> str:
        response = self.response("in_progress", [])
        return self._event("response.created", response=response) + self._event("response.in_progress", response=response)

    def delta(self, text: str) -> str:
        """The next words; the first ones open the message that they are part of."""
        before = ""
        if not self.said:
            before = self._event("response.output_item.added", output_index=0, item=self.message("in_progress"))
            before += self._event("response.content_part.added", **self._part, part=text_part("", []))
        self.said += text
        return before + self._event("response.output_text.delta", **self._part, delta=text, logprobs=[])

    def ending(self, ending: Ending) -> tuple[str, dict[str, Any]]:
        """Events of the rest and of the end of text, message and response; and the whole response."""
        lines: list[str] = []
        annotations: list[dict[str, Any]] = []
        answer = None if ending.problem is not None else ending.answer
        state = "failed" if answer is None else "incomplete" if answer.outcome == "exhausted" else "completed"
        if answer is not None:
            words, rest = openai_format.said_and_left(answer, self.said)
            annotations = [{"type": "url_citation", **one} for one in openai_format.cited(words, answer)]
            lines += [self.delta(rest)] if rest else []
            for number, one in enumerate(annotations):
                facts = {**self._part, "annotation_index": number, "annotation": one}
                lines.append(self._event("response.output_text.annotation.added", **facts))
        output: list[dict[str, Any]] = []
        if self.said:
            part = text_part(self.said, annotations)
            output = [self.message("completed" if state == "completed" else "incomplete", part)]
            lines.append(self._event("response.output_text.done", **self._part, text=self.said, logprobs=[]))
            lines.append(self._event("response.content_part.done", **self._part, part=part))
            lines.append(self._event("response.output_item.done", output_index=0, item=output[0]))
        response = self.response(state, output, ending)
        return "".join(lines) + self._event(f"response.{state}", response=response), response

    def _event(self, kind: str, **facts: Any) -> str:
        body = {"type": kind, "sequence_number": self.number, **facts}
        self.number += 1
        return openai_format.line(body, kind)
