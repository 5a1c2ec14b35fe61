"""`newsapi`: articles from News API (newsapi.org), `/v2/everything`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from wellread.net.address import address, key
from wellread.net.payload import Payload
from wellread.net.service import Http, Manners, Params, retry_after
from wellread.parameters import Count, Range, Seconds, fill, param
from wellread.protocols import Parts
from wellread.sources.hits import hit, with_page
from wellread.sources.markup import plain
from wellread.sources.web import WebSource
from wellread.text.dates import iso_date
from wellread.types import Hit, Query, Spec

_LONGEST_QUERY = 500  # characters that the service takes
_SPELLINGS = {"from": "since", "to": "until", "pageSize": "page_size", "sortBy": "sort_by", "searchIn": "search_in"}
_CUT = re.compile(r"\+?\d{1,12} chars\]")
_LANGUAGES = frozenset(["ar", "de", "en", "es", "fr", "he", "it", "nl", "no", "pt", "ru", "sv", "ud", "zh"])


@dataclass(frozen=True, slots=True)
class Options:
    since: str | None = param(None, "oldest article, an ISO date; also written from=")
    until: str | None = param(None, "newest article, an ISO date; also written to=")
    language: str | None = param(None, "two letters: en, de, fr, …")
    sort_by: Literal["relevancy", "popularity", "publishedAt"] = param("relevancy", "order of the articles")
    page_size: Annotated[int, Range(1, 100)] = param(50, "articles in one request, at most 100")
    max_pages: Count = param(2, "requests for one search at most")
    domains: str | None = param(None, "only these sites, with commas")
    exclude_domains: str | None = param(None, "never these sites")
    search_in: str | None = param(None, "title, description, content; any of them with commas")
    timeout: Seconds = param(15.0, "seconds for one request")
    base: str = param("https://newsapi.org", "address of the service")

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            if (value := getattr(self, name)) and iso_date(value[:10]) != value[:10]:
                raise ValueError(f"{name} must be an ISO date such as 2023-06-01, not {value!r}")


def from_spec(spec: Spec, kit: Parts) -> NewsApi:
    """News articles of the last weeks, from News API."""
    values = {_SPELLINGS.get(name, name): value for name, value in spec.options.items()}
    options = fill(Options, values, "source newsapi")
    base = address(options.base, "newsapi", "?base=https://newsapi.org")
    keys = {"X-Api-Key": key(kit, "newsapi", "NEWSAPI_KEY", "NEWS_API_KEY")}
    return NewsApi(Http("newsapi", kit, Manners(timeout=options.timeout), keys, "NEWSAPI_KEY"), options, base.url)


class NewsApi(WebSource[Options]):
    """Search results are title, description and the beginning of the article, each by itself."""

    public = True
    hint = (
        "Recent news articles from many papers and stations. Use the names and events a headline would have; "
        "vary wording, general and specific; exact phrases go in quotes, a + before a word makes it necessary."
    )

    async def find(self, query: Query) -> Sequence[Hit]:
        hits: list[Hit] = []
        for page in range(1, self._options.max_pages + 1):
            answer = await self._page(query, page)
            articles = answer.items("articles")
            hits = await with_page(hits, articles, _hit)
            enough = len(hits) >= query.limit or page * self._options.page_size >= (answer.number("totalResults") or 0)
            if enough or not articles:
                break
        return hits[: query.limit]

    async def _page(self, query: Query, page: int) -> Payload:
        o = self._options
        language = o.language or (query.language if query.language in _LANGUAGES else None)
        params: Params = {
            "q": query.text[:_LONGEST_QUERY],
            "pageSize": o.page_size,
            "page": page,
            "sortBy": o.sort_by,
            "from": query.since or o.since,
            "to": query.until or o.until,
            "language": language,
            "domains": o.domains,
            "excludeDomains": o.exclude_domains,
            "searchIn": o.search_in,
        }
        return await self._http.get(f"{self._base}/v2/everything", params, check=self._check)

    def _check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        if answer.text("status") == "ok":
            return
        code, message = answer.text("code"), answer.text("message") or "an answer that is not one of News API"
        if code == "rateLimited":
            raise self._http.busy(message, retry_after(headers))
        raise self._http.error(f"{message} ({code})" if code else message)


def _without_cut_mark(text: str) -> str:
    """`…words… [+1234 chars]` is how the service says that it shows only the beginning."""
    words, _, mark = text.rstrip().rpartition("[")
    return words.rstrip().removesuffix("…").removesuffix("...").rstrip() if _CUT.fullmatch(mark) else text


def _hit(article: Payload, rank: int) -> Hit | None:
    title = article.text("title")
    if title.strip() == "[Removed]":  # what the service leaves of withdrawn articles
        return None
    description, content = plain(article.text("description")), _without_cut_mark(plain(article.text("content")))
    beginning = content if content[:40] and content[:40] not in description else ""
    return hit(
        "newsapi",
        rank,
        title=title,
        url=article.text("url"),
        snippet=description,
        beginning=beginning,
        published=article.text("publishedAt"),
        heading=article.text("source", "name"),  # the paper or station under which it stands
    )
