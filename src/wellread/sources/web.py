"""`web`: the web, by the first service that is configured. Its name says which."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

from wellread.errors import UsageError
from wellread.protocols import Parts, Source
from wellread.sources import searxng
from wellread.sources.brave import Brave
from wellread.sources.duckduckgo import DuckDuckGo
from wellread.sources.exa import Exa
from wellread.sources.google import ENGINE, Google
from wellread.sources.kagi import Kagi
from wellread.sources.serper import Serper
from wellread.sources.tavily import Tavily
from wellread.types import Spec

SERVICES = {"tavily": Tavily, "brave": Brave, "exa": Exa, "kagi": Kagi, "serper": Serper, "google": Google}


def from_spec(spec: Spec, kit: Parts) -> Source:
    """The web, by the first service that has its key; else by a SearXNG on this machine; else by DuckDuckGo."""
    if spec.argument:
        raise UsageError("web takes no argument; it takes the options of the service that it finds")
    for name, service in SERVICES.items():
        if service.key and service.key.found(kit.environ) and (name != "google" or kit.environ.get(ENGINE)):
            return service(replace(spec, name=name), kit)
    if found := searxng.found_here():
        return searxng.SearXNG(replace(spec, name="searxng", argument=found), kit)
    if find_spec("ddgs"):
        return DuckDuckGo(replace(spec, name="duckduckgo"), kit)
    keys = ", ".join(service.key.names[0] for service in SERVICES.values() if service.key)
    raise UsageError(
        f'web needs one of these keys: {keys}; or a SearXNG on this machine; or DuckDuckGo: pip install "wellread[web]"'
    )
