"""`brave`: the web search of Brave (api.search.brave.com)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from wellread.net.address import address, key
from wellread.net.payload import Payload
from wellread.net.service import Http, Manners, Params
from wellread.parameters import Range, Seconds, fill, param
from wellread.protocols import Parts
from wellread.sources.hits import hit, with_page
from wellread.sources.web import WebSource
from wellread.types import Hit, Query, Spec

_LONGEST_QUERY, _MOST_WORDS = 400, 50
_PAGE, _LAST_PAGE = 20, 9


@dataclass(frozen=True, slots=True)
class Options:
    country: str | None = param(None, "two letters: US, DE, …; where results come from")
    language: str | None = param(None, "two letters: en, de, …; of the pages")
    safe_search: Literal["off", "moderate", "strict"] = param("moderate", "filter for adult content")
    freshness: str | None = param(None, "pd, pw, pm, py (past day … year) or 2023-06-01to2023-06-30")
    extra_snippets: bool = param(False, "up to five more excerpts per page, where the plan allows it")
    rate: Annotated[float, Range(0.001, 1000)] = param(1.0, "requests a second that the plan allows")
    timeout: Seconds = param(15.0, "seconds for one request")
    base: str = param("https://api.search.brave.com", "address of the service")


def from_spec(spec: Spec, kit: Parts) -> Brave:
    """Web search by Brave."""
    options = fill(Options, spec.options, "source brave")
    base = address(options.base, "brave", "?base=https://api.search.brave.com")
    keys = {"X-Subscription-Token": key(kit, "brave", "BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY")}
    manners = Manners(timeout=options.timeout, interval=1 / options.rate)
    return Brave(Http("brave", kit, manners, keys, "BRAVE_API_KEY"), options, base.url)


class Brave(WebSource[Options]):
    """Results of the general index, page by page."""

    public = True
    hint = "A general web search engine. Key words as in any search box; quotes for exact phrases, site:example.org, -word."

    async def find(self, query: Query) -> Sequence[Hit]:
        hits: list[Hit] = []
        text = " ".join(query.text.split()[:_MOST_WORDS])[:_LONGEST_QUERY]
        for page in range(min(-(-query.limit // _PAGE), _LAST_PAGE + 1)):
            answer = await self._http.get(f"{self._base}/res/v1/web/search", self._params(query, text, page))
            hits = await with_page(hits, answer.items("web", "results"), _hit)
            if len(hits) >= query.limit or answer.at("query", "more_results_available").value is not True:
                break
        return hits[: query.limit]

    def _params(self, query: Query, text: str, page: int) -> Params:
        o = self._options
        return {
            "q": text,
            "count": min(query.limit, _PAGE),
            "offset": page or None,
            "country": o.country,
            "search_lang": o.language or query.language,
            "safesearch": o.safe_search,
            "freshness": _freshness(query) or o.freshness,
            "text_decorations": "false",
            "result_filter": "web",
            "extra_snippets": "true" if o.extra_snippets else None,
        }


def _freshness(query: Query) -> str | None:
    if not query.since and not query.until:
        return None
    return f"{(query.since or '1990-01-01')[:10]}to{(query.until or date.today().isoformat())[:10]}"


def _hit(item: Payload, rank: int) -> Hit | None:
    extra = [more.text() for more in item.items("extra_snippets")]
    return hit(
        "brave",
        rank,
        title=item.text("title"),
        url=item.text("url"),
        snippet=" … ".join([item.text("description"), *extra]),
        published=item.text("page_age"),
    )
