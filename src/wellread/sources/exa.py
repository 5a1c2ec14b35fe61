"""`exa`: a web search by meaning (exa.ai)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wellread.net.payload import Payload
from wellread.parameters import Seconds, param
from wellread.sources.hits import hit
from wellread.sources.service import Key, Service, VendorOptions
from wellread.types import Hit, Query


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    timeout: Seconds = param(20.0, "seconds for one request")
    base: str = param("https://api.exa.ai", "address of the service")
    kind: Literal["auto", "fast", "deep", "keyword", "neural"] = param("auto", "how it searches")
    category: str | None = param(None, "only pages of a kind: research paper, news, company, …")
    domains: tuple[str, ...] = param((), "only these sites")
    exclude_domains: tuple[str, ...] = param((), "never these sites")
    full_text: bool = param(False, "bring the whole text of each page along, at a price")


class Exa(Service[Options]):
    """Web search by meaning, by Exa."""

    Params = Options
    hint = "A web search by meaning. Describe the page you hope for in one clear sentence; key words work too."
    key = Key(("EXA_API_KEY",), "x-api-key", "")
    path, form = "/search", "json"
    page_size = 100

    def asks(self, query: Query, number: int) -> dict[str, object]:
        o = self.options
        return {
            "query": query.text,
            "numResults": min(query.limit, self.page_size),
            "type": o.kind,
            "category": o.category,
            "includeDomains": list(o.domains),
            "excludeDomains": list(o.exclude_domains),
            "startPublishedDate": query.since,
            "endPublishedDate": query.until,
            "contents": {"text": True} if o.full_text else {"highlights": True},
        }

    def hit(self, item: Payload, rank: int) -> Hit | None:
        return hit(
            self.name,
            rank,
            title=item.text("title") or item.text("url"),
            url=item.text("url"),
            snippet=" … ".join(one.text() for one in item.items("highlights")[:5]) or item.text("summary"),
            text=item.text("text") or None,
            published=item.text("publishedDate"),
        )
