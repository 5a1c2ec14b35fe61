"""`openai:NAME` and any server that speaks the same protocol: `openai:NAME@http://127.0.0.1:8080/v1`; and
`ollama:NAME`: models of an Ollama server, this machine's or the one in OLLAMA_HOST."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from wellread.errors import UsageError, WrongKey, optional
from wellread.models.default import ollama_address, ollama_models
from wellread.net import address as addresses
from wellread.net.address import is_loopback, name_and_address
from wellread.parameters import Length, Range, fill, param
from wellread.protocols import Model, Parts
from wellread.types import Capabilities, Spec

if TYPE_CHECKING:
    from wellread.models.chat import Connection

Thinking = Literal["minimal", "low", "medium", "high"]
OFFICIAL = "https://api.openai.com/v1"
# Of models whose chat template opens the thinking, so that only its end shows in the text.
_THINKS = re.compile(r"deepseek-?r1|qwq|thinking|reasoner|magistral", re.IGNORECASE)
_UNKNOWN_WINDOW = 8192  # what a server with an unknown model is trusted with, unless `context` says more


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of a compatible server that it does not tell itself."""

    context: Length | None = param(None, "the context window in tokens; known models are looked up, else 8192")
    continues: bool = param(False, "the server goes on from a partial answer (llama.cpp, vLLM)")
    tools: bool | None = param(None, "the server takes tools; by default only OpenAI itself is trusted to")
    schemas: bool = param(True, "the server takes JSON schemas; a refusal is noticed and remembered")
    thinking: Thinking | None = param(None, "how hard a reasoning model thinks; as little as it can by default")
    key_env: str | None = param(None, "environment variable with the server's key")
    input_price: Annotated[float, Range(0, 1_000_000_000)] | None = param(
        None, "US dollars for a million input tokens, where the price is not known"
    )
    output_price: Annotated[float, Range(0, 1_000_000_000)] | None = param(None, "US dollars for a million output tokens")


def from_spec(spec: Spec, kit: Parts) -> Model:
    """OpenAI's models, or another server's after an @: `openai:NAME@http://127.0.0.1:8080/v1`."""
    options = fill(Options, spec.options, "openai")
    name, address = name_and_address(spec.argument)
    if not name:
        raise UsageError("openai needs a model: openai:NAME, or openai:NAME@http://127.0.0.1:8080/v1")
    base = (address or kit.environ.get("OPENAI_BASE_URL", "")).strip().rstrip("/")
    # what is no address must not end as the name of a model elsewhere
    shown, secrets = _public(base if "@" in name else base or OFFICIAL, "openai")
    # OPENAI_API_KEY never goes to another server: only a key that was named for it does.
    variable = options.key_env or ("" if address else "OPENAI_API_KEY")
    key = kit.environ.get(variable, "").strip() if variable else None
    if key == "":
        raise WrongKey(f"openai:{name}", f"set {variable} to your key")
    official, address = not address and base in ("", OFFICIAL), base or OFFICIAL
    with optional(f"openai:{name}", "openai", "openai"):
        from wellread.models.chat import ChatModel, Tariff, Traits, Where

    sold_by, at = ("openai", None) if official else (None, address)
    tariff = Tariff(name, sold_by, at, options.input_price, options.output_price)
    able = Capabilities(
        context_tokens=options.context or tariff.window() or (128_000 if official else _UNKNOWN_WINDOW),
        continues=options.continues,
        tools=official if options.tools is None else options.tools,
        schemas=options.schemas,
    )
    known_as = f"openai:{name}" if official else f"openai:{name}@{shown}"
    traits = Traits(
        Where(known_as, shown, is_local(address), (*secrets, *([key] if key else []))),
        able,
        tariff,
        stop_limit=4,
        compatible=not official,
        thinks=not official and bool(_THINKS.search(name)),
        thinking=options.thinking,
    )

    return ChatModel(traits, partial(connection, name, address, key, official=official))


async def connection(name: str, address: str, key: str | None, *, official: bool = False) -> Connection:
    """A client of its own for this event loop; a proxy from the environment is never used for this machine."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from wellread.models.chat import Connection
    from wellread.models.client import Client
    from wellread.models.markers import USUAL

    client = Client(local=is_local(address))
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    if official:
        provider = OpenAIProvider(base_url=address, api_key=key, http_client=client)
    else:
        provider = OpenAICompatibleProvider("server", base_url=address, api_key=key, http_client=client)
        # Nearly every server knows `max_tokens`; one that ignores `max_completion_tokens` would never stop.
        profile["openai_chat_supports_max_completion_tokens"] = False
        profile["openai_supports_strict_tool_definition"] = False
        profile["supports_json_schema_output"] = True
    return Connection(OpenAIChatModel(name, provider=provider, profile=profile), client.aclose, None if official else USUAL)


def _public(address: str, kind: str) -> tuple[str, tuple[str, ...]]:
    """The address without the password that may be in it, and the secrets that it holds."""
    found = addresses.address(address, kind, "NAME@http://127.0.0.1:8080/v1")
    return found.url, tuple(secret for key in found.keys.values() for secret in addresses.secrets(key))


def is_local(address: str) -> bool:
    """Whether an address is on this machine."""
    return is_loopback(urlsplit(address).hostname or "")


# Ollama cuts longer prompts without a word, so the window it uses by default is taken for granted.
_WINDOW = 4096


@dataclass(frozen=True, slots=True)
class OllamaOptions:
    """Settings of an Ollama model, as far as its compatible API does not tell."""

    context: Length | None = param(None, "the context window in tokens (OLLAMA_CONTEXT_LENGTH, else 4096)")
    continues: bool = param(False, "the model's template goes on from a partial answer")
    tools: bool = param(False, "the model can call tools")
    schemas: bool = param(True, "the server keeps to JSON schemas")


def ollama(spec: Spec, kit: Parts) -> Model:
    """Models of an Ollama server: ollama:NAME, the server from OLLAMA_HOST."""
    with optional(f"ollama:{spec.argument}", "openai", "openai"):
        from wellread.models.chat import FREE, ChatModel, Tariff, Traits, Where

    options = fill(OllamaOptions, spec.options, "ollama")
    name = spec.argument
    if not name:
        raise UsageError("ollama needs a model: ollama:NAME (`ollama list` shows what there is)")
    address, configured = ollama_address(kit.environ), kit.environ.get("OLLAMA_CONTEXT_LENGTH", "")
    shown, secrets = _public(address, "ollama")
    own = is_local(address) and not name.endswith("-cloud")
    able = Capabilities(
        context_tokens=options.context or (int(configured) if configured.isdigit() else 0) or _WINDOW,
        continues=options.continues,
        tools=options.tools,
        schemas=options.schemas and own,
    )
    where = Where(f"ollama:{name}", shown, is_local(address), secrets)
    # One's own machine costs nothing by the token; what somebody else's server costs is not known.
    traits = Traits(where, able, FREE if own else Tariff(name), compatible=True, names=lambda: ollama_models(address))
    return ChatModel(traits, partial(connection, name, f"{address}/v1", None))


cast("Any", ollama).Params = OllamaOptions
