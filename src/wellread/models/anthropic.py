"""`anthropic:NAME`: Claude models through Anthropic's own API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from wellread.errors import UsageError, WrongKey, optional
from wellread.models.openai import Thinking, is_local
from wellread.net import address as addresses
from wellread.parameters import Length, fill, param
from wellread.protocols import Model, Parts
from wellread.types import Capabilities, Spec

if TYPE_CHECKING:
    from wellread.models.chat import Connection

OFFICIAL = "https://api.anthropic.com"
# Later models refuse a partial answer to go on from. The refusal would be noticed; this saves the call.
_CONTINUES = re.compile(r"claude-(?:2|instant|3|(?:opus|sonnet|haiku)-4(?:-[015])?(?:-\d{8})?$|.*-4-20\d{6})")


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of a Claude model."""

    context: Length | None = param(None, "the context window in tokens; known models are looked up")
    continues: bool | None = param(None, "the model goes on from a partial answer; older ones do")
    thinking: Thinking | None = param(None, "how hard the model thinks; as little as it can by default")


def from_spec(spec: Spec, kit: Parts) -> Model:
    """Anthropic's models, with the key in ANTHROPIC_API_KEY."""
    with optional(f"anthropic:{spec.argument}", "anthropic", "anthropic"):
        from pydantic_ai.profiles.anthropic import anthropic_model_profile

        from wellread.models.chat import ChatModel, Tariff, Traits, Where

    options = fill(Options, spec.options, "anthropic")
    name = spec.argument
    if not name:
        raise UsageError("anthropic needs a model: anthropic:NAME")
    key = kit.environ.get("ANTHROPIC_API_KEY", "").strip()
    if not key:
        raise WrongKey(f"anthropic:{name}", "set ANTHROPIC_API_KEY to your key")
    address = kit.environ.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/") or OFFICIAL
    if address != OFFICIAL:
        addresses.address(address, "anthropic", "NAME with ANTHROPIC_BASE_URL=http://127.0.0.1:8080")
    tariff = Tariff(name, provider="anthropic") if address == OFFICIAL else Tariff(name, address=address)
    able = Capabilities(
        context_tokens=options.context or Tariff(name, provider="anthropic").window() or 200_000,
        continues=bool(_CONTINUES.match(name)) if options.continues is None else options.continues,
        tools=True,
        schemas=bool((anthropic_model_profile(name) or {}).get("supports_json_schema_output")),
    )
    where = Where(f"anthropic:{name}", address, is_local(address), (key,))
    return ChatModel(Traits(where, able, tariff, thinking=options.thinking), partial(_connection, name, address, key))


async def _connection(name: str, address: str, key: str) -> Connection:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    from wellread.models.chat import Connection
    from wellread.models.client import Client

    client = Client(local=is_local(address))
    anthropic = AsyncAnthropic(api_key=key, base_url=address, http_client=client)
    return Connection(AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic)), client.aclose)
