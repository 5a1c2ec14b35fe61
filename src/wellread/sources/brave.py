"""`brave`: the web search of Brave (api.search.brave.com)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from wellread.net.payload import Payload
from wellread.parameters import param
from wellread.sources.service import Fields, Key, Rate, Service, VendorOptions
from wellread.types import Query

_LONGEST_QUERY, _MOST_WORDS = 400, 50


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    rate: Rate = param(1.0, "requests a second that the plan allows")
    base: str = param("https://api.search.brave.com", "address of the service")
    country: str | None = param(None, "two letters: US, DE, …; where results come from")
    language: str | None = param(None, "two letters: en, de, …; of the pages")
    safe_search: Literal["off", "moderate", "strict"] = param("moderate", "filter for adult content")
    freshness: str | None = param(None, "pd, pw, pm, py (past day … year) or 2023-06-01to2023-06-30")
    extra_snippets: bool = param(False, "up to five more excerpts per page, where the plan allows it")


class Brave(Service[Options]):
    """Web search by Brave."""

    Params = Options
    hint = "A general web search engine. Key words as in any search box; quotes for exact phrases, site:example.org, -word."
    key = Key(("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"), "X-Subscription-Token", "")
    path = "/res/v1/web/search"
    results = ("web", "results")
    fields = Fields(snippet=("description", "extra_snippets"), published="page_age")
    most_pages = 10

    def asks(self, query: Query, number: int) -> dict[str, object]:
        o = self.options
        return {
            "q": " ".join(query.text.split()[:_MOST_WORDS])[:_LONGEST_QUERY],
            "count": min(query.limit, self.page_size),
            "offset": number or None,
            "country": o.country,
            "search_lang": o.language or query.language,
            "safesearch": o.safe_search,
            "freshness": _freshness(query) or o.freshness,
            "text_decorations": "false",
            "result_filter": "web",
            "extra_snippets": "true" if o.extra_snippets else None,
        }

    def goes_on(self, answer: Payload, number: int, found: int) -> bool:
        return answer.at("query", "more_results_available").value is True


def _freshness(query: Query) -> str | None:
    if not query.since and not query.until:
        return None
    return f"{(query.since or '1990-01-01')[:10]}to{(query.until or date.today().isoformat())[:10]}"
