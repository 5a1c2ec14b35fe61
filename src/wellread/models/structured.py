"""Answers as data: JSON of a given shape from any model that can write, with one try at a repair.

Models that take a schema get it. The shape is also told in words, so that the others, and servers that
accept a schema without keeping to it, answer in the same form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import accumulate
from typing import Any, cast

from wellread.errors import BadOutput
from wellread.models.shapes import Misfit, Schema, example, fit, schema_of
from wellread.types import Completion, Message, Prompt

Complete = Callable[[Prompt], Awaitable[Completion]]

_ASK = "Reply with one JSON object and nothing else, in this form:\n{example}"
_REPAIR = "That reply cannot be used: {problem}. Send it again as one JSON object and nothing else, in this form:\n{example}"
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"\{|\[(?!\s*\d+(?:\s*,\s*\d+)*\s*\])")  # `[1]` in prose is a reference, not data
_LONGEST = 100_000  # characters
_LONGEST_REPAIR = 20_000  # repairing takes long on long texts, and longer on deeply nested ones
_DEEPEST_REPAIR = 30


async def structured(
    complete: Complete, prompt: Prompt, shape: type | Schema, *, native: bool = False, model: str = "the model"
) -> dict[str, Any]:
    """Ask for `shape` (a dataclass or a JSON schema) and return what fits it, or raise `BadOutput`.

    `complete` is one model call, such as `lambda p: run.complete(p, role="grade")`; `native` sends the
    schema along (`model.capabilities.schemas`). A second call is made only when the first reply is no use.
    """
    schema = schema_of(shape)
    form = example(schema)
    asked = _asking(prompt, _ASK.format(example=form))
    if native:
        asked = replace(asked, schema=schema)
    reply = await complete(asked)
    try:
        return read(reply.text, schema)
    except Misfit as misfit:
        problem = misfit
    said = Message("assistant", reply.text or "(nothing)")
    again = Message("user", _REPAIR.format(problem=problem, example=form))
    reply = await complete(replace(asked, messages=(*asked.messages, said, again), temperature=0.0))
    try:
        return read(reply.text, schema)
    except Misfit as misfit:
        raise BadOutput(model, f"no usable JSON after a second try: {misfit}") from None


def read(text: str, schema: Schema) -> dict[str, Any]:
    """The JSON in a model's words, made to fit; `Misfit` when there is none."""
    return fit(parse(text), schema)


def parse(text: str) -> object:
    """The first JSON value in a text: plain, fenced, within prose, or broken in the usual ways."""
    text = text[:_LONGEST]
    candidates = [*reversed(_FENCED.findall(text)), text]
    for look in (_plain, _first_whole, _repaired):
        for candidate in candidates:
            if (found := look(candidate)) is not None:
                return found
    raise Misfit("there is no JSON in it" if text.strip() else "it is empty")


def _plain(text: str) -> object | None:
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _first_whole(text: str) -> object | None:
    """The first complete object or array; None when something broken comes before it."""
    start = _OPENING.search(text)
    if start is None:
        return None
    try:
        value, _ = cast("tuple[object, int]", json.JSONDecoder().raw_decode(text, start.start()))
    except (ValueError, RecursionError):
        return None  # repair it rather than take a part of it
    return value or None


def _repaired(text: str) -> object | None:
    from json_repair import repair_json

    start = _OPENING.search(text)
    if start is None or _depth(text) > _DEEPEST_REPAIR:
        return None
    broken = text[start.start() : start.start() + _LONGEST_REPAIR]
    try:
        value = cast("object", repair_json(broken, return_objects=True))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and start.group() == "{":
        # several values in a row: the first object is the one that was asked for
        objects = [cast("object", item) for item in cast("list[object]", value) if isinstance(item, dict) and item]
        return objects[0] if objects else None
    return cast("object", value) if isinstance(value, dict | list) and value else None


def _depth(text: str) -> int:
    """How deep the brackets go, never mind which close which."""
    steps = (1 if bracket in "{[" else -1 for bracket in re.findall(r"[{}\[\]]", text))
    return max(accumulate(steps), default=0)


def _asking(prompt: Prompt, request: str) -> Prompt:
    """The request joins the last user turn."""
    *before, last = prompt.messages
    if last.role == "user":
        return replace(prompt, messages=(*before, replace(last, text=f"{last.text}\n\n{request}")))
    return replace(prompt, messages=(*prompt.messages, Message("user", request)))
