"""A `Prompt` as pydantic-ai's direct API wants it, by what is known of the model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

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
from pydantic_ai.models import Model as ProviderModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from wellread.models.failures import Where
from wellread.models.markers import broken
from wellread.models.prices import Tariff
from wellread.models.tokens import estimate
from wellread.types import Capabilities, Message, Prompt

GO_ON = "Go on from exactly where your last message stopped. Do not repeat any of it."


@dataclass(frozen=True, slots=True)
class Connection:
    """A provider's model for one event loop, and how to let go of it."""

    model: ProviderModel
    close: Callable[[], Awaitable[None]] | None = None
    marks: re.Pattern[str] | None = None  # of the chat template that the server fills, which no text may hold


@dataclass(frozen=True, slots=True)
class Traits:
    """A model's traits: what is known of it before it is asked, and what it was seen to refuse."""

    where: Where
    capabilities: Capabilities
    tariff: Tariff
    stop_limit: int | None = None  # OpenAI takes four stop sequences
    compatible: bool = False  # a server that speaks OpenAI's protocol in its own way
    says_end: bool = True  # a reply without a finish reason was cut off
    thinks: bool = False  # its replies begin inside the thinking, see `Thinking`
    thinking: str | None = None
    count: Callable[[str], int] = estimate
    names: Callable[[], Sequence[str]] | None = None  # the models that the server has, where it tells; none: it does not
    attempts: int = 4
    first_wait: float = 0.5
    without: frozenset[str] = frozenset()  # parameters that it has refused

    def less(self, refused: str) -> Traits:
        """The same, of a server that has refused this."""
        name = {"prefill": "continues", "tools": "tools", "schema": "schemas"}.get(refused)
        able = replace(self.capabilities, **{name: False}) if name else self.capabilities
        return replace(self, capabilities=able, without=self.without | {refused})


@dataclass(frozen=True, slots=True)
class Request:
    """A provider's request. `after_space`: white space at the end of a partial answer was not sent."""

    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters
    sent: frozenset[str]
    after_space: bool = False


# Room for the thinking of models that cannot do without: it counts against the limit on output.
_THINKING_ROOM = 4096


def build(prompt: Prompt, traits: Traits, connected: Connection) -> Request:
    """Translate a prompt; leave out what the provider cannot take, and the parameters that it has refused."""
    turns, after_space = _turns(prompt.messages, continues=traits.capabilities.continues)
    turns = [_without_marks(turn, connected.marks) for turn in turns]
    settings = _settings(prompt, traits, cast("dict[str, Any]", connected.model.profile))
    parameters = _parameters(prompt, traits.capabilities)
    prefilled = bool(turns) and turns[-1].role == "assistant"
    told = {"schema": parameters.output_mode == "native", "tools": parameters.function_tools, "prefill": prefilled}
    sent = {*settings, *(name for name, given in told.items() if given)} - {"max_retries"}
    if traits.compatible:
        # Fields beyond OpenAI's own. Servers that don't know them skip them, or say so and get none; vLLM must be told to go on.
        going_on = prefilled and "continue_final_message" not in traits.without
        extra: dict[str, object] = {"continue_final_message": True, "add_generation_prompt": False} if going_on else {}
        if "stream_options" in traits.without:
            extra["stream_options"] = None
        sent |= {*extra, "stream_options"}
        if extra:
            settings["extra_body"] = extra
    return Request(_messages(turns), settings, parameters, frozenset(sent), after_space)


def _settings(prompt: Prompt, traits: Traits, profile: Mapping[str, Any]) -> ModelSettings:
    thinks = traits.thinking is not None or profile.get("thinking_always_enabled")  # which counts as output
    sampled = not thinks and not profile.get("anthropic_disallows_sampling_settings")
    wanted: dict[str, object] = {
        "thinking": traits.thinking or False,
        "temperature": prompt.temperature if sampled else None,
        "max_tokens": None if prompt.max_tokens is None else prompt.max_tokens + (_THINKING_ROOM if thinks else 0),
        "stop_sequences": [stop for stop in prompt.stop if stop.strip()][: traits.stop_limit] or None,
    }
    given = {name: value for name, value in wanted.items() if value is not None and name not in traits.without}
    # Retries are ours (with a bound and the provider's own waiting time), so the client's are off.
    return cast("ModelSettings", {"max_retries": 0, **given})


def _parameters(prompt: Prompt, able: Capabilities) -> ModelRequestParameters:
    tools = [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema))
        for tool in (prompt.tools if able.tools else ())
    ]
    if prompt.schema is None or not able.schemas:
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
    def said(value: object) -> object:
        return broken(value, marks) if isinstance(value, str) else value

    calls = [replace(call, arguments={name: said(value) for name, value in call.arguments.items()}) for call in turn.tool_calls]
    return replace(turn, text=broken(turn.text, marks), tool_calls=tuple(calls))


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
