"""`wikipedia` and `mediawiki:BASE_URL`: the Action API of any MediaWiki.

One request searches and resolves redirects, a second (or one per page where the API allows no more)
brings the texts. A query that finds nothing is tried again with its key words, then with any of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Literal

from wellread.errors import SourceError, UsageError
from wellread.index.lexical import Words
from wellread.net.address import Address
from wellread.net.payload import Payload
from wellread.net.service import Http, Manners, retry_after
from wellread.parameters import CountOrZero, param
from wellread.protocols import Parts
from wellread.sources.hits import cleaned, hit, lines, plain, without_headings, without_wikitext
from wellread.sources.service import Service, ServiceOptions, keywords
from wellread.types import Hit, Passage, Query, Spec

_FRESH = 600  # seconds that an answer may be kept; the API allows no keeping unless it is asked for
_COMMON: Mapping[str, str | int] = {
    "action": "query",
    "format": "json",
    "formatversion": 2,
    "maxlag": 5,
    "maxage": _FRESH,
    "smaxage": _FRESH,
}
_BATCH = 20  # introductions in one request
_LONGEST = 4_000_000  # characters of a page; a wiki's largest have two million
_BUSY_CODES = ("maxlag", "ratelimited", "readonly")
_NOISE = frozenset({"reference", "navbox", "metadata", "noprint", "mw-empty-elt", "toc", "thumb"})  # classes
_REFERS = re.compile(r"^.{0,120}\b(may|can|could) (also )?(refer|be)( to)?( any of)?( the following)?:?$", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Options(ServiceOptions):
    language: str | None = param(None, "edition of Wikipedia: en, de, fr, …; the query's language, else en")
    text: Literal["full", "intro", "none"] = param("full", "how much of each page comes with a hit")
    max_texts: CountOrZero = param(10, "whole pages fetched for one search; further hits have their snippet only")

    def __post_init__(self) -> None:
        if self.language is not None and not re.fullmatch(r"[a-z]{2,3}(-[a-z]{2,12})*|simple", self.language):
            raise ValueError(f"language must be a code such as de, not {self.language!r}")


class MediaWiki(Service[Options]):
    """Any MediaWiki, by the address of its API or of one of its pages."""

    address = "https://wiki.example.org"
    hint = (
        "An encyclopaedia searched by words, all of which must occur. Ask for one thing at a time, with the name "
        "of the person, place, work or event as an article would have it in its title, plus one or two words of "
        "what you want to know. Short queries find more than whole sentences."
    )

    examples = (
        "Question: Which opened first, the Suez Canal or the Panama Canal?\n"
        "Queries, one after the other: Suez Canal opening; Panama Canal opening\n"
        "Question: In which town was the director of the film Alien born?\n"
        "Queries, one after the other: Alien 1979 film; then, with the name found there: Ridley Scott"
    )

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        self.public = not self.at.own
        self._site: Site | None = None

    async def find(self, query: Query) -> Sequence[Hit]:
        text = _shortened(query.text)
        site = await self.site(query.language)
        pages = await find(partial(self._query, site), site, text, min(query.limit, MOST))
        pages = await self._with_texts(site, pages)
        pages = await self._plain_meanings(site, pages, query.limit)
        return await cleaned(map(self._hit, pages[: query.limit]), self.name)

    async def site(self, language: str | None) -> Site:
        """Which wiki is asked."""
        if self._site is None:
            self._site = await discover(self.http, self.base)
        return self._site

    async def _with_texts(self, site: Site, pages: list[WikiPage]) -> list[WikiPage]:
        wanted = pages[: self.options.max_texts]
        if self.options.text == "none" or not wanted:
            return pages
        if self.options.text == "intro" and site.extracts:
            asked = [self._introductions(site, wanted[i : i + _BATCH]) for i in range(0, len(wanted), _BATCH)]
        else:
            asked = [self._whole(site, page) for page in wanted]
        texts = {id: text for found in await asyncio.gather(*asked) for id, text in found.items()}
        return [replace(page, text=texts.get(page.id, "")) for page in pages]

    async def _introductions(self, site: Site, pages: list[WikiPage]) -> dict[str, str]:
        ids = "|".join(page.id for page in pages)
        asked = {"prop": "extracts", "explaintext": 1, "exintro": 1, "exlimit": len(pages), "pageids": ids}
        answer = await self._query(site, asked)
        found = {item.text("pageid"): item.text("extract") for item in answer.items("query", "pages")[:_BATCH]}
        return {id: await asyncio.to_thread(from_extract, text[:_LONGEST]) for id, text in found.items()}

    async def _whole(self, site: Site, page: WikiPage) -> dict[str, str]:
        """The API gives one whole page at a time. One that fails is left with its snippet."""
        try:
            if site.extracts:
                asked = {"prop": "extracts", "explaintext": 1, "exsectionformat": "wiki", "pageids": page.id}
                answer = await self._query(site, asked)
                extract = answer.text("query", "pages", 0, "extract")
                return {page.id: await asyncio.to_thread(from_extract, extract[:_LONGEST])}
            asked = {"action": "parse", "pageid": page.id, "prop": "text", "disabletoc": 1, "disableeditsection": 1}
            answer = await self._query(site, asked)
            return {page.id: await asyncio.to_thread(from_html, answer.text("parse", "text")[:_LONGEST])}
        except SourceError:
            return {}

    async def _plain_meanings(self, site: Site, pages: list[WikiPage], limit: int) -> list[WikiPage]:
        """Pages that only list meanings go last; where there is room, the articles they name come in."""
        lists = [page for page in pages if page.ambiguous or is_disambiguation(page.title, page.text)]
        articles = [page for page in pages if page not in lists]
        room = limit - len(pages)
        if not lists or room < 1:
            return articles + lists
        asked = {"generator": "links", "gplnamespace": 0, "gpllimit": MOST, "titles": lists[0].title, "redirects": 1}
        answer = await self._query(site, {**asked, **DETAILS})
        known = {page.id for page in pages}
        named = [page for page in map(page_of, answer.items("query", "pages")[:MOST]) if page.id not in known and page.url]
        named = [page for page in named if not page.ambiguous and page.id not in ("", "0")][:room]
        return articles + await self._with_texts(site, named) + lists

    async def _query(self, site: Site, params: Mapping[str, str | int]) -> Payload:
        return await self.http.get(site.api, {**_COMMON, **params}, check=self._check)

    def _check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        """MediaWiki reports its errors with status 200."""
        if not answer.at("error"):
            return
        code, info = answer.text("error", "code"), answer.text("error", "info")
        message = f"{info or code} ({code})"
        raise self.http.busy(message, retry_after(headers)) if code in _BUSY_CODES else self.http.error(message)

    def _hit(self, page: WikiPage) -> Hit | None:
        snippet = page.snippet or without_headings(page.text)[:300]
        return hit(title=page.title, url=page.url, snippet=snippet, text=page.text, published=page.changed)


class Wikipedia(MediaWiki):
    """Wikipedia, in any of its languages."""

    manners = Manners(concurrency=3)  # its operators ask for few requests at a time

    def place(self, spec: Spec) -> Address:
        if spec.argument:
            raise UsageError("wikipedia takes no argument; write wikipedia?language=de, or mediawiki:BASE_URL")
        return Address("", "", {})

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        self.public = True
        if language := self.options.language:
            self.name = self.http.owner = f"wikipedia?language={language}"

    async def site(self, language: str | None) -> Site:
        """The edition that fits the query."""
        code = self.options.language or (language or "en").lower().partition("-")[0]
        return Site(f"https://{code if re.fullmatch('[a-z]{2,3}', code) else 'en'}.wikipedia.org/w/api.php")


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_QUERY else text[:LONGEST_QUERY].rpartition(" ")[0] or text[:LONGEST_QUERY]


def from_extract(text: str) -> str:
    """Text of the TextExtracts extension, with its headings in our form."""
    return without_empty_sections(lines("\n".join(map(_marked, text.split("\n")))))


def _marked(line: str) -> str:
    """`== Heading ==` as `## Heading`; any other line as it is."""
    level = min(6, len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")))
    words = line[level:-level].strip() if level >= 2 else ""
    return f"{'#' * level} {words}" if words else line


def from_html(markup: str) -> str:
    """A parsed page, for wikis without that extension: read as other pages are, less what wikis put around their text."""
    from wellread.reading.dom import below, parse
    from wellread.reading.render import blocks
    from wellread.text.blocks import passages

    tree = parse(markup)
    for node in tree.nodes:
        if node.tag == "figure" or not _NOISE.isdisjoint(node.hint.split()):
            node.dropped = "no text"
    runs = list(below(tree.nodes[0])) if tree.nodes else []
    return without_empty_sections("\n\n".join(passages(blocks(runs, is_table=lambda _: True))))


def without_empty_sections(text: str) -> str:
    """Headings with nothing under them (References, External links) go."""
    blocks = [block.strip() for block in re.split(r"\n\s*\n|(?=^#{2,6} )", text, flags=re.M)]
    kept: list[str] = []
    for block in reversed(blocks):
        level = _level(block)
        empty = level and "\n" not in block and (not kept or 0 < _level(kept[-1]) <= level)
        if block and not empty:
            kept.append(block)
    return "\n\n".join(reversed(kept))


def _level(block: str) -> int:
    found = re.match(r"(#{2,6}) ", block)
    return len(found[1]) if found else 0


def is_disambiguation(title: str, text: str) -> bool:
    """Whether a page only lists what its title may mean, for wikis that do not say so themselves."""
    return title.endswith("(disambiguation)") or bool(_REFERS.search(text[:400]))


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
        joined = accumulate(words, "{} OR {}".format)  # as many words as the API takes, any of which may match
        return await _search(ask, [one for one in joined if len(one) <= LONGEST_QUERY][-1], limit)
    longest = sorted(words, key=len, reverse=True)[:_MOST_WORDS]
    lists = await asyncio.gather(*(_plain_search(ask, word, MOST) for word in longest))
    return (await _ranked([page for found in lists for page in found], " ".join(longest)))[:limit]


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
    return (await _ranked([*titles, *texts], text))[:limit]


async def _ranked(pages: Sequence[WikiPage], text: str) -> list[WikiPage]:
    """By the words that their titles and snippets show (BM25); what shows none comes last."""
    found = list({page.id: page for page in pages}.values())  # the last of each: snippets of texts say more
    shown = [Passage(page.id, page.snippet, page.title[:_LONGEST_SNIPPET]) for page in found]
    if not found:
        return []
    best, _ = await asyncio.to_thread(lambda: Words.of(shown).search(text, len(found)))
    return [found[place] for place in dict.fromkeys([*best.tolist(), *range(len(found))])]


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
