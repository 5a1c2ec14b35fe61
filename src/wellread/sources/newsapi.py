"""`newsapi`: articles from News API (newsapi.org), `/v2/everything`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from wellread.net.payload import Payload
from wellread.net.service import retry_after
from wellread.parameters import Count, Range, param
from wellread.protocols import Parts
from wellread.sources.hits import hit, plain
from wellread.sources.service import Key, Service, VendorOptions
from wellread.text.dates import iso_date
from wellread.types import Hit, Query, Spec

_LONGEST_QUERY = 500  # characters that the service takes
_SPELLINGS = {"from": "since", "to": "until", "pageSize": "page_size", "sortBy": "sort_by", "searchIn": "search_in"}
_CUT = re.compile(r"\+?\d{1,12} chars\]")
_LANGUAGES = frozenset(["ar", "de", "en", "es", "fr", "he", "it", "nl", "no", "pt", "ru", "sv", "ud", "zh"])


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://newsapi.org", "address of the service")
    since: str | None = param(None, "oldest article, an ISO date; also written from=", sent="from")
    until: str | None = param(None, "newest article, an ISO date; also written to=", sent="to")
    language: str | None = param(None, "two letters: en, de, fr, …")
    sort_by: Literal["relevancy", "popularity", "publishedAt"] = param("relevancy", "order of the articles", sent="sortBy")
    page_size: Annotated[int, Range(1, 100)] = param(50, "articles in one request, at most 100", sent="pageSize")
    max_pages: Count = param(2, "requests for one search at most")
    domains: str | None = param(None, "only these sites, with commas", sent="domains")
    exclude_domains: str | None = param(None, "never these sites", sent="excludeDomains")
    search_in: str | None = param(None, "title, description, content; any of them with commas", sent="searchIn")

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            if (value := getattr(self, name)) and iso_date(value[:10]) != value[:10]:
                raise ValueError(f"{name} must be an ISO date such as 2023-06-01, not {value!r}")


class NewsApi(Service[Options]):
    """News articles of the last weeks, from News API."""

    key = Key(("NEWSAPI_KEY", "NEWS_API_KEY"), "X-Api-Key", "")
    path, results = "/v2/everything", ("articles",)
    hint = (
        "Recent news articles from many papers and stations. Use the names and events a headline would have; "
        "vary wording, general and specific; exact phrases go in quotes, a + before a word makes it necessary."
    )

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(replace(spec, options={_SPELLINGS.get(name, name): value for name, value in spec.options.items()}), kit)
        self.most_pages = self.options.max_pages

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "q": query.text[:_LONGEST_QUERY],
            "page": number + 1,
            "from": query.since,
            "to": query.until,
            "language": self.options.language or (query.language if query.language in _LANGUAGES else None),
        }

    def goes_on(self, answer: Payload, number: int, found: int) -> bool:
        return (number + 1) * self.options.page_size < (answer.number("totalResults") or 0)

    def check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        if answer.text("status") == "ok":
            return
        code, message = answer.text("code"), answer.text("message") or "an answer that is not one of News API"
        if code == "rateLimited":
            raise self.http.busy(message, retry_after(headers))
        raise self.http.error(f"{message} ({code})" if code else message)

    def hit(self, item: Payload) -> Hit | None:
        title = item.text("title")
        if title.strip() == "[Removed]":  # what the service leaves of withdrawn articles
            return None
        description, content = plain(item.text("description")), _without_cut_mark(plain(item.text("content")))
        beginning = content if content[:40] and content[:40] not in description else ""
        return hit(
            title=title,
            url=item.text("url"),
            snippet=description,
            beginning=beginning,
            published=item.text("publishedAt"),
            heading=item.text("source", "name"),  # the paper or station under which it stands
        )


def _without_cut_mark(text: str) -> str:
    """`…words… [+1234 chars]` is how the service says that it shows only the beginning."""
    words, _, mark = text.rstrip().rpartition("[")
    return words.rstrip().removesuffix("…").removesuffix("...").rstrip() if _CUT.fullmatch(mark) else text
