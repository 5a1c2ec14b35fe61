"""`datasette:URL` against a real Datasette; the ReAct recipe's blog search is one configuration."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from tests.sources.conftest import Build, Serve
from tests.wire.loopback import Asked, Reply

from wellread.errors import SourceError
from wellread.types import Query

pytestmark = [pytest.mark.anyio, pytest.mark.service]


async def test_the_blog_search_of_the_recipe(build: Build, datasette_blog: str) -> None:
    source = build(f"datasette:{datasette_blog}/blog/blog_entry")
    hits = await source.search(Query("sourdough oven", limit=1))
    assert hits[0].title == "How bread was baked in the village"
    assert hits[0].snippet == "Every Saturday the oven was lit at four. The sourdough had rested & risen overnight."
    assert hits[0].url == f"{datasette_blog}/blog/blog_entry/1"
    assert hits[0].published == "2021-03-04T08:00:00"


async def test_long_entries_have_a_snippet_of_a_thousand_characters(build: Build, datasette_blog: str) -> None:
    hits = await build(f"datasette:{datasette_blog}/blog/blog_entry").search(Query("keeper stairs"))
    assert len(hits[0].snippet) <= 1000
    assert (hits[0].text or "").endswith("The last lamp is in Portland.")


@pytest.mark.parametrize("where", ["", "/blog"])
async def test_it_finds_all_indexed_tables_by_itself(build: Build, datasette_blog: str, where: str) -> None:
    hits = await build(f"datasette:{datasette_blog}{where}").search(Query("sourdough"))
    assert {hit.id.split("/")[-2] for hit in hits} == {"blog_entry", "note"}


async def test_all_words_first_then_any(build: Build, datasette_blog: str) -> None:
    source = build(f"datasette:{datasette_blog}/blog/blog_entry")
    assert [hit.title for hit in await source.search(Query("printing sourdough"))] == ["A year with a hand press"]
    assert len(await source.search(Query("printing lighthouse penicillin zugunruhe"))) >= 2


async def test_own_sql(build: Build, datasette_blog: str) -> None:
    found = "select rowid from blog_entry_fts where blog_entry_fts match :q limit :limit"
    sql = f"select id, title, slug, body from blog_entry where id in ({found})"
    source = build(f"datasette:{datasette_blog}/blog?sql={quote(sql)}&text=slug")
    hits = await source.search(Query("penicillin"))
    assert [(hit.title, hit.text) for hit in hits] == [("Penicillin in a jar", "penicillin")]


async def test_wrong_sql_gets_the_services_words(build: Build, datasette_blog: str) -> None:
    source = build(f"datasette:{datasette_blog}/blog?sql={quote('select * from nowhere where 1 = :q')}")
    with pytest.raises(SourceError, match="no such table: nowhere"):
        await source.search(Query("x"))


async def test_a_table_without_an_index_is_named(build: Build, datasette_blog: str) -> None:
    with pytest.raises(SourceError, match="'tag' has no full-text index"):
        await build(f"datasette:{datasette_blog}/blog/tag").search(Query("x"))


async def test_what_is_no_datasette_is_said_to_be_none(build: Build, serve: Serve) -> None:
    server = serve(lambda asked: Reply({"ok": False}, 404))
    with pytest.raises(SourceError, match="no Datasette found"):
        await build(f"datasette:{server.url}/a/b").search(Query("x"))


async def test_a_server_that_allows_no_sql_is_searched_through_its_tables(build: Build, serve: Serve) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path == "/-/databases.json":
            return Reply([{"name": "blog"}])
        if "sql" in asked.params:
            return Reply({"ok": False, "error": "permission denied"}, 403)
        if asked.path == "/blog.json":
            return Reply({"tables": [{"name": "entry", "fts_table": "entry_fts", "primary_keys": ["id"]}]})
        assert asked.path == "/blog/entry.json"
        assert asked.params["_search"] == '"penicillin"'
        return Reply([{"id": "a/b", "title": "T", "body": "<p>Penicillin</p>"}])

    server = serve(answer)
    hits = await build(f"datasette:{server.url}").search(Query("penicillin"))
    assert [(hit.text, hit.url) for hit in hits] == [("Penicillin", f"{server.url}/blog/entry/a~2Fb")]
