"""Services of the web: which one is taken, and what is special about each."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.sources.conftest import Build, Serve
from tests.sources.kit import Shelf
from tests.wire import searches, webs
from tests.wire.loopback import Reply

from wellread.errors import MissingExtra, SourceBusy, SourceError, UsageError
from wellread.sources import web
from wellread.types import Page, Query

pytestmark = pytest.mark.anyio


async def test_duckduckgo(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def found(query: str, how: dict[str, Any], problems: Any) -> object:
        asked.append(how)
        if query in ("busy", "broken", "nothing"):
            kind = problems.RatelimitException if query == "busy" else problems.DDGSException
            return kind("No results found." if query == "nothing" else f"{query}!")
        return [{"title": d.title, "href": d.url, "body": d.text} for d in searches.matching(query)][: how["max_results"]]

    webs.put_ddgs(monkeypatch, found)
    source = build("duckduckgo?region=de-de")
    hits = await source.search(Query("penicillin", limit=3))
    assert hits[0].snippet == "Fleming discovered penicillin in 1928 & told it."
    assert asked == [{"region": "de-de", "safesearch": "moderate", "timelimit": None, "max_results": 3, "backend": "duckduckgo"}]
    assert not await source.search(Query("nothing"))
    with pytest.raises(SourceBusy, match="busy!"):
        await source.search(Query("busy"))
    with pytest.raises(SourceError, match="broken!"):
        await source.search(Query("broken"))
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(MissingExtra, match=r"wellread\[web\]"):
        build("duckduckgo")


async def test_duckduckgo_by_the_package_itself(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ddgs")
    for name in [name for name in sys.modules if name.partition(".")[0] == "ddgs"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("DDGS_PROXY", "http://127.0.0.1:9")  # where nobody listens
    source = build("duckduckgo?timeout=5")
    with pytest.raises(SourceError, match="duckduckgo: "):
        await source.search(Query("penicillin"))


async def test_web_is_the_first_that_is_configured(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "find_spec", lambda name: None)
    monkeypatch.setattr(web, "_PORTS", ())
    assert build("web", environ={"SERPER_API_KEY": "k", "BRAVE_API_KEY": "k"}).name == "brave"
    assert build("web", environ={"SERPER_API_KEY": "k", "GOOGLE_API_KEY": "for something else"}).name == "serper"
    assert build("web", environ={"GOOGLE_API_KEY": "k", "GOOGLE_CSE_ID": "x"}).name == "google"
    with pytest.raises(UsageError, match=r"TAVILY_API_KEY.*SearXNG.*wellread\[web\]"):
        build("web", environ={"GOOGLE_API_KEY": "k"})
    monkeypatch.setattr(web, "find_spec", lambda name: name)
    webs.put_ddgs(monkeypatch, lambda *_: [])
    assert build("web", environ={}).name == "duckduckgo"


async def test_a_searxng_on_this_machine_is_found(build: Build, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(lambda asked: Reply({"results": [{"title": "a", "url": "https://a.org", "content": asked.params["q"]}]}))
    port = int(server.url.rpartition(":")[2])
    monkeypatch.setattr(web, "_PORTS", (9, port))
    source = build("web", environ={})
    assert source.name == f"searxng:127.0.0.1:{port}"
    assert (await source.search(Query("x")))[0].snippet == "x"
    assert build("searxng").name == source.name
    monkeypatch.setattr(web, "_PORTS", (9,))
    with pytest.raises(UsageError, match="none listens"):
        build("searxng")


async def test_what_services_are_asked(build: Build, serve: Serve) -> None:
    environ = {name: searches.KEY for name in ("EXA_API_KEY", "SERPER_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID")}
    query = Query("penicillin", limit=3, since="2023-01-02", until="2023-12-31", language="de")
    server = serve(webs.exa)
    hits = await build(f"exa?base={server.url}&full_text=yes&domains=a.org", environ=environ).search(query)
    assert hits[0].text == "Fleming discovered penicillin in 1928 & told it."
    assert server.asked[0].json["includeDomains"] == ["a.org"]
    assert server.asked[0].json["startPublishedDate"] == "2023-01-02"
    server = serve(webs.serper)
    assert (await build(f"serper?base={server.url}", environ=environ).search(query))[0].published == "2023-06-01"
    assert server.asked[0].json["tbs"] == "cdr:1,cd_min:01/02/2023,cd_max:12/31/2023"
    server = serve(webs.google)
    await build(f"google?base={server.url}", environ=environ).search(query)
    asked = server.asked[0].params
    assert (asked["sort"], asked["lr"], asked["cx"]) == ("date:r:20230102:20231231", "lang_de", searches.KEY)
    with pytest.raises(UsageError, match="GOOGLE_CSE_ID"):
        build("google", environ={"GOOGLE_API_KEY": "k"})


async def test_stack_exchange_brings_answers_along(build: Build, serve: Serve) -> None:
    server = serve(webs.stackexchange)
    hit = (await build(f"stackexchange?base={server.url}&tags=mould").search(Query("penicillin history")))[0]
    assert "What of Penicillin, a history?" in hit.text
    assert "Answer:" in hit.text
    assert "in 1928" in hit.text
    assert [asked.path for asked in server.asked] == ["/2.3/search/advanced", "/2.3/questions/0/answers"]
    with pytest.raises(SourceError, match="No site found"):
        await build(f"stackexchange:nowhere?base={server.url}").search(Query("x"))


async def test_a_repository_is_its_documents_and_its_issues(build: Build, serve: Serve) -> None:
    server, raw = serve(webs.github), "https://raw.example.org"
    texts = {"README.md": "How penicillin is made.", "docs/guide.md": "No."}
    pages = {f"{raw}/own/repo/HEAD/{name}": text for name, text in texts.items()}
    shelf = Shelf({url: Page(url, url.rpartition("/")[2], (text,)) for url, text in pages.items()})
    source = build(f"github:own/repo?base={server.url}&raw={raw}", reader=shelf)
    hits = await source.search(Query("penicillin"))
    assert shelf.asked == list(pages)
    assert {hit.source for hit in hits} == {"github:own/repo"}
    assert {hit.title for hit in hits} >= {"README.md", "Penicillin, a history"}
    await source.search(Query("penicillin"))
    assert len(shelf.asked) == 2  # read once
    with pytest.raises(UsageError, match="OWNER/REPO"):
        build("github:../x")


async def test_what_is_said_in_a_video(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    captions = {"captioned01": [(0, "Hello and"), (3000, "welcome."), (61_000, "Penicillin was found in 1928.")]}
    seen = webs.put_yt_dlp(monkeypatch, captions)
    source = build("youtube:https://www.youtube.com/watch?v=captioned01")
    hit = (await source.search(Query("when was penicillin found")))[0]
    assert (hit.text, hit.heading) == ("Penicillin was found in 1928.", "0:01:00")
    assert hit.url == "https://www.youtube.com/watch?v=captioned01&t=60s"
    assert hit.published == "2023-06-01"
    assert hit.reference is not None
    assert (hit.reference.authors, hit.reference.kind) == (("Ada",), "motion_picture")
    await source.search(Query("welcome"))
    assert len(seen) == 1
    with pytest.raises(SourceError, match="no captions in en"):
        await build("youtube:nocaption01").search(Query("x"))
    with pytest.raises(SourceError, match="private0000: Private video"):
        await build("youtube:private0000").search(Query("x"))
    for wrong in ("youtube", "youtube:https://example.org/watch?v=captioned01", "youtube:http://127.0.0.1/captioned01"):
        with pytest.raises(UsageError, match="needs a video"):
            build(wrong)
