"""Which model to use when none is named. Runs at every start, so it imports next to nothing."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from wellread.net.payload import Payload

# Quick, inexpensive models of each provider; a run makes many small calls. First key set wins.
_PROVIDERS = (
    ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-5-5"),
    ("OPENAI_API_KEY", "openai:gpt-6-luna"),
)
_OLLAMA = "http://127.0.0.1:11434"
_SECONDS = 0.2


def default_spec(environ: Mapping[str, str]) -> str | None:
    """The first provider whose key is set, else a running Ollama's first model, else None."""
    return next(available(environ), None)


def available(environ: Mapping[str, str]) -> Iterator[str]:
    """A model of each provider whose key is set, then those of a running Ollama, which is asked only now. Blocks for a moment."""
    yield from (spec for variable, spec in _PROVIDERS if environ.get(variable, "").strip())
    parts = urlsplit(address := ollama_address(environ))
    with contextlib.suppress(OSError):
        # A closed port answers at once; only an open one is worth loading an HTTP client for.
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=_SECONDS).close()
        yield from (f"ollama:{name}" for name in ollama_models(address, chat=True))


def ollama_address(environ: Mapping[str, str]) -> str:
    """Where Ollama listens, by the rules of its own OLLAMA_HOST (host, :port, host:port or an address)."""
    host = environ.get("OLLAMA_HOST", "").strip().strip("\"'")
    if not host:
        return _OLLAMA
    if "://" not in host:
        host = "http://" + host
    with contextlib.suppress(ValueError, KeyError):
        parts = urlsplit(host)
        name = parts.hostname or "127.0.0.1"
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
        default = {"http": 80, "https": 443}[parts.scheme] if environ["OLLAMA_HOST"].find("://") >= 0 else 11434
        shown = f"[{name}]" if ":" in name else name
        return f"{parts.scheme}://{shown}:{parts.port or default}{parts.path.rstrip('/')}"
    return _OLLAMA


def ollama_models(address: str, *, chat: bool = False) -> list[str]:
    """The names of a server's models, the one that changed last first; `chat`: no embedders."""
    import http.client
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy of the environment is not used for it
    try:
        with opener.open(f"{address}/api/tags", timeout=_SECONDS) as answer:
            rows = Payload.parse(answer.read(1_000_000)).items("models")
    except (OSError, ValueError, http.client.HTTPException):
        return []
    named = ((row.at("model").value or row.at("name").value, row.text("details", "family")) for row in rows)
    known = [(name, family) for name, family in named if name and isinstance(name, str)]
    return [name for name, family in known if not (chat and ("embed" in name or "bert" in family))]
