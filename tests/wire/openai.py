"""OpenAI's chat completions, streamed as server-sent events."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.wire.server import Answer, Request, Response, as_json

SSE = {"Content-Type": "text/event-stream"}
DONE = b"data: [DONE]\n\n"


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: Mapping[str, Any], finish: str | None = None, model: str = "m") -> bytes:
    """One chunk of the stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]})


def usage(tokens_in: int, tokens_out: int, model: str = "m") -> bytes:
    counts = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    return event(
        {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [], "usage": counts}
    )


def said(
    *pieces: str | float, finish: str | None = "stop", counts: tuple[int, int] | None = (11, 5), model: str = "m"
) -> Response:
    """A whole reply; numbers among the pieces are pauses."""
    parts: list[bytes | float] = [chunk({"role": "assistant", "content": ""}, model=model)]
    parts += [chunk({"content": piece}, model=model) if isinstance(piece, str) else piece for piece in pieces]
    if finish is not None:
        parts.append(chunk({}, finish, model))
    if counts is not None:
        parts.append(usage(*counts, model))
    return Response([*parts, DONE], headers=SSE)


def called(name: str, *arguments: str, text: str = "") -> Response:
    """A tool call, its arguments in pieces."""
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
    parts = [chunk({"role": "assistant", "content": text or None}), chunk({"tool_calls": [first]})]
    parts += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in arguments]
    return Response([*parts, chunk({}, "tool_calls"), usage(20, 9), DONE], headers=SSE)


def failed(
    status: int, message: str, *, kind: str = "invalid_request_error", code: str | None = None, **headers: str
) -> Response:
    """An error as OpenAI words it; header names with `_` for `-`."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return as_json(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


def chat(reply: Callable[[dict[str, Any]], str | Response], *, stops: bool = True, pause: float = 0.0) -> Answer:
    """A well-behaved server: `reply` gives the text for a request; stop sequences are honoured, words stream."""

    def answer(request: Request) -> Response:
        if request.path.endswith("/models"):
            return as_json({"object": "list", "data": [{"id": "m", "object": "model"}]})
        asked = request.json
        text = reply(asked)
        if isinstance(text, Response):
            return text
        for stop in asked.get("stop") or [] if stops else []:
            text = text.split(stop, 1)[0]
        pieces: list[str | float] = []
        for word in re.findall(r"\s*\S+|\s+$", text):
            pieces += [pause, word] if pause else [word]
        spent = sum(len(str(message.get("content"))) for message in asked["messages"]) // 4 + 1
        return said(*pieces, counts=(spent, len(pieces) or 1), model=str(asked.get("model")))

    return answer
