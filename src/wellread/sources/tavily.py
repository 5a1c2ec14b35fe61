"""`tavily`: web search made for language models (tavily.com)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wellread.parameters import Seconds, param
from wellread.sources.service import Fields, Key, Service, VendorOptions
from wellread.types import Query

_LONGEST_QUERY = 400


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    timeout: Seconds = param(20.0, "seconds for one request")
    base: str = param("https://api.tavily.com", "address of the service")
    depth: Literal["basic", "advanced"] = param("basic", "advanced looks for the best passages and costs double")
    topic: Literal["general", "news", "finance"] = param("general", "kind of pages")
    time_range: Literal["day", "week", "month", "year"] | None = param(None, "only pages of the last day, week, …")
    since: str | None = param(None, "oldest page, an ISO date")
    until: str | None = param(None, "newest page, an ISO date")
    domains: tuple[str, ...] = param((), "only these sites")
    exclude_domains: tuple[str, ...] = param((), "never these sites")
    country: str | None = param(None, "prefer pages from there: germany, japan, …")
    full_text: bool = param(False, "bring the whole text of each page along")


class Tavily(Service[Options]):
    """Web search by Tavily."""

    Params = Options
    hint = "A web search that understands questions. One clear, specific question or phrase per search, under 400 characters."
    key = Key(("TAVILY_API_KEY",))
    path, form = "/search", "json"
    fields = Fields(snippet="content", published="published_date", text="raw_content", score="score")

    def asks(self, query: Query, number: int) -> dict[str, object]:
        o = self.options
        return {
            "query": query.text[:_LONGEST_QUERY],
            "max_results": min(query.limit, self.page_size),
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
