"""`wikipedia`: editions and what only its search engine can do, against a stand-in with that engine."""

from __future__ import annotations

import pytest
from tests.sources.conftest import Build, Serve
from tests.sources.kit import TestKit
from tests.wire.loopback import Asked, Reply

from wellread.sources import mediawiki
from wellread.types import Query, Spec

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("option", "asked", "host"),
    [(None, None, "en"), ("de", None, "de"), ("de", "fr", "de"), (None, "fr", "fr"), (None, "pt-BR", "pt"), (None, "../x", "en")],
)
async def test_the_edition(option: str | None, asked: str | None, host: str) -> None:
    source = mediawiki.Wikipedia(Spec("wikipedia", options={"language": option} if option else {}), TestKit())
    site = await source.site(asked)
    assert site.api == f"https://{host}.wikipedia.org/w/api.php"


def cirrus(asked: Asked) -> Reply:
    """Enough of a wiki with CirrusSearch: only the OR query finds something."""
    p = asked.params
    if p.get("meta") == "siteinfo":
        names = [{"name": "CirrusSearch"}, {"name": "TextExtracts"}]
        return Reply({"query": {"general": {"sitename": "W"}, "extensions": names}})
    if p.get("prop") == "extracts":
        return Reply(
            {"query": {"pages": [{"pageid": int(p["pageids"]), "extract": f"Text {p['pageids']}.\n\n\n== More ==\nAnd more."}]}}
        )
    if p.get("generator") == "links":
        return Reply({"query": {"pages": [{"pageid": 3, "title": "Third", "canonicalurl": "https://w.org/Third"}]}})
    if " OR " not in p["srsearch"]:
        return Reply({"query": {"search": []}})
    pages = [
        {"pageid": 1, "title": "First", "canonicalurl": "https://w.org/First", "pageprops": {"disambiguation": ""}},
        {"pageid": 2, "title": "Second", "canonicalurl": "https://w.org/Second"},
    ]
    found = [
        {"title": page["title"], "snippet": 'a <span class="searchmatch">b</span>', "timestamp": "2023-01-02T03:04:05Z"}
        for page in pages
    ]
    return Reply({"query": {"pages": pages, "search": found}})


async def test_words_are_joined_by_or_when_all_together_find_nothing(build: Build, serve: Serve) -> None:
    server = serve(cirrus)
    hits = await build(f"mediawiki:{server.url}/w/api.php").search(Query("Who invented the zugunruhe telescope?", limit=3))
    queries = [asked.params["srsearch"] for asked in server.asked if "srsearch" in asked.params]
    assert queries == [
        "Who invented the zugunruhe telescope?",
        "invented zugunruhe telescope",
        "invented OR zugunruhe OR telescope",
    ]
    assert [hit.title for hit in hits] == ["Second", "Third", "First"]  # the page of meanings last, its article in
    assert hits[0].text == "Text 2.\n\n## More\nAnd more."
    assert hits[0].snippet == "a b"
    assert hits[0].published == "2023-01-02T03:04:05Z"


async def test_whole_texts_are_fetched_for_so_many_pages_only(build: Build, serve: Serve) -> None:
    hits = await build(f"mediawiki:{serve(cirrus).url}/w/api.php?max_texts=1").search(Query("invented telescope", limit=2))
    assert [hit.text == "" for hit in hits] == [True, False]


async def test_a_text_that_fails_leaves_the_snippet(build: Build, serve: Serve) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply("", 500) if asked.params.get("prop") == "extracts" else cirrus(asked)

    hits = await build(f"mediawiki:{serve(answer).url}/w/api.php").search(Query("invented telescope", limit=2))
    assert [(hit.title, hit.text, hit.snippet) for hit in hits] == [("Second", "", "a b"), ("First", "", "a b")]


async def test_long_questions_are_cut_for_the_api(build: Build, serve: Serve) -> None:
    server = serve(cirrus)
    await build(f"mediawiki:{server.url}/w/api.php").search(Query(" ".join(f"telescope{n}" for n in range(100))))
    assert any(" OR " in asked.params.get("srsearch", "") for asked in server.asked)
    assert all(len(asked.params.get("srsearch", "")) <= 300 for asked in server.asked)
