"""Structured output: JSON of a given form from any model that can write, with one try at a repair.

Models that take a schema get it. The form is also told in words, so that the others, and servers that
accept a schema without keeping to it, answer in the same form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any, Generic, TypeVar, cast

from wellread.errors import BadOutput
from wellread.types import Completion, Message, Prompt

T = TypeVar("T")
Complete = Callable[[Prompt], Awaitable[Completion]]

_ASK = "Reply with one JSON object and nothing else, in this form:\n{example}"
_REPAIR = "That reply cannot be used: {problem}. Send it again as one JSON object and nothing else, in this form:\n{example}"
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_OPENING = re.compile(r"\{|\[(?!\s*\d+(?:\s*,\s*\d+)*\s*\])")  # `[1]` in prose is a reference, not data
_LONGEST = 100_000  # characters
_LONGEST_REPAIR = 5_000  # repairing takes long on long texts, and longer on deeply nested ones
_MOST_REPAIRS = 3  # fenced parts
_DEEPEST_REPAIR = 30
_DEEPEST = 100  # brackets in each other: what reads and shows a value goes as deep as it does
_MOST_SIGNS = 300  # brackets, quotation marks and the like: the time that a repair takes grows with their square, or worse
_SIGN = re.compile(r"""[{}\[\]"'“”‘’\\,:/#*`-]""")


class Misfit(ValueError):
    """A reply does not have the form; says why."""


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """JSON with one field: how it is shown to a model, and how what comes back is read, with the leniency that models need."""

    field: str
    example: str
    schema: Mapping[str, Any]  # of the field
    fit: Callable[[object], T]

    @property
    def whole(self) -> dict[str, Any]:
        """The JSON schema."""
        return {"type": "object", "properties": {self.field: self.schema}, "required": [self.field]}

    def shown(self) -> str:
        return f'{{"{self.field}": {self.example}}}'

    def read(self, value: object) -> T:
        """The field's value, also where it comes without its wrapping; `Misfit` where it cannot be used."""
        if not isinstance(value, Mapping):
            return self.fit(value)
        given = {str(key).strip().lower(): item for key, item in cast("Mapping[object, object]", value).items()}
        if self.field not in given:
            raise Misfit(f"the reply has no {self.field!r}")
        return self.fit(given[self.field])


def choice(field: str, *choices: str) -> Form[str]:
    """One of these words."""

    def fit(value: object) -> str:
        said = str(value).strip().lower()
        if said not in choices:
            raise Misfit(f"{field} must be one of {', '.join(choices)}, not {_shown(value)}")
        return said

    example = " or ".join(f'"{one}"' for one in choices)
    return Form(field, example, {"type": "string", "enum": list(choices)}, fit)


def numbers(field: str) -> Form[list[int]]:
    """Whole numbers; one stands for a list of one."""

    def fit(value: object) -> int:
        with suppress(ValueError, OverflowError):
            if isinstance(value, int | float | str) and not isinstance(value, bool):
                number = float(str(value).strip().replace(",", ""))
                if number == int(number):
                    return int(number)
        raise Misfit(f"{field} must hold whole numbers, not {_shown(value)}")

    return Form(field, "[a whole number, …]", {"type": "array", "items": {"type": "integer"}}, lambda value: _each(value, fit))


def texts(field: str, each: str) -> Form[list[str]]:
    """Texts, `each` of which is what these words say; one stands for a list of one."""

    def fit(value: object) -> str:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
        raise Misfit(f"{field} must hold texts, not {_shown(value)}")

    schema = {"type": "array", "items": {"type": "string", "description": each}}
    return Form(field, f'["{each}", …]', schema, lambda value: _each(value, fit))


def _each(value: object, fit: Callable[[object], T]) -> list[T]:
    if isinstance(value, list):
        return [fit(item) for item in cast("list[object]", value)]
    return [] if value is None else [fit(value)]


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:60] + "…"


async def structured(complete: Complete, prompt: Prompt, form: Form[T], *, native: bool, model: str) -> T:
    """Ask for JSON of this form and return what is in its field, or raise `BadOutput`.

    `complete` is one model call, such as `lambda p: run.complete(p, role="grade")`; `native` sends the
    schema along (`model.capabilities.schemas`). A second call is made only when the first reply is no use.
    """
    *before, last = prompt.messages
    request = _ASK.format(example=form.shown())  # it joins the last user turn
    joined = replace(last, text=f"{last.text}\n\n{request}") if last.role == "user" else None
    messages = (*before, joined) if joined else (*prompt.messages, Message("user", request))
    asked = replace(prompt, messages=messages, schema=form.whole if native else prompt.schema)
    reply = await complete(asked)
    try:
        return form.read(parse(reply.text))
    except Misfit as misfit:
        problem = misfit
    said = Message("assistant", reply.text or "(nothing)")
    again = Message("user", _REPAIR.format(problem=problem, example=form.shown()))
    reply = await complete(replace(asked, messages=(*asked.messages, said, again), temperature=0.0))
    try:
        return form.read(parse(reply.text))
    except Misfit as misfit:
        raise BadOutput(model, f"no usable JSON after a second try: {misfit}") from None


def parse(text: str) -> object:
    """The first JSON value in a text: plain, fenced, within prose, or broken in the usual ways."""
    text = text[:_LONGEST]
    if is_deep(text):
        raise Misfit("it is nested too deeply")
    fenced = _FENCED.findall(text)[::-1]
    for look, most in ((_plain, len(fenced)), (_first_whole, len(fenced)), (repaired, _MOST_REPAIRS)):
        for candidate in (*fenced[:most], text):
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


def repaired(text: str) -> object | None:
    """Broken JSON repaired, as far as that can be done in a moment."""
    from json_repair import repair_json

    start = _OPENING.search(text)
    if start is None or _depth(text) > _DEEPEST_REPAIR:
        return None
    broken = text[start.start() : start.start() + _LONGEST_REPAIR]
    last = next(islice(_SIGN.finditer(broken), _MOST_SIGNS - 1, None), None)
    try:
        value = cast("object", repair_json(broken[: last.end()] if last else broken, return_objects=True))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and start.group() == "{":
        # several values in a row: the first object is the one that was asked for
        objects = [cast("object", item) for item in cast("list[object]", value) if isinstance(item, dict) and item]
        return objects[0] if objects else None
    return cast("object", value) if isinstance(value, dict | list) and value else None


def is_deep(text: str) -> bool:
    """Whether its values are so deep in each other that nobody can have meant it."""
    return _depth(text) > _DEEPEST


def _depth(text: str) -> int:
    """How deep the brackets go, never mind which close which."""
    steps = (1 if bracket in "{[" else -1 for bracket in re.findall(r"[{}\[\]]", text))
    return max(accumulate(steps), default=0)
