"""`mediawiki:BASE_URL` against a real MediaWiki: texts, redirects, meanings, errors, the recipes' examples."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.services.servers import fetch
from tests.sources.conftest import Build, Serve
from tests.wire.loopback import Answer, Asked, Reply

from wellread.errors import SourceBusy, SourceError, UsageError
from wellread.types import Query

pytestmark = [pytest.mark.anyio, pytest.mark.service]


async def test_which_film_came_out_first(build: Build, mediawiki: str) -> None:
    source = build(f"mediawiki:{mediawiki}")
    for query, date in (
        ("Oppenheimer film release date", "21 July 2023"),
        ("Are You There God? It's Me, Margaret. film", "28 April 2023"),
    ):
        hits = await source.search(Query(query, limit=3))
        assert any(date in (hit.text or "") for hit in hits), query


async def test_who_won_and_who_was_best(build: Build, mediawiki: str) -> None:
    source = build(f"mediawiki:{mediawiki}")
    hits = await source.search(Query("2023 NBA championship winner", limit=3))
    assert any("Denver Nuggets" in (hit.text or "") for hit in hits)
    hits = await source.search(Query("Denver Nuggets best player 2009", limit=3))
    assert "Carmelo Anthony" in (hits[0].text or "")


async def test_what_england_borders(build: Build, mediawiki: str) -> None:
    hits = await build(f"mediawiki:{mediawiki}").search(Query("England borders", limit=1))
    assert hits[0].title == "England"
    assert "shares land borders with Wales" in hits[0].snippet
    assert "[[" not in hits[0].snippet
    assert "'''" not in hits[0].snippet


async def test_whole_texts_keep_their_sections(build: Build, mediawiki: str) -> None:
    hits = await build(f"mediawiki:{mediawiki}").search(Query("Oppenheimer premiere Paris", limit=1))
    text = hits[0].text or ""
    assert "## Cast" in text
    assert "### Crew" in text
    assert "References" not in text  # nothing is left under it
    assert hits[0].published
    assert hits[0].url == f"{mediawiki}/index.php/Oppenheimer_(film)"


async def test_a_wiki_without_extracts_gives_parsed_pages(build: Build, bare_mediawiki: str) -> None:
    hits = await build(f"mediawiki:{bare_mediawiki}").search(Query("Oppenheimer premiere Paris", limit=1))
    text = hits[0].text or ""
    assert "## Cast\n\nCillian Murphy plays" in text
    assert "Lewis Strauss | Robert Downey Jr." in text
    assert "- Ludwig Göransson, music" in text
    assert "NewPP" not in text


async def test_introductions_come_in_one_request(build: Build, mediawiki: str, serve: Serve) -> None:
    proxy = serve(_through(mediawiki))
    source = build(f"mediawiki:{proxy.url}/api.php?text=intro")
    hits = await source.search(Query("basketball", limit=10))
    assert len(hits) > 3
    assert all("##" not in (hit.text or "") for hit in hits)
    assert len(proxy.asked) == 4  # what the wiki can do, titles, texts, and all introductions at once
    assert all(asked.params["maxlag"] == "5" for asked in proxy.asked[1:])


async def test_answers_are_kept_for_a_while(build: Build, mediawiki: str, serve: Serve, tmp_path: Path) -> None:
    proxy = serve(_through(mediawiki))
    kit = {"environ": {"WELLREAD_CACHE_DIR": str(tmp_path)}, "cache": True}
    first = await build(f"mediawiki:{proxy.url}/api.php", **kit).search(Query("England borders", limit=2))
    asked = len(proxy.asked)
    again = build(f"mediawiki:{proxy.url}/api.php", **kit)
    assert await again.search(Query("England borders", limit=2)) == first
    assert len(proxy.asked) == asked + 1  # only what the wiki can do is asked again


async def test_no_texts_when_none_are_wanted(build: Build, mediawiki: str) -> None:
    hits = await build(f"mediawiki:{mediawiki}?text=none").search(Query("England borders", limit=2))
    assert hits[0].text == ""
    assert hits[0].snippet


async def test_redirects_end_at_their_page_once(build: Build, mediawiki: str) -> None:
    source = build(f"mediawiki:{mediawiki}")
    hits = await source.search(Query("Quicksilver", limit=5))
    assert [hit.title for hit in hits] == ["Mercury (element)"]
    titles = [hit.title for hit in await source.search(Query("Nuggets", limit=20))]
    assert titles.count("Denver Nuggets") == 1


async def test_a_page_of_meanings_goes_last_and_brings_its_articles(build: Build, mediawiki: str) -> None:
    hits = await build(f"mediawiki:{mediawiki}").search(Query("Hermod", limit=10))
    assert {hit.title for hit in hits[:-1]} == {"Hermod (god)", "Hermod (ship)"}
    assert hits[-1].title == "Hermod"
    assert all(hit.text for hit in hits)


async def test_questions_fall_back_to_their_key_words(build: Build, mediawiki: str) -> None:
    source = build(f"mediawiki:{mediawiki}")
    hits = await source.search(Query("Could you please tell me who it was that discovered penicillin?", limit=2))
    assert "Fleming" in (hits[0].text or "")
    hits = await source.search(Query("penicillin versus zugunruhe", limit=2))
    assert any(hit.title == "Penicillin" for hit in hits)


async def test_the_api_is_found_from_a_page_of_the_wiki(build: Build, mediawiki: str) -> None:
    hits = await build(f"mediawiki:{mediawiki}/index.php/England").search(Query("Madagascar", limit=1))
    assert hits[0].title == "Madagascar"


async def test_what_is_no_wiki_is_said_to_be_none(build: Build, serve: Serve) -> None:
    server = serve(lambda asked: Reply("<html>hello</html>"))
    with pytest.raises(SourceError, match="no MediaWiki API found"):
        await build(f"mediawiki:{server.url}").search(Query("x"))


async def test_a_lagging_wiki_is_asked_again(build: Build, mediawiki: str, serve: Serve) -> None:
    through = _through(mediawiki)

    def lagging(asked: Asked) -> Reply:
        if len(proxy.asked) == 2:
            return Reply({"error": {"code": "maxlag", "info": "Waiting for a database server"}}, 200, {"Retry-After": "1"})
        return through(asked)

    proxy = serve(lagging)
    hits = await build(f"mediawiki:{proxy.url}/api.php").search(Query("England borders", limit=1))
    assert hits[0].title == "England"
    times = [asked.at for asked in proxy.asked if asked.params == proxy.asked[1].params]
    assert times[1] - times[0] > 0.9


async def test_errors_of_the_api_come_with_its_words(build: Build, serve: Serve) -> None:
    site = {"query": {"general": {"sitename": "x"}, "extensions": []}}
    error = {"error": {"code": "readapidenied", "info": "You need read permission to use this module."}}
    server = serve(lambda asked: Reply(site if "meta" in asked.params else error))
    with pytest.raises(SourceError, match=r"You need read permission.*readapidenied"):
        await build(f"mediawiki:{server.url}/api.php").search(Query("x"))
    slow = {"error": {"code": "ratelimited", "info": "Slow down."}}
    server.answer = lambda asked: Reply(site if "meta" in asked.params else slow, 200, {"Retry-After": "500"})
    with pytest.raises(SourceBusy, match="Slow down"):
        await build(f"mediawiki:{server.url}/api.php").search(Query("x"))


async def test_languages_are_checked(build: Build) -> None:
    assert build("wikipedia?language=de").name == "wikipedia?language=de"
    for wrong in ("wikipedia?language=d/../x", "wikipedia?language=EN", "wikipedia:de", "mediawiki:", "mediawiki:wiki"):
        with pytest.raises(UsageError):
            build(wrong)


def _through(base: str) -> Answer:
    """A stand-in that hands everything to the real wiki, so that requests can be counted."""

    def answer(asked: Asked) -> Reply:
        url = f"{base}{asked.path}?{urlencode(asked.params)}"
        with fetch(url) as found:
            kept = {name: found.headers[name] for name in ("Content-Type", "Cache-Control") if name in found.headers}
            return Reply(found.read(), headers=kept)

    return answer
