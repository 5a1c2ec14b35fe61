"""`searxng:URL`: a SearXNG (or searx) of your own, which asks many search engines at once."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from wellread.errors import UsageError
from wellread.net.address import Address
from wellread.net.payload import Payload, told
from wellread.net.service import Refused
from wellread.parameters import Seconds, param
from wellread.sources.service import Fields, Service, ServiceOptions
from wellread.types import Query, Spec

_MOST_ENGINES = 50
_PORTS = (8080, 8888)


@dataclass(frozen=True, slots=True)
class Options(ServiceOptions):
    timeout: Seconds = param(20.0, "seconds for one request; engines are slow together")
    engines: str | None = param(None, "only these engines, with commas: bing,wikipedia")
    categories: str | None = param(None, "only these categories, with commas: general,science")
    language: str | None = param(None, "language of the results: en, de-AT, all")
    time_range: Literal["day", "week", "month", "year"] | None = param(None, "only pages of the last day, week, …")
    safe_search: Literal["0", "1", "2"] | None = param(None, "0 off, 1 moderate, 2 strict")


class SearXNG(Service[Options]):
    """Meta search by a SearXNG server of yours."""

    Params = Options
    address = "http://127.0.0.1:8080"
    hint = (
        "A meta search over several web search engines. Key words as in any search box, in the language of the pages "
        "you hope for; no operators that only one engine knows."
    )
    path = "/search"
    fields = Fields(snippet="content", published="publishedDate")
    most_pages = 5

    def place(self, spec: Spec) -> Address:
        """As it is named; else one on this machine, on the ports that it comes with."""
        found = spec.argument or found_here()
        if not found:
            raise UsageError(f"searxng needs the address of a server: searxng:{self.address} (none listens there)")
        return super().place(replace(spec, argument=found))

    def asks(self, query: Query, number: int) -> dict[str, object]:
        o = self.options
        return {
            "q": query.text,
            "format": "json",
            "pageno": number + 1,
            "engines": o.engines,
            "categories": o.categories,
            "language": o.language or query.language,
            "time_range": o.time_range,
            "safesearch": o.safe_search,
        }

    async def page(self, query: Query, number: int) -> Payload:
        try:
            return await super().page(query, number)
        except Refused as problem:
            if problem.status == 403:
                raise self.http.error("it gives no JSON: add json to search.formats in its settings.yml") from None
            raise

    def goes_on(self, answer: Payload, number: int, found: int) -> bool:
        return True  # until a page brings nothing new

    def failures(self, answer: Payload) -> Iterable[str]:
        """Engines that do not answer are reported."""
        for item in answer.items("unresponsive_engines")[:_MOST_ENGINES]:
            yield told(f"{item.text(0)[:100] or 'an engine'} did not answer ({item.text(1) or 'no reason given'})", ())


def found_here() -> str:
    """The address of a SearXNG on this machine, as far as an open port tells; "" where there is none."""
    for port in _PORTS:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
            return f"http://127.0.0.1:{port}"
    return ""
