"""What every source promises, checked on every source.

A new adapter needs one line in `CASES`. Web services answer through stand-ins that follow their
published schemas; MediaWiki, searx and Datasette are the real ones.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.kit import Shelf, TestKit
from tests.wire import papers, searches, webs
from tests.wire.loopback import Answer, Asked, Loopback, Reply

from wellread import plugins
from wellread.errors import SourceBusy, SourceError
from wellread.parts import Parts
from wellread.protocols import Closing, Source
from wellread.settings import Settings
from wellread.types import Hit, Page, Query

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NAMES = "NEWSAPI_KEY TAVILY_API_KEY BRAVE_API_KEY SLACK_TOKEN ELASTICSEARCH_API_KEY EXA_API_KEY SERPER_API_KEY GOOGLE_API_KEY"
KEYS = dict.fromkeys((*NAMES.split(), "GOOGLE_CSE_ID", "KAGI_API_KEY", "GITHUB_TOKEN"), searches.KEY)
HOSTILE = (
    "a AND (b OR",
    "*",
    '"',
    "a AND (b OR",
    "*",
    "title:x^2 ~",
    "';drop table pages;--",
    "\x00\x07",
    "{{query}}",
    "%",
    "a" * 3000,
    "<b>x</b>",
    "-",
)


@dataclass(frozen=True)
class Case:
    """A source under test. `{base}` in the spec is the server's address."""

    spec: str
    fake: Answer | None = None  # a stand-in …
    service: str | None = None  # … or a fixture with the real server
    by_meaning: bool = False  # always finds something, however far
    keyless: bool = False  # wants no key
    shipped: bool = False  # has its own documents and needs the embedder in the wheel

    @property
    def real(self) -> bool:
        return self.service in ("mediawiki", "bare_mediawiki", "searx", "datasette_blog")


CASES = {
    "newsapi": Case("newsapi?base={base}&page_size=10&max_pages=7", searches.newsapi),
    "tavily": Case("tavily?base={base}", searches.tavily),
    "brave": Case("brave?base={base}&rate=1000", searches.brave),
    "slack": Case("slack?base={base}", searches.slack),
    "elasticsearch": Case("elasticsearch:{base}/docs", searches.elasticsearch),
    "elasticsearch-vector": Case("elasticsearch:{base}/docs?vector=emb", searches.elasticsearch, by_meaning=True),
    "exa": Case("exa?base={base}", webs.exa),
    "serper": Case("serper?base={base}", webs.serper),
    "google": Case("google?base={base}", webs.google),
    "kagi": Case("kagi?base={base}", webs.kagi),
    "stackexchange": Case("stackexchange?base={base}", webs.stackexchange),
    "github": Case("github:own/repo?base={base}&max_files=0", webs.github),
    "arxiv": Case("arxiv?base={base}&rate=1000", papers.arxiv, keyless=True),
    "openalex": Case("openalex?base={base}&rate=1000", papers.openalex),
    "pubmed": Case("pubmed?base={base}&rate=1000", papers.pubmed),
    "semanticscholar": Case("semanticscholar?base={base}&rate=1000", papers.semanticscholar),
    "crossref": Case("crossref?base={base}&rate=1000", papers.crossref, keyless=True),
    "zotero": Case("zotero?base={base}", papers.zotero, keyless=True),
    "bibliography": Case("bibliography:{base}?meaning=no", service="references"),
    "duckduckgo": Case("duckduckgo", service="ddgs"),
    "youtube": Case("youtube:penicillin1?meaning=no", service="yt_dlp"),
    "mediawiki": Case("mediawiki:{base}", service="mediawiki"),
    "mediawiki-bare": Case("mediawiki:{base}", service="bare_mediawiki"),
    "searxng": Case("searxng:{base}", service="searx"),
    "datasette": Case("datasette:{base}", service="datasette_blog"),
    "library": Case("library", service="nothing", by_meaning=True, shipped=True),
    "files": Case("files:{base}?meaning=no", service="folder"),
    "files-meaning": Case("files:{base}", service="folder", by_meaning=True),
    "urls": Case("urls:https://example.org/penicillin,https://example.com/caf%C3%A9?meaning=no", service="nothing"),
}
FAKES = {name: case for name, case in CASES.items() if case.fake}


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.service if CASES[name].real else ()) for name in CASES])
def case(request: pytest.FixtureRequest) -> Iterator[tuple[Case, str]]:
    chosen = CASES[request.param]
    if chosen.fake is None:
        yield chosen, request.getfixturevalue(chosen.service or "")
        return
    with Loopback(chosen.fake).serving() as server:
        yield chosen, server.url


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Documents as files: Markdown and plain text."""
    place = tmp_path_factory.mktemp("documents")
    for n, doc in enumerate(searches.DOCS):
        text = re.sub("<[^<>]+>|&amp;", "", doc.text)
        name, content = (f"{n}.md", f"# {doc.title}\n\n{text}\n") if n % 2 else (f"{n}.txt", f"{doc.title}\n\n{text}\n")
        (place / name).write_text(content, encoding="utf-8")
    return str(place)


@pytest.fixture(scope="session")
def references(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The documents as entries of a reference manager, with abstracts as services write them."""
    file = tmp_path_factory.mktemp("references") / "references.json"
    file.write_text(json.dumps([papers.csl(doc) | {"abstract": doc.text, "URL": doc.url} for doc in searches.DOCS]), "utf-8")
    return str(file)


@pytest.fixture
def ddgs(monkeypatch: pytest.MonkeyPatch) -> str:
    def found(query: str, how: dict[str, Any], problems: Any) -> object:
        hits = [{"title": doc.title, "href": doc.url, "body": doc.text} for doc in searches.matching(query)]
        return hits[: how["max_results"]] or problems.DDGSException("No results found.")

    webs.put_ddgs(monkeypatch, found)
    return ""


@pytest.fixture
def yt_dlp(monkeypatch: pytest.MonkeyPatch) -> str:
    said = [(60_000 * n, f"{doc.title}: {doc.text}") for n, doc in enumerate(searches.DOCS)]
    webs.put_yt_dlp(monkeypatch, {"penicillin1": said})
    return ""


@pytest.fixture(scope="session")
def nothing() -> str:
    return ""


SHELF = Shelf({doc.url: Page(doc.url, doc.title, (re.sub("<[^<>]+>|&amp;", "", doc.text),)) for doc in searches.DOCS[:3]})


def kit_for(case: Case) -> Parts | TestKit:
    return Parts(Settings(), KEYS) if case.shipped else TestKit(KEYS, reader=SHELF)


@asynccontextmanager
async def opened(case: Case, base: str) -> AsyncIterator[Source]:
    spec = plugins.parse_spec(case.spec.format(base=base))
    source = plugins.load("sources", spec.name)(spec, kit_for(case))
    try:
        yield source
    finally:
        if isinstance(source, Closing):
            await source.aclose()


def check(hits: list[Hit], source: Source, limit: int) -> None:
    assert len(hits) <= limit
    assert len({hit.id for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.source == source.name
        assert hit.title
        assert hit.text == "" or hit.text.strip()
        assert hit.url is None or hit.url.startswith(("http://", "https://", "file:///", "library:"))
        assert hit.published is None or re.match(r"\d{4}-\d\d-\d\d", hit.published)
        for words in (hit.title, hit.snippet, hit.text or ""):
            assert not re.search(r"<(b|script|li|ul|span)\b|&amp;|\x00", words, re.I), words


async def test_it_is_a_source_with_a_hint(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        assert isinstance(source, Source)
        assert source.name
        assert len(source.hint) > 30


async def test_it_finds_what_is_there(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        hits = list(await source.search(Query("penicillin", limit=5)))
        check(hits, source, 5)
        assert any("1928" in (hit.text or hit.snippet) for hit in hits)


async def test_the_limit_holds(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        for limit in (1, 2, 45):
            hits = list(await source.search(Query("lighthouse", limit=limit)))
            check(hits, source, limit)
        assert not list(await source.search(Query("lighthouse", limit=0)))


async def test_nothing_found_is_an_empty_list(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        if not case[0].by_meaning:
            assert not list(await source.search(Query("qwxzqwxz")))
        assert not list(await source.search(Query("  ")))


async def test_words_of_any_language(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        hits = list(await source.search(Query("Café")))
        check(hits, source, 10)
        assert case[0].shipped or any("東京" in f"{hit.title} {hit.text} {hit.snippet}" for hit in hits)
        check(list(await source.search(Query("東京 🍮 ελληνικός"))), source, 10)


async def test_no_query_breaks_it(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        for text in HOSTILE:
            check(list(await source.search(Query(text, limit=3))), source, 3)


async def test_hostile_results_are_tamed(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        hits = list(await source.search(Query("zugzwangling")))
        check(hits, source, 10)  # no scripts in texts, no addresses that run code


async def test_many_at_once_are_as_good_as_one(case: tuple[Case, str]) -> None:
    async with opened(*case) as source:
        alone = [hit.id for hit in await source.search(Query("penicillin"))]
        together = await asyncio.gather(*(source.search(Query("penicillin")) for _ in range(6)))
        assert all([hit.id for hit in hits] == alone for hits in together)


def test_it_works_in_a_second_event_loop(case: tuple[Case, str]) -> None:
    chosen, base = case
    spec = plugins.parse_spec(chosen.spec.format(base=base))
    source = plugins.load("sources", spec.name)(spec, kit_for(chosen))

    async def once() -> int:
        try:
            return len(await source.search(Query("penicillin")))
        finally:
            if isinstance(source, Closing):
                await source.aclose()

    assert 0 < asyncio.run(once()) <= asyncio.run(once())  # vectors may have come meanwhile


@pytest.fixture(params=FAKES)
def fake(request: pytest.FixtureRequest) -> Iterator[tuple[Case, Loopback]]:
    chosen = FAKES[request.param]
    assert chosen.fake is not None
    with Loopback(chosen.fake).serving() as server:
        yield chosen, server


async def test_a_service_that_is_down_is_an_error_that_names_it(fake: tuple[Case, Loopback]) -> None:
    async with opened(fake[0], "http://127.0.0.1:9") as source:
        with pytest.raises(SourceError, match="cannot be reached") as caught:
            await source.search(Query("penicillin"))
        assert source.name in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        Reply("<h1>Oops</h1>", 500),
        Reply("<h1>Welcome</h1>"),
        Reply(b"\xff\xfe not json"),
        Reply(b"[" * 100_000),
        Reply({"error": {"message": "out of cheese"}}, 418),
        Reply(None, 302, {"Location": "http://127.0.0.1:9/elsewhere"}),
    ],
    ids=["500", "html", "bytes", "deep", "418", "redirect"],
)
async def test_bad_answers_become_source_errors(fake: tuple[Case, Loopback], reply: Reply) -> None:
    case, server = fake
    server.answer = lambda asked: reply
    async with opened(case, server.url) as source:
        with pytest.raises(SourceError) as caught:
            await source.search(Query("penicillin"))
        assert searches.KEY not in str(caught.value)
        assert reply.status != 418 or "out of cheese" in str(caught.value)


async def test_too_many_requests_is_busy_after_the_retries(fake: tuple[Case, Loopback]) -> None:
    case, server = fake
    server.answer = lambda asked: Reply({"message": "slow down"}, 429, {"Retry-After": "600"})
    async with opened(case, server.url) as source:
        with pytest.raises(SourceBusy) as caught:
            await source.search(Query("penicillin"))
        assert caught.value.retry_after == 600
    assert len(server.asked) == 1  # ten minutes are longer than anyone waits


async def test_a_refused_key_is_named_and_not_shown(fake: tuple[Case, Loopback]) -> None:
    case, server = fake
    server.answer = lambda asked: Reply({"message": f"bad key {searches.KEY}"}, 401)
    async with opened(case, server.url) as source:
        with pytest.raises(SourceError) as caught:
            await source.search(Query("penicillin"))
        assert searches.KEY not in str(caught.value)
        assert case.keyless or "_KEY right?" in str(caught.value) or "_TOKEN right?" in str(caught.value)


async def test_cancelling_stops_a_search_at_once(fake: tuple[Case, Loopback]) -> None:
    case, server = fake
    server.answer = lambda asked: Reply({}, delay=1.0)
    async with opened(case, server.url) as source:
        task = asyncio.create_task(source.search(Query("penicillin")))
        assert await asyncio.to_thread(server.arrived.wait, 30)
        begun = asyncio.get_running_loop().time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.get_running_loop().time() - begun < 0.5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _bent(value: object, path: list[int], by: object) -> object:
    """A valid answer with one value somewhere replaced by another."""
    if not path or not value or not isinstance(value, dict | list):
        return by
    if isinstance(value, dict):
        name = sorted(value)[path[0] % len(value)]
        return {**value, name: _bent(value[name], path[1:], by)}
    place = path[0] % len(value)
    return [*value[:place], _bent(value[place], path[1:], by), *value[place + 1 :]]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(path=st.lists(st.integers(0, 9), max_size=6), by=JSON)
def test_no_shape_of_answer_breaks_it(fake: tuple[Case, Loopback], path: list[int], by: object) -> None:
    case, server = fake

    def bent(asked: Asked) -> Reply:
        assert case.fake is not None
        good = case.fake(asked)
        if isinstance(good.body, bytes):  # XML: a piece of it is something else
            pieces = good.body.split(b">")
            pieces[sum(path) % len(pieces)] = escape(str(by)).encode()
            return Reply(b">".join(pieces), headers=good.headers)
        return Reply(json.dumps(_bent(good.body, path, by)).encode())

    async def once() -> None:
        async with opened(case, server.url) as source:
            try:
                hits = list(await source.search(Query("penicillin", limit=5)))
            except SourceError:
                return
            check(hits, source, 5)

    server.answer = bent
    asyncio.run(once())
