"""The seam on pydantic-ai's direct API: any of its chat models as a `protocols.Model`."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import stamina
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model as ProviderModel
from pydantic_ai.models import StreamedResponse

from wellread.errors import BrokenStream, ModelError, UnknownModel, WellreadError
from wellread.models.failures import Failure, Refused, Where, translate
from wellread.models.prices import FREE as FREE
from wellread.models.prices import Tariff
from wellread.models.reply import Reply, unclosed
from wellread.models.request import Connection, Traits, build
from wellread.models.structured import is_deep, repaired
from wellread.types import Capabilities, Completion, Prompt, ToolCall


class ChatModel:
    """One model of one provider. `connect` is called once for each event loop that uses it. What the server shows to refuse or to
    do becomes one of the traits, for as long as the model lives."""

    def __init__(
        self,
        traits: Traits,
        connect: Callable[[], Awaitable[Connection]],
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.traits = traits
        self._connect = connect
        self._on_close = on_close
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connecting = asyncio.Lock()
        self._connected: Connection | None = None

    def __repr__(self) -> str:
        return f"ChatModel({self.name!r})"

    @property
    def name(self) -> str:
        return self.traits.where.model

    @property
    def capabilities(self) -> Capabilities:
        """Its capabilities, less what it has refused so far."""
        return self.traits.capabilities

    def count_tokens(self, text: str) -> int:
        return self.traits.count(text)

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        return self.traits.tariff.cost(input_tokens, output_tokens)

    async def check(self) -> None:
        """Raise where nobody listens at the model's address, or has other models alone."""
        where, names = self.traits.where, self.traits.names
        await reachable(where)
        there = await asyncio.to_thread(names) if names else ()
        name = where.model.partition(":")[2]
        if there and not {name, f"{name}:latest"} & set(there):
            raise UnknownModel(where.model, f"is not among the models at {where.address}: {', '.join(there)}")

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Words as they come, then the completion. Failures before the first word are tried again."""
        again = stamina.AsyncRetryingCaller(
            attempts=self.traits.attempts,
            timeout=90.0,
            wait_initial=self.traits.first_wait,
            wait_max=8.0,
            wait_jitter=self.traits.first_wait / 2,
        )
        begun: list[Reply] = []  # an attempt that breaks off is billed as well
        try:
            first, rest = await again(lambda problem: isinstance(problem, Failure) and problem.again, self._begin, prompt, begun)
            async with aclosing(rest):
                yield self._counted(first, prompt, begun)
                async for item in rest:
                    yield self._counted(item, prompt, begun)
        except Failure as failure:
            error = failure.error
            error.input_tokens, error.output_tokens = estimated(prompt, begun, self.traits.count)
            raise error from None

    async def aclose(self) -> None:
        """Close the connections; the model may be used again."""
        held, self._connected = self._connected, None
        if held is not None and held.close is not None:
            await held.close()
        if self._on_close is not None:
            await self._on_close()

    def _counted(self, item: str | Completion, prompt: Prompt, begun: Sequence[Reply]) -> str | Completion:
        """The completion with what attempts before it have used."""
        if isinstance(item, str) or len(begun) < 2:
            return item
        read, said = estimated(prompt, begun[:-1], self.traits.count)
        price = self.price(read, said)
        cost = None if item.cost is None or price is None else item.cost + price
        return replace(item, input_tokens=item.input_tokens + read, output_tokens=item.output_tokens + said, cost=cost)

    async def _begin(self, prompt: Prompt, begun: list[Reply]) -> tuple[str | Completion, AsyncGenerator[str | Completion]]:
        """Up to the first words: until then nobody sees what goes wrong."""
        while True:
            attempt = self._attempt(prompt, begun)
            try:
                return await anext(attempt), attempt
            except Refused as refused:
                self.traits = self.traits.less(refused.what)
            except Failure as failure:
                if failure.window:
                    self.traits = replace(self.traits, capabilities=replace(self.capabilities, context_tokens=failure.window))
                raise

    async def _attempt(self, prompt: Prompt, begun: list[Reply]) -> AsyncGenerator[str | Completion]:
        connected = await self._connection()
        request = build(prompt, self.traits, connected)
        thinks = self.traits.thinks and "prefill" not in request.sent
        reply = Reply(prompt.stop, max_tokens=prompt.max_tokens, thinks=thinks, after_space=request.after_space)
        speaking = False
        try:
            opened = model_request_stream(
                connected.model, request.messages, model_settings=request.settings, model_request_parameters=request.parameters
            )
            async with opened as response:
                begun.append(reply)
                async for event in response:
                    speaking = True
                    words, is_text = _words(event)
                    begins = isinstance(event, PartStartEvent)
                    reply.heard(len(words), begins=begins)
                    if begins and isinstance(event.part, ThinkingPart):
                        reply.thinking_apart()
                    if shown := reply.feed(words if is_text else ""):
                        yield shown
                    if reply.over:
                        break  # leaving closes the connection, which ends the generation
                ended = response.finish_reason not in (("error", None) if self.traits.says_end else ("error",))
                if not reply.over and not ended:
                    raise Failure(BrokenStream(self.name, "the reply broke off before its end"), again=True)
                if rest := reply.finish():
                    yield rest
        except (WellreadError, Failure, Warning):
            raise
        except Exception as problem:
            raise translate(problem, self.traits.where, request.sent, speaking=speaking) from None
        self.traits = replace(self.traits, thinks=self.traits.thinks or reply.thought_unmarked)
        yield completion(prompt, response, reply, self.traits.tariff, self.traits.count)

    async def _connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # connections belong to the loop that opened them
            self._loop, self._connected, self._connecting = loop, None, asyncio.Lock()
        async with self._connecting:
            if self._connected is None:
                self._connected = await self._connect()
            return self._connected


def from_pydantic_ai(model: ProviderModel, capabilities: Capabilities | None = None) -> ChatModel:
    """Any model of pydantic-ai as ours: a provider that wellread has no spec for, or a test's FunctionModel."""
    name = model.model_name
    profile = cast("dict[str, Any]", model.profile)
    able = capabilities or Capabilities(
        context_tokens=profile.get("context_window"),
        tools=profile.get("supports_tools", True),
        schemas=bool(profile.get("supports_json_schema_output")),
    )

    async def connect() -> Connection:
        return Connection(model)

    traits = Traits(Where(name), able, Tariff(name, provider=model.system), says_end=False)
    return ChatModel(traits, connect)


def _words(event: ModelResponseStreamEvent) -> tuple[str, bool]:
    """The words in an event, and whether they are text; the first ones of a part come with its start, the others as deltas."""
    match event:
        case PartStartEvent(part=TextPart(content=said)) | PartDeltaEvent(delta=TextPartDelta(content_delta=said)):
            return said, True
        case PartStartEvent(part=ThinkingPart(content=said)) | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=said)):
            return said or "", False
        case PartStartEvent(part=ToolCallPart(args=said)) | PartDeltaEvent(delta=ToolCallPartDelta(args_delta=said)):
            return said if isinstance(said, str) else "", False
        case _:
            return "", False


_SECONDS = 3.0


async def reachable(where: Where) -> None:
    """Raise where nobody listens at the address. Behind a proxy only a call can tell."""
    parts = urlsplit(where.address or "")
    if not parts.hostname or (not where.loopback and urllib.request.getproxies()):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except OSError as problem:  # a timeout is one, too
        hint = ": is the server running?" if where.loopback else ""
        raise ModelError(where.model, f"cannot reach {where.address} ({problem or 'no reply in time'}){hint}") from None
    writer.close()


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
    parts = [] if reply.over else [part for part in response.get().parts if isinstance(part, ToolCallPart)]
    calls = tuple(ToolCall(part.tool_call_id, part.tool_name, arguments(part.args)) for part in parts[:_MOST_CALLS])
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
    """A provider's count of tokens, as far as it can be: whole, and no more than anybody has used."""
    return int(given) if 0 <= given <= _MOST_TOKENS else 0


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
