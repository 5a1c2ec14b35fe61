"""OpenAI's formats, shared by the compatible endpoints: models, messages, an answer's words, annotations, errors.

Models are strategies (`wellread` is the default one, `wellread/iterative` a named one) or sources. The last user message
is the question, what comes before is the conversation. System messages, temperature, tools and the like have
no meaning here and are left aside. Citations come as annotations that point at the `[n]` in the text, and as
a list of sources in Markdown at the end of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from wellread.answer_json import AnswerJson
from wellread.core.codec import encode
from wellread.errors import UsageError
from wellread.present.markdown import beside, missing_line, opening, refusal, source_lines
from wellread.present.marks import unmarked
from wellread.present.sections import UNDERSTOOD, sections, shown
from wellread.server.history import TURNS
from wellread.server.menu import AskRequest, Menu, Turns
from wellread.text.markers import markers
from wellread.text.places import name

PREFIX = "wellread"
ERROR = {"type": "object", "required": ["message", "type"]}  # as it is documented
_TEXTS = ("text", "input_text", "output_text")


class Refused(UsageError):
    """A request for something that there is not; says which of its fields, and in OpenAI's code where it has one."""

    def __init__(self, message: str, param: str, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str = "text"
    text: str = Field("", max_length=100_000)


class Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def words(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type in _TEXTS)


def conversation(messages: Sequence[Message]) -> tuple[str, Turns]:
    """The question, which is the last user message, and what was said before it."""
    said = [message for message in messages if message.role in ("user", "assistant") and message.words.strip()]
    if not said or said[-1].role != "user":
        raise UsageError("the last message must be a question from the user")
    turns = [
        _turn(first.words, second.words) for first, second in pairwise(said) if (first.role, second.role) == ("user", "assistant")
    ]
    return said[-1].words, tuple(turns[-TURNS:])


def _turn(question: str, reply: str) -> tuple[str, str]:
    """A question in the user's own words, and the reply without its sources and without how it understood them: a model has
    written that, perhaps with words of private documents, which must not pass for the user's."""
    reply = unmarked(reply.partition("\n\n**Sources**\n\n")[0])
    if reply.startswith(UNDERSTOOD):
        reply = reply.partition("\n")[2]
    return question, reply.strip()


def asked(model: str, menu: Menu, question: str, sources: Sequence[str] | None = None) -> AskRequest:
    """Resolves a model's name: a recipe, or a collection that is searched by the default one; other names mean the
    default, too, where the operator says so. `sources` of the request's own are searched instead."""
    name = model.removeprefix(PREFIX).removeprefix("/")
    if name and name not in (known for known, _, _ in menu.strategies()):
        if name in menu.single_sources:
            return AskRequest(question, None, tuple(sources or (name,)))
        if menu.options.unknown_models != "default":
            raise Refused(f"there is no model {model!r} here; there are: {', '.join(models(menu))}", "model", "model_not_found")
        name = ""
    return AskRequest(question, name or None, tuple(sources or ()))


def models(menu: Menu) -> list[str]:
    """The list of models as clients know it: recipes, then collections and other sources."""
    recipes = [name for name, _, usable in menu.strategies() if usable]
    return [PREFIX, *(f"{PREFIX}/{name}" for name in dict.fromkeys([*recipes, *menu.single_sources]))]


def spoken(answer: AnswerJson) -> str:
    """The answer's text behind how its question was understood; where there is none, why."""
    return opening(answer.understood) + refusal(sections(answer))


def beyond(answer: AnswerJson) -> dict[str, Any]:
    """Extension fields: facts of an answer that the protocol has no field for."""
    return {
        name: encode(getattr(answer, name))
        for name in ("outcome", "reason", "short", "confidence", "sure", "understood", "asks", "nearest")
    }


def sources(answer: AnswerJson, *, streamed: bool = False) -> str:
    """The end of the text: what is missing, how sure it is, what else is near, the list of its sources, and what the
    marks mean; of a text that was sent while it was written, without marks, the sentences that would have them."""
    parts = sections(answer)
    lines, lacking = source_lines(parts) if answer.answer else [], missing_line(parts)
    meaning = parts.quoting_legend() if streamed else parts.legend
    listed = "\n\n**Sources**\n\n" + "\n".join(lines) if lines else ""
    return (f"\n\n{lacking}" if lacking else "") + beside(parts) + listed + (f"\n\n{meaning}" if meaning else "")


def said_and_left(answer: AnswerJson, said: str = "") -> tuple[str, str]:
    """The whole text, and what is left to send of it and behind it when this much has been."""
    words = spoken(shown(answer, "none" if said else None))
    text = words if words.startswith(said) else said
    return text, text[len(said) :] + sources(answer, streamed=bool(said))


def cited(text: str, answer: AnswerJson) -> list[dict[str, Any]]:
    """Place, title and address for every `[n]` of the text (without its sources: their quotes have numbers of their own)."""
    rows = {row.number: row for row in answer.citations}
    found: list[dict[str, Any]] = []
    for one in markers(text):
        place = {"start_index": one.start, "end_index": one.end}
        for number in one.numbers:
            if row := rows.get(number):
                found.append({**place, "title": name(row), "url": row.link or row.url or row.source})
    return found


def error(status: int, message: str, param: str | None = None, code: str | None = None) -> JSONResponse:
    """An error in OpenAI's shape."""
    return JSONResponse({"error": fault(status, message, param, code)}, status)


def fault(status: int, message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
    return {"message": message, "type": kind, "param": param, "code": code}


def line(body: dict[str, Any], event: str | None = None) -> str:
    """One event on the wire, in ASCII: some clients take a character like U+2028 for the end of a line."""
    return (f"event: {event}\n" if event else "") + f"data: {json.dumps(body)}\n\n"
