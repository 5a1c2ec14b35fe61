"""Documents that the server keeps: every door gives an address of the page, which opens at the words; none a path of the disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from tests.reading.test_pdf import pdf, prose
from tests.server.desk import LAMPS, STORM, furnish, serving
from tests.server.stage import Live, ask, finished, quoting, running, stream, until

from wellread.answer_json import AnswerJson, CitationJson
from wellread.server.viewer import linked

pytestmark = pytest.mark.slow
QUESTION = "Until when was whale oil burned in the lamps of Skerry?"
OIL = "Whale oil was burned in the lamps of Skerry until 1860."
PATH = "/collections/the-light/documents/lamps%20%26%20oil.html"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with running(quoting(), tmp_path_factory.mktemp("shelf")) as live, live.client() as client:
        files = {"lamps & oil.html": LAMPS.encode(), "log.pdf": pdf(prose(780), [*prose(780), *STORM], title="The Log")}
        sent = [("documents", (name, body, "text/plain")) for name, body in files.items()]
        assert client.post("/collections", data={"name": "The light"}, files=sent).status_code == 303
        until(lambda: "data-working" not in client.get("/collections/the-light").text, 30)
        yield live


@pytest.fixture
def client(shelf: Live) -> Iterator[httpx2.Client]:
    with shelf.client() as one:
        yield one


def opened(client: httpx2.Client, link: str) -> str:
    """The words that the page at a link has marked."""
    assert link.startswith(str(client.base_url))
    page = client.get(link)
    assert page.status_code == 200
    return re.sub(r"<[^>]+>", "", "".join(re.findall(r"<mark.*?</mark>", page.text, re.DOTALL)))


def test_every_door_gives_an_address_of_the_page(shelf: Live, client: httpx2.Client) -> None:
    run = ask(client, QUESTION, sources=["The light"])
    kept = finished(client, run)["answer"]["citations"][0]
    assert kept["url"] == PATH
    assert opened(client, kept["link"]) == OIL
    told = {path: client.get(path).text for path in (f"/r/{run}", f"/r/{run}/export.md", f"/r/{run}/export.json", "/api/export")}
    told["events"] = repr(stream(client, "GET", f"/api/runs/{run}/events"))
    told["search"] = client.get("/api/search", params={"q": "whale oil", "source": "The light"}).text
    told["list"] = client.get("/collections/the-light").text
    root = str(shelf.service.collections.root)
    assert [door for door, said in told.items() if "file:" in said or root in said] == []
    assert f"](<{kept['link']}>)" in told[f"/r/{run}/export.md"]
    assert PATH in told["list"]


def test_programs_elsewhere_can_open_what_was_cited(client: httpx2.Client) -> None:
    run = ask(client, QUESTION, sources=["The light"])
    finished(client, run)
    part = client.get(f"/v1/responses/resp_{run}").json()["output"][0]["content"][0]
    link = part["annotations"][0]["url"]
    assert urlsplit(link).path == PATH
    assert opened(client, link) == OIL
    assert f"](<{link}>)" in part["text"]


async def test_an_assistant_gets_them_too(shelf: Live, client: httpx2.Client) -> None:
    async with Client(f"{shelf.url}/mcp") as assistant:
        answer = (await assistant.call_tool("ask", {"question": QUESTION, "source": "The light"})).structured_content
        hits = (await assistant.call_tool("search", {"query": "whale oil", "source": "The light"})).structured_content
    assert answer is not None
    assert hits is not None
    assert opened(client, answer["citations"][0]["link"]) == OIL
    assert hits["hits"][0]["url"] == PATH
    assert OIL.split()[0] in opened(client, hits["hits"][0]["link"])


def test_a_page_of_a_pdf_opens_by_its_words(client: httpx2.Client) -> None:
    run = ask(client, "What put out the light for two nights?", sources=["The light"])
    link = finished(client, run)["answer"]["citations"][0]["link"]
    page = client.get(link).text
    assert "Page 2 of 2" in page
    assert 'class="words"' in page


def test_words_that_are_gone_are_said_to_be(client: httpx2.Client) -> None:
    page = client.get(PATH, params={"words": "Nobody ever wrote this."}).text
    assert "the passage is not as it was" in page
    assert "Whale oil" in page
    assert client.get("/collections/the-light/documents/../about.json").status_code == 404
    assert client.get("/collections/the-light/documents/nothing.txt").status_code == 404
    assert client.get("/collections/no-such/documents/log.pdf").status_code == 404


def test_files_of_the_operator_open_elsewhere_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(furnish(tmp_path_factory.mktemp("desk"))) as live, live.client() as client:
        run = ask(client, QUESTION)
        cited = finished(client, run)["answer"]["citations"][0]
        assert urlsplit(cited["url"]).path == "/document"
        assert opened(client, cited["link"]) == OIL
        for stored in (True, False):
            asked = {"model": "wellread", "messages": [{"role": "user", "content": QUESTION}], "store": stored}
            said = client.post("/v1/chat/completions", json=asked).json()["choices"][0]["message"]
            assert said["annotations"][0]["url_citation"]["url"] == cited["link"]
            reply = client.post("/v1/responses", json={"model": "wellread", "input": QUESTION, "store": stored}).json()
            assert reply["output"][0]["content"][0]["annotations"][0]["url"] == cited["link"]


def test_pages_of_the_web_keep_their_address() -> None:
    row = CitationJson(url="https://planets.example/saturn", quote="Saturn", source="web")
    (cited,) = linked(AnswerJson(outcome="answered", citations=[row]), "http://127.0.0.1/").citations
    assert cited.link == cited.url == "https://planets.example/saturn"
