"""Finding pages in a wiki, whatever its search engine can do.

Wikipedia's (CirrusSearch) ranks and knows OR. The one that comes with MediaWiki does neither: it is
asked for titles and texts, and what it finds is put in order here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.errors import SourceError
from wellread.net.payload import Payload
from wellread.net.service import Http
from wellread.sources.keywords import keywords
from wellread.sources.markup import plain, without_wikitext
from wellread.sources.memory import tokens

LONGEST_QUERY = 300  # characters; Wikipedia refuses more
MOST = 50  # results and titles in one request
DETAILS: Mapping[str, str | int] = {"prop": "info|pageprops", "inprop": "url", "ppprop": "disambiguation"}
_MOST_WORDS = 6
_LONGEST_SNIPPET = 2_000  # characters, markup and all
Ask = Callable[[Mapping[str, str | int]], Awaitable[Payload]]


@dataclass(frozen=True, slots=True)
class Site:
    """One wiki: its API and which extensions we can use there."""

    api: str
    extracts: bool = True
    cirrus: bool = True


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page as a search finds it; the text comes later."""

    id: str
    title: str
    url: str
    snippet: str = ""
    changed: str = ""
    ambiguous: bool = False
    text: str = ""


async def find(ask: Ask, site: Site, text: str, limit: int) -> list[WikiPage]:
    """Pages for the words; for fewer words, then for any of them, when all together find nothing."""
    words = keywords(text)
    search = _search if site.cirrus else _plain_search
    for query in dict.fromkeys((text, " ".join(words))):
        if query and (pages := await search(ask, query, limit)):
            return pages
    if len(words) < 2:
        return []
    if site.cirrus:
        return await _search(ask, _any_word(words), limit)
    return await _any_of(ask, sorted(words, key=len, reverse=True)[:_MOST_WORDS], limit)


def _any_word(words: Sequence[str]) -> str:
    """As many words as the API takes, any of which may match."""
    query = words[0]
    for word in words[1:]:
        if len(query) + len(word) + 4 <= LONGEST_QUERY:
            query += f" OR {word}"
    return query


async def _search(ask: Ask, text: str, limit: int, what: str = "text") -> list[WikiPage]:
    """One request: what was found, with redirects followed and the addresses of the pages."""
    listed = {"list": "search", "srsearch": text, "srlimit": limit, "srwhat": what, "srprop": "snippet|timestamp"}
    resolved = {"generator": "search", "gsrsearch": text, "gsrlimit": limit, "gsrwhat": what, "redirects": 1}
    answer = (await ask({**listed, **resolved, **DETAILS})).at("query")
    targets = {item.text("from"): item.text("to") for item in answer.items("redirects")[:MOST]}
    known = {page.title: page for page in map(page_of, answer.items("pages")[:MOST])}
    found: dict[str, WikiPage] = {}
    for item in answer.items("search")[:MOST]:
        page = known.get(targets.get(item.text("title"), item.text("title")))
        if page is not None and page.id not in found:
            snippet = without_wikitext(plain(item.text("snippet")[:_LONGEST_SNIPPET]))
            found[page.id] = replace(page, snippet=snippet, changed=item.text("timestamp"))
    return list(found.values())


async def _plain_search(ask: Ask, text: str, limit: int) -> list[WikiPage]:
    """Titles and texts are searched apart, and come in no order: more are fetched and put in one."""
    titles, texts = await asyncio.gather(_search(ask, text, MOST, "title"), _search(ask, text, MOST))
    found = {page.id: page for page in [*titles, *texts]}  # texts last: their snippets say more
    words = set(tokens(text))
    return sorted(found.values(), key=lambda page: -_fit(page, words))[:limit]


async def _any_of(ask: Ask, words: Sequence[str], limit: int) -> list[WikiPage]:
    """Pages by the words they are found with; a word that finds few pages says more than one that finds many."""
    lists = await asyncio.gather(*(_plain_search(ask, word, MOST) for word in words))
    points: dict[str, float] = {}
    pages: dict[str, WikiPage] = {}
    for word, found in zip(words, lists, strict=True):
        for page in found:
            points[page.id] = points.get(page.id, 0.0) + 1 / len(found) + 0.1 * _fit(page, set(tokens(word)))
            pages.setdefault(page.id, page)
    return sorted(pages.values(), key=lambda page: -points[page.id])[:limit]


def _fit(page: WikiPage, words: set[str]) -> float:
    """How many of the words a page shows, and how much of its title they are."""
    title = tokens(page.title[:_LONGEST_SNIPPET])
    in_title = len(words & set(title))
    return 2 * in_title + len(words & set(tokens(page.snippet))) + in_title / (len(title) or 1)


def page_of(item: Payload) -> WikiPage:
    """A page as `prop=info|pageprops` describes it."""
    ambiguous = "disambiguation" in item.names("pageprops")
    url = item.text("canonicalurl") or item.text("fullurl")
    return WikiPage(item.text("pageid"), item.text("title"), url, ambiguous=ambiguous, changed=item.text("touched"))


async def discover(http: Http, base: str) -> Site:
    """Find the API from the address of it, of the wiki or of any page in it."""
    asked = {"action": "query", "meta": "siteinfo", "siprop": "general|extensions", "format": "json", "formatversion": 2}
    candidates = [base] if base.endswith("api.php") else [f"{base}/api.php", f"{base}/w/api.php", ""]
    problem: SourceError | None = None
    for candidate in candidates:
        try:
            api = candidate or await _advertised(http, base)
            answer = await http.get(api, asked)
        except SourceError as failed:
            problem = problem or failed
            continue
        if answer.at("query", "general"):
            extensions = {item.text("name") for item in answer.items("query", "extensions")}
            return Site(api, extracts="TextExtracts" in extensions, cirrus="CirrusSearch" in extensions)
    raise http.error(f"no MediaWiki API found there ({problem.message if problem else 'it answers with other things'})")


async def _advertised(http: Http, base: str) -> str:
    """Every page of a wiki names its API in a link element; only the configured host counts."""
    for element in (await http.text(base)).split("<link")[1:]:
        _, named, rest = element.partition(">")[0].partition('rel="EditURI"')
        address = rest.partition('href="')[2].partition('"')[0].partition("?")[0] if named else ""
        if address.endswith("api.php"):
            return http.same_host(base, address)
    raise http.error("its pages name no API")
