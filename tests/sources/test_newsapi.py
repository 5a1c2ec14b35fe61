"""News API: parameters, paging, dates, the service's error codes."""

from __future__ import annotations

import pytest
from tests.sources.conftest import Build, Serve
from tests.wire import searches
from tests.wire.loopback import Reply

from wellread.errors import SourceBusy, SourceError, UsageError
from wellread.strategies.fanout import embedding_text
from wellread.strategies.lookup import description
from wellread.types import Query

pytestmark = pytest.mark.anyio


async def test_it_asks_as_the_recipe_says(build: Build, serve: Serve) -> None:
    server = serve(searches.newsapi)
    source = build(f"newsapi?base={server.url}&from=2023-06-01&to=2023-06-30&language=en")
    await source.search(Query("penicillin"))
    asked = server.asked[0]
    expected = {"q": "penicillin", "pageSize": "50", "page": "1", "sortBy": "relevancy", "from": "2023-06-01", "to": "2023-06-30"}
    assert asked.params == {**expected, "language": "en"}
    assert asked.headers["x-api-key"] == searches.KEY


async def test_dates_of_the_query_come_before_those_of_the_spec(build: Build, serve: Serve) -> None:
    server = serve(searches.newsapi)
    source = build(f"newsapi?base={server.url}&from=2020-01-01")
    hits = await source.search(Query("penicillin", since="2023-06-05", until="2023-06-30"))
    assert [hit.published for hit in hits] == ["2023-06-12T10:00:00Z"]


async def test_pages_are_fetched_until_there_are_enough(build: Build, serve: Serve) -> None:
    server = serve(searches.newsapi)
    source = build(f"newsapi?base={server.url}&pageSize=20&max_pages=5")
    assert len(await source.search(Query("lighthouse", limit=60))) == 60
    assert [asked.params["page"] for asked in server.asked] == ["1", "2", "3"]
    assert len(await source.search(Query("lighthouse", limit=10))) == 10
    assert len(server.asked) == 4


async def test_markup_removed_articles_and_the_cut_content_are_cleaned(build: Build, serve: Serve) -> None:
    source = build(f"newsapi?base={serve(searches.newsapi).url}")
    hits = list(await source.search(Query("antibiotics")))
    assert [hit.title for hit in hits] == ["How antibiotics work"]
    assert hits[0].snippet == "Penicillin breaks walls of bacteria"
    assert hits[0].text == ""  # the article itself has not been read


async def test_description_and_content_stay_apart(build: Build, serve: Serve) -> None:
    article = {
        "title": "T",
        "url": "https://e.org/1",
        "description": "Short.",
        "content": "The long beginning of the arti… [+99 chars]",
    }
    server = serve(lambda asked: Reply({"status": "ok", "totalResults": 1, "articles": [article]}))
    hits = await build(f"newsapi?base={server.url}").search(Query("x"))
    assert (hits[0].title, hits[0].snippet, hits[0].beginning) == ("T", "Short.", "The long beginning of the arti")
    assert hits[0].text == "", "the article itself has not been read"
    assert embedding_text(hits[0]) == "T Short. The long beginning of the arti"
    assert description(hits[0]) == "Short.", "which is what the prompt shows"
    assert hits[0].passage().text == "Short. The long beginning of the arti"


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (401, "apiKeyExhausted", "Your API key has no more requests."),
        (400, "parameterInvalid", "You are trying to request results too far in the past."),
        (426, "maximumResultsReached", "Developer accounts are limited to 100 results."),
        (200, "unexpectedError", "This should not happen."),
    ],
)
async def test_the_services_own_words_reach_the_user(build: Build, serve: Serve, status: int, code: str, message: str) -> None:
    server = serve(lambda asked: Reply({"status": "error", "code": code, "message": message}, status))
    with pytest.raises(SourceError, match=message.replace(".", r"\.")):
        await build(f"newsapi?base={server.url}").search(Query("x"))


async def test_a_rate_limit_is_busy(build: Build, serve: Serve) -> None:
    server = serve(lambda asked: Reply({"status": "error", "code": "rateLimited"}, 200, {"Retry-After": "99"}))
    with pytest.raises(SourceBusy) as caught:
        await build(f"newsapi?base={server.url}").search(Query("x"))
    assert caught.value.retry_after == 99


async def test_wrong_options_are_wrong_usage(build: Build) -> None:
    for options in ("page_size=500", "from=yesterday", "sort_by=luck", "colour=red"):
        with pytest.raises(UsageError, match="source newsapi"):
            build(f"newsapi?{options}")
    with pytest.raises(UsageError, match="set NEWSAPI_KEY"):
        build("newsapi", environ={})
