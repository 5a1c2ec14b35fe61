"""`searxng:URL` against Debian's searx, whose JSON is SearXNG's."""

from __future__ import annotations

import pytest
from tests.sources.conftest import Build, Serve
from tests.wire.loopback import Reply

from wellread.errors import SourceError
from wellread.types import Hits, Query

pytestmark = [pytest.mark.anyio, pytest.mark.service]


async def test_engines_are_asked_together(build: Build, searx: str) -> None:
    hits = await build(f"searxng:{searx}").search(Query("penicillin"))
    assert {hit.url for hit in hits} == {"https://example.org/penicillin", "https://example.net/antibiotics"}
    assert "Fleming discovered penicillin in 1928 & told it." in [hit.snippet for hit in hits]


async def test_only_the_engines_that_are_named(build: Build, searx: str) -> None:
    hits = await build(f"searxng:{searx}?engines=archive").search(Query("antibiotics"))
    assert [hit.title for hit in hits] == ["How antibiotics work"]
    assert not await build(f"searxng:{searx}?engines=archive").search(Query("bacteria"))


async def test_more_results_come_from_further_pages(build: Build, searx: str) -> None:
    hits = await build(f"searxng:{searx}?engines=shelf").search(Query("lighthouse", limit=25))
    assert len({hit.url for hit in hits}) == 25


async def test_an_engine_that_fails_is_reported(build: Build, searx: str) -> None:
    hits = await build(f"searxng:{searx}?engines=shelf,broken").search(Query("penicillin"))
    assert hits
    assert isinstance(hits, Hits)
    assert "broken did not answer" in hits.failures[0]
    with pytest.raises(SourceError, match="no engine answered: broken"):
        await build(f"searxng:{searx}?engines=broken").search(Query("penicillin"))


async def test_every_parameter_is_passed_on(build: Build, serve: Serve) -> None:
    server = serve(lambda asked: Reply({"results": []}))
    options = "engines=bing,qwant&categories=science&language=de&time_range=month&safe_search=2"
    await build(f"searxng:{server.url}/prefix?{options}").search(Query("x"))
    assert server.asked[0].path == "/prefix/search"
    expected = {"q": "x", "format": "json", "pageno": "1", "engines": "bing,qwant", "categories": "science", "language": "de"}
    assert server.asked[0].params == {**expected, "time_range": "month", "safesearch": "2"}


async def test_a_server_without_json_is_told_what_to_do(build: Build, serve: Serve) -> None:
    server = serve(lambda asked: Reply("<h1>Forbidden</h1>", 403))
    with pytest.raises(SourceError, match=r"add json to search\.formats"):
        await build(f"searxng:{server.url}").search(Query("x"))


async def test_dates_are_kept(build: Build, serve: Serve) -> None:
    result = {"title": "T", "url": "https://e.org/1", "content": "c", "publishedDate": "2023-06-12T08:30:00", "score": 2.5}
    server = serve(lambda asked: Reply({"results": [result] if asked.params["pageno"] == "1" else []}))
    hits = await build(f"searxng:{server.url}").search(Query("x"))
    assert hits[0].published == "2023-06-12T08:30:00"
