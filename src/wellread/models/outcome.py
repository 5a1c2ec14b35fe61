"""What a finished stream amounts to: how it ended, what it called for, what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import StreamedResponse

from wellread.models.prices import Tariff
from wellread.models.reply import Reply
from wellread.models.stops import unclosed
from wellread.models.structured import is_deep, repaired
from wellread.types import Completion, Prompt, ToolCall

Finish = Literal["end", "stop", "length", "tools", "refusal"]
_FINISHES: dict[str | None, Finish] = {"length": "length", "tool_call": "tools", "content_filter": "refusal"}
_CHARACTERS_PER_TOKEN = 4
_MOST_CHARACTERS_PER_TOKEN = 16  # on the average of a text; a provider that counts fewer tokens is not believed
_MOST_TOKENS = 1_000_000_000  # of one call
_MOST_CALLS = 32  # for tools, in one reply


def completion(
    prompt: Prompt, response: StreamedResponse, reply: Reply, tariff: Tariff, count: Callable[[str], int]
) -> Completion:
    """The completion of a stream that was read to its end, or left where it should stop."""
    calls = () if reply.over else tuple(_calls(response))
    finish, stopped_at = _ending(prompt, response, reply)
    text = reply.text
    if finish == "refusal" and not text:
        text = str((response.provider_details or {}).get("refusal") or "")
    tokens_in, tokens_out, cached = _usage(prompt, response, reply, count)
    return Completion(
        text=text,
        finish="tools" if calls else finish,
        stopped_at=stopped_at,
        tool_calls=calls,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cost=tariff.cost(tokens_in, tokens_out, cached),
    )


def estimated(prompt: Prompt, replies: Sequence[Reply], count: Callable[[str], int]) -> tuple[int, int]:
    """Tokens in and out of replies to a prompt that broke off: nobody says what they used."""
    if not replies:
        return 0, 0
    tokens_in = sum(count(message.text) for message in prompt.messages)
    return tokens_in * len(replies), sum(_heard(reply, count) for reply in replies)


def with_lost(done: Completion, lost: tuple[int, int], tariff: Tariff) -> Completion:
    """The completion with what attempts before it have used."""
    price = tariff.cost(*lost)
    return replace(
        done,
        input_tokens=done.input_tokens + lost[0],
        output_tokens=done.output_tokens + lost[1],
        cost=None if done.cost is None or price is None else done.cost + price,
    )


def _heard(reply: Reply, count: Callable[[str], int]) -> int:
    return count(reply.text) + reply.unseen // _CHARACTERS_PER_TOKEN


def _ending(prompt: Prompt, response: StreamedResponse, reply: Reply) -> tuple[Finish, str | None]:
    if reply.stopped_at is not None:
        return "stop", reply.stopped_at
    if reply.too_long:
        return "length", None
    known = _FINISHES.get(response.finish_reason)
    if known is not None or not prompt.stop:
        return known or "end", None
    last = prompt.messages[-1] if prompt.messages else None
    whole = last.text + reply.text if last is not None and last.role == "assistant" else reply.text
    open_tag = unclosed(whole, prompt.stop)
    if (response.provider_details or {}).get("finish_reason") == "stop_sequence":  # Anthropic tells
        return "stop", prompt.stop[0] if len(prompt.stop) == 1 else open_tag
    return ("stop", open_tag) if open_tag else ("end", None)


def _usage(prompt: Prompt, response: StreamedResponse, reply: Reply, count: Callable[[str], int]) -> tuple[int, int, int]:
    """The provider's figures; estimates where it gives none, as when a stream is left early, or none that can be."""
    usage = response.usage
    tokens_in, tokens_out = _figure(usage.input_tokens), _figure(usage.output_tokens)
    if tokens_in * _MOST_CHARACTERS_PER_TOKEN <= sum(len(message.text) for message in prompt.messages):
        tokens_in = max(tokens_in, sum(count(message.text) for message in prompt.messages))
    said = len(reply.text) + reply.unseen
    if reply.over or tokens_out * _MOST_CHARACTERS_PER_TOKEN <= said:
        tokens_out = max(tokens_out, _heard(reply, count))
    return tokens_in, tokens_out, min(_figure(usage.cache_read_tokens), tokens_in)


def _figure(given: float) -> int:
    """What a provider says, as far as it can be: whole, and no more than anybody has used."""
    return int(given) if 0 <= given <= _MOST_TOKENS else 0


def _calls(response: StreamedResponse) -> list[ToolCall]:
    parts = [part for part in response.get().parts if isinstance(part, ToolCallPart)]
    return [ToolCall(part.tool_call_id, part.tool_name, arguments(part.args)) for part in parts[:_MOST_CALLS]]


def arguments(given: str | Mapping[str, Any] | None) -> Mapping[str, object]:
    """A tool call's arguments. Models break JSON now and then; what can't be read is empty."""
    if not isinstance(given, str):
        return dict(given or {})
    if is_deep(given):
        return {}
    try:
        value: object = json.loads(given or "{}")
    except (ValueError, RecursionError):
        value = repaired(given)
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
