"""`searxng:URL`: a SearXNG (or searx) of your own, which asks many search engines at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.net.address import address
from wellread.net.payload import Payload, told
from wellread.net.service import Http, Manners, Params, Refused
from wellread.parameters import Seconds, fill, param
from wellread.protocols import Parts
from wellread.sources.hits import hit, with_page
from wellread.sources.web import WebSource
from wellread.types import Hit, Hits, Query, Spec

_MAX_PAGES = 5
_MOST_ENGINES = 50


@dataclass(frozen=True, slots=True)
class Options:
    engines: str | None = param(None, "only these engines, with commas: bing,wikipedia")
    categories: str | None = param(None, "only these categories, with commas: general,science")
    language: str | None = param(None, "language of the results: en, de-AT, all")
    time_range: Literal["day", "week", "month", "year"] | None = param(None, "only pages of the last day, week, …")
    safe_search: Literal["0", "1", "2"] | None = param(None, "0 off, 1 moderate, 2 strict")
    timeout: Seconds = param(20.0, "seconds for one request; engines are slow together")


def from_spec(spec: Spec, kit: Parts) -> SearXNG:
    """Meta search by a SearXNG server of yours."""
    options = fill(Options, spec.options, "source searxng")
    base = address(spec.argument, "searxng", "http://127.0.0.1:8080")
    http = Http(f"searxng:{base.host}", kit, Manners(timeout=options.timeout), base.keys)
    return SearXNG(http, options, base.url)


class SearXNG(WebSource[Options]):
    """Results of many engines; an engine that does not answer is reported."""

    public = True
    hint = (
        "A meta search over several web search engines. Key words as in any search box, in the language of the pages "
        "you hope for; no operators that only one engine knows."
    )

    async def find(self, query: Query) -> Sequence[Hit]:
        hits: list[Hit] = []
        failures: dict[str, None] = {}
        for page in range(1, _MAX_PAGES + 1):
            answer = await self._page(query, page)
            before, hits = len(hits), await with_page(hits, answer.items("results"), self._hit)
            failures.update((self._silent(item), None) for item in answer.items("unresponsive_engines")[:_MOST_ENGINES])
            if len(hits) == before or len(hits) >= query.limit:
                break
        if not hits and failures:
            raise self._http.error("no engine answered: " + "; ".join(failures))
        return Hits(tuple(hits[: query.limit]), tuple(f"{self.name}: {why}" for why in failures))

    async def _page(self, query: Query, page: int) -> Payload:
        o = self._options
        params: Params = {
            "q": query.text,
            "format": "json",
            "pageno": page,
            "engines": o.engines,
            "categories": o.categories,
            "language": o.language or query.language,
            "time_range": o.time_range,
            "safesearch": o.safe_search,
        }
        try:
            return await self._http.get(f"{self._base}/search", params)
        except Refused as problem:
            if problem.status == 403:
                raise self._http.error("it gives no JSON: add json to search.formats in its settings.yml") from None
            raise

    def _silent(self, item: Payload) -> str:
        return told(f"{item.text(0)[:100] or 'an engine'} did not answer ({item.text(1) or 'no reason given'})", ())

    def _hit(self, item: Payload, rank: int) -> Hit | None:
        return hit(
            self.name,
            rank,
            title=item.text("title"),
            url=item.text("url"),
            snippet=item.text("content"),
            published=item.text("publishedDate"),
        )
