"""`tavily`: web search made for language models (tavily.com)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wellread.net.address import address, key
from wellread.net.service import Http, Manners
from wellread.parameters import Seconds, fill, param
from wellread.protocols import Parts
from wellread.sources.hits import cleaned, hit
from wellread.sources.web import WebSource
from wellread.types import Hit, Query, Spec

_LONGEST_QUERY = 400
_MOST = 20


@dataclass(frozen=True, slots=True)
class Options:
    depth: Literal["basic", "advanced"] = param("basic", "advanced looks for the best passages and costs double")
    topic: Literal["general", "news", "finance"] = param("general", "kind of pages")
    time_range: Literal["day", "week", "month", "year"] | None = param(None, "only pages of the last day, week, …")
    since: str | None = param(None, "oldest page, an ISO date")
    until: str | None = param(None, "newest page, an ISO date")
    domains: tuple[str, ...] = param((), "only these sites")
    exclude_domains: tuple[str, ...] = param((), "never these sites")
    country: str | None = param(None, "prefer pages from there: germany, japan, …")
    full_text: bool = param(False, "bring the whole text of each page along")
    timeout: Seconds = param(20.0, "seconds for one request")
    base: str = param("https://api.tavily.com", "address of the service")


def from_spec(spec: Spec, kit: Parts) -> Tavily:
    """Web search by Tavily."""
    options = fill(Options, spec.options, "source tavily")
    base = address(options.base, "tavily", "?base=https://api.tavily.com")
    keys = {"Authorization": "Bearer " + key(kit, "tavily", "TAVILY_API_KEY")}
    return Tavily(Http("tavily", kit, Manners(timeout=options.timeout), keys, "TAVILY_API_KEY"), options, base.url)


class Tavily(WebSource[Options]):
    """Snippets are the passages that Tavily found in a page."""

    public = True
    hint = "A web search that understands questions. One clear, specific question or phrase per search, under 400 characters."

    async def find(self, query: Query) -> Sequence[Hit]:
        answer = await self._http.post(f"{self._base}/search", self._body(query))
        hits = (
            hit(
                self.name,
                rank,
                title=item.text("title"),
                url=item.text("url"),
                snippet=item.text("content"),
                text=item.text("raw_content") or None,
                published=item.text("published_date"),
                score=item.number("score"),
            )
            for rank, item in enumerate(answer.items("results"))
        )
        return (await cleaned(hits))[: query.limit]

    def _body(self, query: Query) -> dict[str, object]:
        o = self._options
        wanted: dict[str, object] = {
            "query": query.text[:_LONGEST_QUERY],
            "max_results": min(query.limit, _MOST),
            "search_depth": o.depth,
            "topic": o.topic,
            "time_range": o.time_range,
            "start_date": query.since or o.since,
            "end_date": query.until or o.until,
            "include_domains": list(o.domains),
            "exclude_domains": list(o.exclude_domains),
            "country": o.country,
            "include_raw_content": "text" if o.full_text else False,
        }
        return {name: value for name, value in wanted.items() if value not in (None, [])}
