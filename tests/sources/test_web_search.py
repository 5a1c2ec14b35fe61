"""Tavily, Brave, Slack and Elasticsearch: what is special about each."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.sources.conftest import Build, Serve
from tests.wire import searches
from tests.wire.loopback import Asked, Reply

from wellread.errors import SourceError, UsageError
from wellread.types import Query

pytestmark = pytest.mark.anyio


async def test_tavily_gets_all_its_parameters(build: Build, serve: Serve) -> None:
    server = serve(searches.tavily)
    options = "depth=advanced&topic=news&time_range=week&domains=a.org,b.org&exclude_domains=c.org&country=japan&full_text=yes"
    source = build(f"tavily?base={server.url}&{options}")
    hits = await source.search(Query("penicillin", limit=30, since="2023-01-01", until="2023-12-31"))
    assert server.asked[0].json == {
        "query": "penicillin",
        "max_results": 20,
        "search_depth": "advanced",
        "topic": "news",
        "time_range": "week",
        "start_date": "2023-01-01",
        "end_date": "2023-12-31",
        "include_domains": ["a.org", "b.org"],
        "exclude_domains": ["c.org"],
        "country": "japan",
        "include_raw_content": "text",
    }
    assert hits[0].text == "Fleming discovered penicillin in 1928 & told it. And the rest of the page."
    assert hits[0].published == "2023-06-01T08:00:00Z"
    assert hits[0].score == 0.9


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("spec", "inside"),
    [
        ("searxng:{url}", '{"results": [%s]}'),
        ("tavily?base={url}", '{"results": [%s]}'),
        ("brave?base={url}", '{"web": {"results": [%s]}}'),
        ("newsapi?base={url}", '{"status": "ok", "articles": [%s]}'),
        ("slack?base={url}", '{"ok": true, "messages": {"matches": [%s]}}'),
        ("elasticsearch:{url}/index", '{"hits": {"hits": [%s]}}'),
        ("datasette:{url}/data?sql=x", "[%s]"),
    ],
)
async def test_a_service_that_answers_with_very_much(build: Build, serve: Serve, spec: str, inside: str) -> None:
    def result(number: int) -> str:
        said = f'"title": "a", "text": "a", "content": "<b>a", "id": {number}'
        place = f'"url": "http://a/{number}", "permalink": "http://a/{number}", "_id": "{number}"'
        return f'{{{said}, {place}, "_source": {{"title": "b"}}}}'

    body = (inside % ",".join(map(result, range(20_000)))).encode()
    server = serve(lambda asked: Reply(body))
    source = build(spec.format(url=server.url))
    before = time.thread_time()
    hits = await source.search(Query("penicillin", limit=20))
    spent = time.thread_time() - before
    assert len(hits) == 20
    assert spent < 1.5  # of this thread alone; to make them all takes three


async def test_tavily_shows_its_own_error(build: Build, serve: Serve) -> None:
    server = serve(lambda asked: Reply({"detail": {"error": "This request exceeds your plan's set usage limit."}}, 432))
    with pytest.raises(SourceError, match="exceeds your plan"):
        await build(f"tavily?base={server.url}").search(Query("x"))


async def test_brave_pages_through_results_at_its_rate(build: Build, serve: Serve) -> None:
    server = serve(searches.brave)
    source = build(f"brave?base={server.url}&rate=20&country=DE&language=de&safe_search=strict")
    begun = time.perf_counter()
    assert len(await source.search(Query("lighthouse", limit=45, since="2021-01-01", until="2021-12-31"))) == 45
    took = time.perf_counter() - begun
    assert [asked.params.get("offset") for asked in server.asked] == [None, "1", "2"]
    first = server.asked[0].params
    assert first["freshness"] == "2021-01-01to2021-12-31"
    assert (first["country"], first["search_lang"], first["safesearch"], first["count"]) == ("DE", "de", "strict", "20")
    assert took > 0.08  # two pauses; when requests arrive says less on a busy machine


async def test_brave_keeps_queries_within_its_limits(build: Build, serve: Serve) -> None:
    server = serve(searches.brave)
    await build(f"brave?base={server.url}&rate=100").search(Query("word " * 100))
    assert len(server.asked[0].params["q"].split()) == 50
    with pytest.raises(UsageError, match="rate"):
        build("brave?rate=0")


async def test_brave_shows_its_own_error(build: Build, serve: Serve) -> None:
    source = build(f"brave?base={serve(searches.brave).url}", environ={"BRAVE_API_KEY": "wrong"})
    with pytest.raises(SourceError, match="subscription token is invalid"):
        await source.search(Query("x"))


async def test_slack_narrows_by_channel_and_dates(build: Build, serve: Serve) -> None:
    server = serve(searches.slack)
    source = build(f"slack?base={server.url}&channel=lab&sort=timestamp")
    hits = await source.search(Query("penicillin", since="2023-06-01", until="2023-06-30"))
    assert server.asked[0].params["query"] == "penicillin in:#lab after:2023-05-31 before:2023-07-01"
    assert server.asked[0].params["sort"] == "timestamp"
    assert hits[0].title == "ada in #lab"
    assert hits[0].text == "@grace Fleming discovered penicillin in 1928 & told it. Penicillin, a history"
    assert hits[0].published == "2023-06-01T06:13:20Z"


@pytest.mark.parametrize(
    ("code", "expected"),
    [("invalid_auth", "SLACK_TOKEN right"), ("not_allowed_token_type", "user token"), ("fatal_error", "slack: fatal_error")],
)
async def test_slack_hides_its_errors_in_a_200(build: Build, serve: Serve, code: str, expected: str) -> None:
    server = serve(lambda asked: Reply({"ok": False, "error": code}))
    with pytest.raises(SourceError, match=expected):
        await build(f"slack?base={server.url}").search(Query("x"))


@pytest.mark.parametrize(("since", "until"), [("0001-01-01", None), (None, "9999-12-31")])
async def test_slack_at_the_ends_of_the_calendar(build: Build, serve: Serve, since: str | None, until: str | None) -> None:
    server = serve(searches.slack)
    await build(f"slack?base={server.url}").search(Query("lighthouse", since=since, until=until))
    assert server.asked[0].params["query"] == "lighthouse"


async def test_elasticsearch_asks_for_words_and_dates(build: Build, serve: Serve) -> None:
    server = serve(searches.elasticsearch)
    source = build(f"elasticsearch:{server.url}/docs?fields=title^2,body&date=date", environ={"ELASTICSEARCH_API_KEY": "k"})
    hits = await source.search(Query("penicillin", since="2023-01-01"))
    body = server.asked[0].json
    assert body["query"]["bool"]["must"][0]["multi_match"]["fields"] == ["title^2", "body"]
    assert body["query"]["bool"]["filter"] == [{"range": {"date": {"gte": "2023-01-01"}}}]
    assert server.asked[0].headers["authorization"] == "ApiKey k"
    assert hits[0].id == "docs/0"
    assert hits[0].url == "https://example.org/penicillin"
    assert hits[0].published == "2023-06-01"


@pytest.mark.parametrize("opensearch", [False, True])
async def test_the_vector_clause_of_both_servers(build: Build, serve: Serve, opensearch: bool) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/" and opensearch:
            return Reply({"version": {"distribution": "opensearch", "number": "2.11.0"}})
        return searches.elasticsearch(asked)

    server = serve(answer)
    hits = await build(f"elasticsearch:{server.url}/docs?vector=emb").search(Query("antibiotics", limit=4))
    clause = server.asked[-1].json
    if opensearch:
        assert len(clause["query"]["knn"]["emb"]["vector"]) == 256
    else:
        assert clause["knn"]["k"] == 4
        assert len(clause["knn"]["query_vector"]) == 256
    assert clause["_source"] == {"excludes": ["emb"]}
    assert [hit.title for hit in hits] == ["How antibiotics work", "Penicillin, a history"]  # found by both comes first


async def test_elasticsearch_takes_a_query_of_ones_own(build: Build, serve: Serve, tmp_path: Path) -> None:
    template = tmp_path / "query.json"
    template.write_text(json.dumps({"query": {"bool": {"should": [{"match": {"body": "{{query}}"}}, {"match_all": {}}]}}}))
    server = serve(searches.elasticsearch)
    await build(f"elasticsearch:{server.url}/docs?query={template}").search(Query('a"}}, {"x": 1'))
    assert server.asked[0].json["query"]["bool"]["should"][0] == {"match": {"body": 'a"}}, {"x": 1'}}
    with pytest.raises(UsageError, match="JSON file"):
        build(f"elasticsearch:{server.url}/docs?query={tmp_path}/none.json")


async def test_elasticsearch_names_the_index_that_is_missing(build: Build, serve: Serve) -> None:
    with pytest.raises(SourceError, match=r"no such index \[nope\]"):
        await build(f"elasticsearch:{serve(searches.elasticsearch).url}/nope").search(Query("x"))
    with pytest.raises(UsageError, match="name of an index"):
        build("elasticsearch:http://127.0.0.1:9200")
