"""A `Prompt` as pydantic-ai's direct API wants it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from wellread.models.markers import broken
from wellread.types import Message, Prompt

GO_ON = "Go on from exactly where your last message stopped. Do not repeat any of it."


@dataclass(frozen=True, slots=True)
class Manner:
    """How a provider wants to be asked; `without` are the parameters it has refused."""

    continues: bool
    schemas: bool
    tools: bool
    stop_limit: int | None = None  # OpenAI takes four stop sequences
    thinks_anyway: bool = False  # thinking cannot be turned off, and counts as output
    thinking: str | None = None
    temperature: bool = True
    compatible: bool = False  # a server that speaks OpenAI's protocol in its own way
    marks: re.Pattern[str] | None = None  # of its chat template, which no text may hold
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `after_space`: white space at the end of a partial answer was not."""

    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters
    sent: frozenset[str]
    after_space: bool = False


# Room for the thinking of models that cannot do without: it counts against the limit on output.
_THINKING_ROOM = 4096


def build(prompt: Prompt, manner: Manner) -> Request:
    """Translate a prompt; leave out what the provider cannot take."""
    turns, after_space = _turns(prompt.messages, continues=manner.continues)
    turns = [_without_marks(turn, manner.marks) for turn in turns]
    settings = _settings(prompt, manner)
    parameters = _parameters(prompt, manner)
    sent = set(settings) - {"max_retries"}
    if parameters.output_mode == "native":
        sent.add("schema")
    if parameters.function_tools:
        sent.add("tools")
    prefilled = bool(turns) and turns[-1].role == "assistant"
    if prefilled:
        sent.add("prefill")
    if manner.compatible and (extra := _extra(manner, prefilled=prefilled)):
        settings["extra_body"] = extra
        sent |= set(extra)
    if manner.compatible and "stream_options" not in manner.without:
        sent.add("stream_options")
    return Request(_messages(turns), settings, parameters, frozenset(sent), after_space)


def _extra(manner: Manner, *, prefilled: bool) -> dict[str, object]:
    """Fields beyond OpenAI's own. Servers that don't know them skip them, or say so and get none."""
    extra: dict[str, object] = {}
    if prefilled and "continue_final_message" not in manner.without:  # vLLM must be told
        extra = {"continue_final_message": True, "add_generation_prompt": False}
    if "stream_options" in manner.without:
        extra["stream_options"] = None
    return extra


def _settings(prompt: Prompt, manner: Manner) -> ModelSettings:
    # Retries are ours (with a bound and the provider's own waiting time), so the client's are off.
    settings = ModelSettings(max_retries=0)
    thinks = manner.thinks_anyway or manner.thinking is not None
    if "thinking" not in manner.without:
        settings["thinking"] = cast("bool", manner.thinking if manner.thinking is not None else False)
    if manner.temperature and not thinks and "temperature" not in manner.without:
        settings["temperature"] = prompt.temperature
    if prompt.max_tokens is not None and "max_tokens" not in manner.without:
        settings["max_tokens"] = prompt.max_tokens + (_THINKING_ROOM if thinks else 0)
    stops = [stop for stop in prompt.stop if stop.strip()][: manner.stop_limit]
    if stops and "stop_sequences" not in manner.without:
        settings["stop_sequences"] = stops
    return settings


def _parameters(prompt: Prompt, manner: Manner) -> ModelRequestParameters:
    tools: list[ToolDefinition] = []
    if manner.tools:
        tools = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema))
            for tool in prompt.tools
        ]
    if prompt.schema is None or not manner.schemas:
        return ModelRequestParameters(function_tools=tools)
    shape = OutputObjectDefinition(json_schema=dict(prompt.schema), name="reply")
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=shape)


def _turns(messages: Sequence[Message], *, continues: bool) -> tuple[list[Message], bool]:
    """Neighbours of one role joined (some servers insist on taking turns), the end made fit to send."""
    turns: list[Message] = []
    for message in messages:
        if not message.text.strip() and not message.tool_calls and message.role != "tool":
            continue
        last = turns[-1] if turns else None
        if last is not None and last.role == message.role != "tool" and not last.tool_calls:
            between = "" if message.role == "assistant" else "\n\n"
            turns[-1] = replace(last, text=last.text + between + message.text, tool_calls=message.tool_calls)
        else:
            turns.append(message)
    if not turns or turns[-1].role != "assistant" or turns[-1].tool_calls:
        return turns, False
    partial = turns[-1]
    if not continues:
        return [*turns, Message("user", GO_ON)], False
    # Anthropic refuses a partial answer that ends in white space.
    trimmed = partial.text.rstrip()
    return [*turns[:-1], replace(partial, text=trimmed)], trimmed != partial.text


def _without_marks(turn: Message, marks: re.Pattern[str] | None) -> Message:
    calls = [replace(call, arguments=_broken(call.arguments, marks)) for call in turn.tool_calls]
    return replace(turn, text=broken(turn.text, marks), tool_calls=tuple(calls))


def _broken(arguments: Mapping[str, object], marks: re.Pattern[str] | None) -> dict[str, object]:
    return {name: broken(value, marks) if isinstance(value, str) else value for name, value in arguments.items()}


def _messages(turns: Sequence[Message]) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    for turn in turns:
        if turn.role == "assistant":
            messages.append(ModelRequest(parts=parts))
            messages.append(ModelResponse(parts=_said(turn)))
            parts = []
        else:
            parts.append(_asked(turn, first=not messages))
    if parts:
        messages.append(ModelRequest(parts=parts))
    return messages


def _said(turn: Message) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = [TextPart(turn.text)] if turn.text.strip() else []
    parts += [ToolCallPart(call.name, dict(call.arguments), tool_call_id=call.id) for call in turn.tool_calls]
    return parts


def _asked(turn: Message, *, first: bool) -> ModelRequestPart:
    if turn.role == "tool":
        return ToolReturnPart(turn.tool_name or "tool", turn.text, tool_call_id=turn.tool_call_id or "")
    if turn.role == "system" and first:
        return SystemPromptPart(turn.text)
    return UserPromptPart(turn.text)
