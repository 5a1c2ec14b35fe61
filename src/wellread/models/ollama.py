"""`ollama:NAME`: models of an Ollama server, this machine's or the one in OLLAMA_HOST."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from wellread.errors import UsageError, optional
from wellread.models.default import ollama_address, ollama_models
from wellread.models.openai import connection, is_local, public
from wellread.parameters import Length, fill, param
from wellread.protocols import Model, Parts
from wellread.types import Capabilities, Spec

# Ollama cuts longer prompts without a word, so the window it uses by default is taken for granted.
_WINDOW = 4096


@dataclass(frozen=True, slots=True)
class Options:
    """What Ollama's compatible API does not tell."""

    context: Length | None = param(None, "the context window in tokens (OLLAMA_CONTEXT_LENGTH, else 4096)")
    continues: bool = param(False, "the model's template goes on from a partial answer")
    tools: bool = param(False, "the model can call tools")
    schemas: bool = param(True, "the server keeps to JSON schemas")


def from_spec(spec: Spec, kit: Parts) -> Model:
    """Models of an Ollama server: ollama:NAME, the server from OLLAMA_HOST."""
    with optional(f"ollama:{spec.argument}", "openai"):
        from wellread.models.chat import ChatModel, Traits
        from wellread.models.failures import Where
        from wellread.models.prices import FREE, Tariff

    options = fill(Options, spec.options, "ollama")
    name = spec.argument
    if not name:
        raise UsageError("ollama needs a model: ollama:NAME (`ollama list` shows what there is)")
    address, configured = ollama_address(kit.environ), kit.environ.get("OLLAMA_CONTEXT_LENGTH", "")
    shown, secrets = public(address)
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
