"""Web search engines, by their services: Tavily, Brave, Exa, Kagi, Serper, Google, a SearXNG of your own, DuckDuckGo; and `web`,
the first of them that is configured, whose name says which."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from wellread.errors import UsageError, optional
from wellread.net.address import Address
from wellread.net.payload import Payload, told
from wellread.net.service import Refused
from wellread.parameters import Seconds, param
from wellread.protocols import Parts, Source
from wellread.sources.service import Fields, Key, Rate, Service, ServiceOptions, VendorOptions, between
from wellread.types import Query, Spec

_LONGEST_QUERY = 400
Period = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class TavilyOptions(VendorOptions):
    timeout: Seconds = param(20.0, "seconds for one request")
    base: str = param("https://api.tavily.com", "address of the service")
    depth: Literal["basic", "advanced"] = param(
        "basic", "advanced looks for the best passages and costs double", sent="search_depth"
    )
    topic: Literal["general", "news", "finance"] = param("general", "kind of pages", sent="topic")
    time_range: Period | None = param(None, "only pages of the last day, week, …", sent="time_range")
    since: str | None = param(None, "oldest page, an ISO date", sent="start_date")
    until: str | None = param(None, "newest page, an ISO date", sent="end_date")
    domains: tuple[str, ...] = param((), "only these sites", sent="include_domains")
    exclude_domains: tuple[str, ...] = param((), "never these sites", sent="exclude_domains")
    country: str | None = param(None, "prefer pages from there: germany, japan, …", sent="country")
    full_text: bool = param(False, "bring the whole text of each page along")


class Tavily(Service[TavilyOptions]):
    """Web search by Tavily."""

    hint = "A web search that understands questions. One clear, specific question or phrase per search, under 400 characters."
    key = Key(("TAVILY_API_KEY",))
    path, form = "/search", "json"
    fields = Fields(snippet="content", published="published_date", text="raw_content", score="score")

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "query": query.text[:_LONGEST_QUERY],
            "max_results": min(query.limit, self.page_size),
            "start_date": query.since,
            "end_date": query.until,
            "include_raw_content": "text" if self.options.full_text else False,
        }


_MOST_WORDS = 50


@dataclass(frozen=True, slots=True)
class BraveOptions(VendorOptions):
    rate: Rate = param(1.0, "requests a second that the plan allows")
    base: str = param("https://api.search.brave.com", "address of the service")
    country: str | None = param(None, "two letters: US, DE, …; where results come from", sent="country")
    language: str | None = param(None, "two letters: en, de, …; of the pages")
    safe_search: Literal["off", "moderate", "strict"] = param("moderate", "filter for adult content", sent="safesearch")
    freshness: str | None = param(None, "pd, pw, pm, py (past day … year) or 2023-06-01to2023-06-30", sent="freshness")
    extra_snippets: bool = param(False, "up to five more excerpts per page, where the plan allows it")


class Brave(Service[BraveOptions]):
    """Web search by Brave."""

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
            "search_lang": o.language or query.language,
            "freshness": between(query, "{}to{}", "1990-01-01", date.today().isoformat()),
            "text_decorations": "false",
            "result_filter": "web",
            "extra_snippets": "true" if o.extra_snippets else None,
        }

    def goes_on(self, answer: Payload, number: int, found: int) -> bool:
        return answer.at("query", "more_results_available").value is True


@dataclass(frozen=True, slots=True)
class ExaOptions(VendorOptions):
    timeout: Seconds = param(20.0, "seconds for one request")
    base: str = param("https://api.exa.ai", "address of the service")
    kind: Literal["auto", "fast", "deep", "keyword", "neural"] = param("auto", "how it searches", sent="type")
    category: str | None = param(None, "only pages of a kind: research paper, news, company, …", sent="category")
    domains: tuple[str, ...] = param((), "only these sites", sent="includeDomains")
    exclude_domains: tuple[str, ...] = param((), "never these sites", sent="excludeDomains")
    full_text: bool = param(False, "bring the whole text of each page along, at a price")


class Exa(Service[ExaOptions]):
    """Web search by meaning, by Exa."""

    hint = "A web search by meaning. Describe the page you hope for in one clear sentence; key words work too."
    key = Key(("EXA_API_KEY",), "x-api-key", "")
    path, form = "/search", "json"
    fields = Fields(snippet="highlights", published="publishedDate", text="text")
    page_size = 100

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "query": query.text,
            "numResults": min(query.limit, self.page_size),
            "startPublishedDate": query.since,
            "endPublishedDate": query.until,
            "contents": {"text": True} if self.options.full_text else {"highlights": True},
        }


@dataclass(frozen=True, slots=True)
class KagiOptions(VendorOptions):
    base: str = param("https://kagi.com", "address of the service")


class Kagi(Service[KagiOptions]):
    """Web search by Kagi."""

    hint = "A general web search engine without advertising. Key words as in any search box; quotes for exact phrases, -word."
    key = Key(("KAGI_API_KEY",), scheme="Bot ")
    path, results = "/api/v0/search", ("data",)
    fields = Fields(published="published")

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {"q": query.text, "limit": query.limit}


@dataclass(frozen=True, slots=True)
class SerperOptions(VendorOptions):
    base: str = param("https://google.serper.dev", "address of the service")
    country: str | None = param(None, "two letters: us, de, …; where one searches from", sent="gl")
    language: str | None = param(None, "two letters: en, de, …")
    time_range: str | None = param(None, "in Google's own words: qdr:w for the last week, qdr:y for the last year", sent="tbs")


class Serper(Service[SerperOptions]):
    """What Google finds on the web, by Serper."""

    hint = "The web as Google finds it. Key words as in any search box; quotes for exact phrases, site:example.org, -word."
    key = Key(("SERPER_API_KEY",), "X-API-KEY", "")
    path, form = "/search", "json"
    results = ("organic",)
    fields = Fields(url="link")
    page_size, most_pages = 10, 10

    def asks(self, query: Query, number: int) -> dict[str, object]:
        ends = {"min": query.since, "max": query.until}
        between = [f"cd_{end}:{day[5:7]}/{day[8:10]}/{day[:4]}" for end, day in ends.items() if day]
        return {
            "q": query.text,
            "num": self.page_size,
            "page": number + 1,
            "hl": self.options.language or query.language,
            "tbs": ",".join(["cdr:1", *between]) if between else None,
        }


ENGINE = "GOOGLE_CSE_ID"


@dataclass(frozen=True, slots=True)
class GoogleOptions(VendorOptions):
    base: str = param("https://www.googleapis.com", "address of the service")
    engine: str | None = param(None, f"the engine's id (cx); else what {ENGINE} says")
    language: str | None = param(None, "two letters: en, de, …; of the pages")
    safe_search: bool = param(False, "filter for adult content")


class Google(Service[GoogleOptions]):
    """What a Programmable Search Engine of Google finds."""

    hint = "The web, or what of it the engine was set up for, as Google finds it. Key words; quotes for exact phrases, -word."
    key = Key(("GOOGLE_API_KEY", "GOOGLE_CSE_API_KEY"), "X-goog-api-key", "")
    path, results = "/customsearch/v1", ("items",)
    fields = Fields(url="link")
    page_size, most_pages = 10, 10

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        self._engine = self.options.engine or kit.environ.get(ENGINE, "").strip()
        if not self._engine:
            raise UsageError(f"google needs the id of a search engine: set {ENGINE}")

    def asks(self, query: Query, number: int) -> dict[str, object]:
        language = self.options.language or query.language
        return {
            "cx": self._engine,
            "q": query.text,
            "num": min(query.limit, self.page_size),
            "start": number * self.page_size + 1,
            "lr": f"lang_{language}" if language else None,
            "safe": "active" if self.options.safe_search else None,
            "sort": between(query, "date:r:{}:{}", "19900101", "29991231", sign=""),
        }


_MOST_ENGINES = 50
_PORTS = (8080, 8888)


@dataclass(frozen=True, slots=True)
class SearXNGOptions(ServiceOptions):
    timeout: Seconds = param(20.0, "seconds for one request; engines are slow together")
    engines: str | None = param(None, "only these engines, with commas: bing,wikipedia", sent="engines")
    categories: str | None = param(None, "only these categories, with commas: general,science", sent="categories")
    language: str | None = param(None, "language of the results: en, de-AT, all")
    time_range: Period | None = param(None, "only pages of the last day, week, …", sent="time_range")
    safe_search: Literal["0", "1", "2"] | None = param(None, "0 off, 1 moderate, 2 strict", sent="safesearch")


class SearXNG(Service[SearXNGOptions]):
    """Meta search by a SearXNG server of yours."""

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
        return {"q": query.text, "format": "json", "pageno": number + 1, "language": self.options.language or query.language}

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


_MOST = 50


@dataclass(frozen=True, slots=True)
class DuckDuckGoOptions(ServiceOptions):
    region: str = param("wt-wt", "where results come from: us-en, de-de, …; wt-wt is nowhere")
    safe_search: Literal["on", "moderate", "off"] = param("moderate", "filter for adult content")
    time_range: Literal["d", "w", "m", "y"] | None = param(None, "only pages of the last day, week, month, year")
    engines: str = param("duckduckgo", "whom ddgs asks, with commas: duckduckgo,mojeek; auto: some of all that it knows")


class DuckDuckGo(Service[DuckDuckGoOptions]):
    """The web without a key, by DuckDuckGo."""

    hint = "A general web search engine. Key words as in any search box; quotes for exact phrases, site:example.org, -word."
    results = ()
    fields = Fields(url="href", snippet="body")

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        with optional("duckduckgo", "web"):
            self._ddgs: Any = import_module("ddgs")
            self._problems: Any = import_module("ddgs.exceptions")  # which the package does not bring along by itself

    def place(self, spec: Spec) -> Address:
        return Address("", "", {})  # the package knows

    async def page(self, query: Query, number: int) -> Payload:
        return Payload(await asyncio.to_thread(self._asked, query.text, min(query.limit, _MOST)))

    def _asked(self, text: str, limit: int) -> list[dict[str, Any]]:
        o, problems = self.options, self._problems
        try:
            return self._ddgs.DDGS(timeout=o.timeout).text(
                text, region=o.region, safesearch=o.safe_search, timelimit=o.time_range, max_results=limit, backend=o.engines
            )
        except problems.RatelimitException as problem:
            raise self.http.busy(str(problem)) from None
        except problems.DDGSException as problem:
            if "no results" in str(problem).lower():
                return []
            raise self.http.error(str(problem)) from None


SERVICES = {"tavily": Tavily, "brave": Brave, "exa": Exa, "kagi": Kagi, "serper": Serper, "google": Google}


def from_spec(spec: Spec, kit: Parts) -> Source:
    """The web, by the first service that has its key; else by a SearXNG on this machine; else by DuckDuckGo."""
    if spec.argument:
        raise UsageError("web takes no argument; it takes the options of the service that it finds")
    for name, service in SERVICES.items():
        if service.key and service.key.found(kit.environ) and (name != "google" or kit.environ.get(ENGINE)):
            return service(replace(spec, name=name), kit)
    if found := found_here():
        return SearXNG(replace(spec, name="searxng", argument=found), kit)
    if find_spec("ddgs"):
        return DuckDuckGo(replace(spec, name="duckduckgo"), kit)
    keys = ", ".join(service.key.names[0] for service in SERVICES.values() if service.key)
    raise UsageError(
        f'web needs one of these keys: {keys}; or a SearXNG on this machine; or DuckDuckGo: pip install "wellread[web]"'
    )
