"""Documents open at their place, from what the operator offers and from nothing else."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
import pytest
from mcp import Client
from tests.reading.test_pdf import pdf, prose
from tests.server.desk import ODD, SECRET, Desk, furnish, serving
from tests.server.stage import Live, ask, finished

from wellread.server import viewer

pytestmark = pytest.mark.slow
QUESTION = "Until when was whale oil burned in the lamps of Skerry?"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return furnish(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def live(desk: Desk) -> Iterator[Live]:
    with serving(desk) as server:
        yield server


@pytest.fixture(scope="module")
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client() as one:
        yield one


@pytest.fixture(scope="module")
def run(client: httpx2.Client) -> str:
    found = ask(client, QUESTION)
    assert finished(client, found)["answer"]["citations"]
    return found


def of(source: str, document: str, **more: object) -> str:
    return "/document?" + urlencode({"source": source, "document": document, **more})


def drawn(source: str, document: str, page: object = 1) -> str:
    return "/document/page?" + urlencode({"source": source, "document": document, "page": page})


# Names that are not in the records of the folder that is offered, however they are written.
DOCUMENTS = [
    "../secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "%252e%252e%252fsecret.txt",
    "..\\secret.txt",
    "....//secret.txt",
    "sub/../../secret.txt",
    "sub/../lamps.html",
    "./lamps.html",
    "lamps.html/",
    "lamps.html/.",
    "lamps.html ",
    " lamps.html",
    "LAMPS.HTML",
    "lamps.html\0",
    "lamps.html\0.txt",
    "lamps.html#0",
    "/etc/passwd",
    "//etc/passwd",
    "file:///etc/passwd",
    "http://127.0.0.1/",
    "~/.ssh/id_rsa",
    "$HOME",
    ".hidden.txt",
    "link.txt",
    "up/secret.txt",
    "up",
    "zero.txt",
    "pipe.txt",
    "/dev/zero",
    "/proc/self/environ",
    "sub",
    "sub/",
    ".",
    "..",
    "*",
    "*.html",
    "．．/secret.txt",
    "‮lmth.spmal",
    "vault.txt",
    "private/vault.txt",
    "manifest.json",
    "history.sqlite",
    "caf\u00e9.txt",
    "a" * 3_999,
    "'; DROP TABLE runs; --",
    "<script>alert(1)</script>",
]
# Sources that are not offered, or are offered by another name.
SOURCES = [
    "",
    "files:/",
    "files:/etc",
    "files:.",
    "files:..",
    "index:/",
    "file:///etc",
    "/etc",
    "wikipedia",
    "shelf",
    "library\0",
    "FILES",
    "http://127.0.0.1/",
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_that_is_not_in_the_records_is_refused(client: httpx2.Client, desk: Desk, document: str) -> None:
    for source in (desk.files, desk.index):
        for path in (of(source, document), drawn(source, document)):
            refused(client, path, 404)


@pytest.mark.parametrize("document", ["lamps.html", "vault.txt", "/etc/passwd"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_source_that_is_not_offered_is_refused(client: httpx2.Client, source: str, document: str) -> None:
    refused(client, of(source, document), 404)
    refused(client, drawn(source, document), 404)


def test_an_index_of_somebody_else_is_refused_by_any_name(client: httpx2.Client, desk: Desk) -> None:
    names = [
        desk.other,
        str(desk.root / "other"),
        f"{desk.index}/../other",
        f"{desk.files}/../private",
        f"{desk.index} + {desk.other}",
    ]
    for source in [*names, desk.files + "/", desk.files.upper(), desk.files + "?pattern=*", desk.index + "%00"]:
        refused(client, of(source, "vault.txt"), 404)
        refused(client, of(source, "lamps.html"), 404)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/document", 422),
        ("/document?source=library", 422),
        ("/document?document=lamps.html", 422),
        ("/document?source=%ff%fe&document=%c0%ae%c0%ae%2fsecret.txt", 404),
        ("/document?source=library&document=" + "a" * 4_001, 422),
        ("/document?source=library&document=x&start=-1", 422),
        ("/document?source=library&document=x&end=99999999999999999999", 422),
        ("/document?source=library&document=x&page=0", 422),
        ("/document/../../etc/passwd", 404),
        ("/document/%2e%2e/%2e%2e/etc/passwd", 404),
        ("/document/page", 422),
        ("/document/page?source=library&document=Saturn&page=1", 404),
        ("/document/page?source=library&document=Saturn&page=nan", 422),
        ("/document/page?source=library&document=Saturn&page=-1", 422),
        ("/document/page?source=library&document=Saturn&page=100001", 422),
        ("/static/../../viewer.py", 404),
        ("/static/%2e%2e%2fviewing.py", 404),
        ("/r/aaaaaaaaaaaa/source/1", 404),
        ("/r/../source/1", 404),
        ("/r/%2e%2e%2f%2e%2e/source/1", 404),
        ("/r/aaaaaaaaaaaaa/source/1", 422),
        ("/r/aaaaaaaaaaa%00/source/1", 422),
    ],
)
def test_requests_that_make_no_sense_are_refused(client: httpx2.Client, path: str, status: int) -> None:
    refused(client, path, status)


def test_a_passage_whose_number_nobody_can_count_to_is_not_there(client: httpx2.Client, desk: Desk) -> None:
    reply = client.get(of(desk.files, "lamps.html", passage="lamps.html#" + "1" * 4_900))
    assert reply.status_code == 200
    assert "chosen" not in reply.text


@pytest.mark.parametrize(
    ("number", "status"), [("0", 422), ("-1", 422), ("99", 404), ("1e1", 422), ("1%00", 422), ("..%2f1", 404)]
)
def test_a_run_has_only_the_sources_that_it_has(client: httpx2.Client, run: str, number: str, status: int) -> None:
    refused(client, f"/r/{run}/source/{number}", status)


def test_runs_of_another_server_are_not_known_here(desk: Desk, run: str, tmp_path: Path) -> None:
    with serving(Desk(desk.root), history=str(tmp_path / "own.sqlite")) as other, other.client() as client:
        refused(client, f"/r/{run}/source/1", 404)


def test_nothing_is_written_and_nothing_shown_without_the_token(client: httpx2.Client, desk: Desk, tmp_path: Path) -> None:
    for path in (of(desk.files, "lamps.html"), drawn(desk.files, "book.pdf")):
        assert client.post(path).status_code == 405
        assert client.delete(path).status_code == 405
    own = str(tmp_path / "own.sqlite")
    with serving(desk, token="a-token-that-nobody-guesses", history=own) as closed, closed.client() as stranger:
        for path in (of(desk.files, "lamps.html"), drawn(desk.files, "book.pdf"), "/r/aaaaaaaaaaaa/source/1"):
            refused(stranger, path, 401)


@pytest.mark.parametrize("page", [3, 99_999])
def test_a_page_that_a_pdf_does_not_have_is_refused(client: httpx2.Client, desk: Desk, page: int) -> None:
    refused(client, drawn(desk.files, "book.pdf", page), 404)


def test_pages_are_drawn_for_a_client_one_by_one(client: httpx2.Client, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight pages of ten seconds each would keep everybody else from seeing any, and each holds its whole file meanwhile."""
    at_once, most, draw = 0, 0, viewer._drawn

    async def slow(*given: Any) -> Any:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.05)
        try:
            return await draw(*given)
        finally:
            at_once -= 1

    monkeypatch.setattr(viewer, "_drawn", slow)
    with ThreadPoolExecutor(4) as several:
        replies = list(several.map(client.get, [drawn(desk.files, "book.pdf"), of(desk.files, "book.pdf")] * 2))
    assert [reply.status_code for reply in replies] == [200] * 4
    assert most == 1


@pytest.mark.anyio
async def test_no_page_is_drawn_for_words_alone(live: Live, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        raise AssertionError("a page was drawn")

    monkeypatch.setattr(viewer, "_drawn", never)
    async with Client(f"{live.url}/mcp") as words:
        opened = await words.call_tool("read", {"source": desk.files, "document": "book.pdf"})
    assert opened.structured_content is not None
    assert "great storm of 1839" in opened.structured_content["text"]


def test_only_pdf_files_have_pictures(client: httpx2.Client, desk: Desk) -> None:
    refused(client, drawn(desk.files, "lamps.html"), 404)


def refused(client: httpx2.Client, path: str, status: int) -> None:
    reply = client.get(path)
    assert reply.status_code == status, (path, reply.text[:300])
    assert SECRET not in reply.text
    assert "root:" not in reply.text
    page = client.get(path, headers={"Accept": "text/html"}, follow_redirects=False)
    assert page.status_code in (status, 303)
    assert "<script>alert" not in page.text


def test_a_citation_opens_the_document_at_its_words(client: httpx2.Client, run: str) -> None:
    reply = client.get(f"/r/{run}/source/1")
    assert reply.status_code == 200
    (marked,) = re.findall(r'<mark id="words">(.*?)</mark>', reply.text)
    assert marked == "Whale oil was burned in the lamps of Skerry until 1860."
    assert "A wick is trimmed each evening" in reply.text  # the whole document
    assert re.search(r'<a href="#p\d+">Wicks</a>', reply.text)  # and its outline
    card = client.get(f"/r/{run}/article").text
    assert f'href="/r/{run}/source/1#words"' in card


def test_nothing_of_a_document_is_active(client: httpx2.Client, desk: Desk) -> None:
    reply = client.get(of(desk.files, "lamps.html"))
    assert "owned" in reply.text
    assert "&lt;img src=x onerror=" in reply.text
    assert "<img" not in reply.text
    assert "document.title" not in re.sub(r"&lt;img.*?&gt;", "", reply.text)
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_a_page_of_a_pdf_is_a_picture_with_its_words_marked(client: httpx2.Client, desk: Desk) -> None:
    storm = "The great storm of 1839 put out the light for two nights."
    hits = client.get("/api/search", params={"q": "great storm of 1839"}).json()["hits"]
    hit = next(hit for hit in hits if hit["document"] == "book.pdf" and storm in hit["text"])
    start = hit["text"].index(storm)
    shown = client.get(of(desk.files, "book.pdf", passage=hit["id"], start=start, end=start + len(storm))).text
    assert "Page 2 of 2" in shown
    (box,) = re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', shown)
    left, top, width, height = map(int, box)
    scale = 1400 / 595
    assert abs(left - 50 * scale) < 10
    assert abs(top - (842 - 640 - 8) * scale) < 15
    assert width > 200 * scale
    assert height < 20 * scale
    image = re.search(r'<image href="([^"]+)"', shown)
    assert image
    picture = client.get(image[1].replace("&amp;", "&"))
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert b"%PDF" not in picture.content


@pytest.mark.parametrize("document", [ODD, "sub/inner.txt", "caf\\xe9.txt"])
def test_odd_names_open_like_others(client: httpx2.Client, desk: Desk, document: str) -> None:
    for source in (desk.files, desk.index):
        reply = client.get(of(source, document))
        assert reply.status_code == 200, reply.text
        assert "<b>" not in reply.text.split("<main", 1)[1]
        assert "changed since" not in reply.text
        assert "no longer where" not in reply.text


def test_a_removed_file_is_gone_from_the_folder_and_named_in_the_index(client: httpx2.Client, desk: Desk) -> None:
    path = desk.docs / "gone.txt"
    assert client.get(of(desk.index, "gone.txt")).status_code == 200
    words = path.read_bytes()
    path.unlink()
    try:
        refused(client, of(desk.files, "gone.txt"), 404)
        shown = client.get(of(desk.index, "gone.txt")).text
        assert "no longer where it was" in shown
        assert "The ferry to Skerry" in shown
        path.symlink_to(desk.root / "secret.txt")
        replaced = client.get(of(desk.index, "gone.txt")).text
        assert "no longer where it was" in replaced
        assert SECRET not in replaced
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(words)


def test_a_changed_file_is_said_to_be_changed_and_is_not_drawn(client: httpx2.Client, desk: Desk) -> None:
    path = desk.docs / "book.pdf"
    before, about = path.read_bytes(), path.stat()
    changed = pdf([*prose(780), (50, 500, 10, "F", SECRET)], title="The Log of Skerry")
    try:
        path.write_bytes(changed)
        shown = client.get(of(desk.index, "book.pdf")).text
        assert "has changed since it was indexed" in shown
        assert "<image" not in shown
        assert SECRET not in shown
        refused(client, drawn(desk.index, "book.pdf"), 404)
        path.write_bytes(before[:-1] + b"\n")  # as long as before, and as old
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        refused(client, drawn(desk.index, "book.pdf"), 404)
    finally:
        path.write_bytes(before)
    assert client.get(drawn(desk.index, "book.pdf")).status_code == 200


def test_a_document_that_changed_after_the_answer_says_so(client: httpx2.Client, desk: Desk) -> None:
    path = desk.docs / "notes.md"
    before = path.read_text()
    run = ask(client, "How long do pages stay in the edge cache?")
    cited = finished(client, run)["answer"]["citations"][0]
    assert cited["place"] == "notes.md, “What we decided”"
    try:
        path.write_text(before.replace("We met on Monday.", "Nobody came.\n\n" * 3))
        moved = client.get(f"/r/{run}/source/{cited['number']}").text
        assert "Pages stay in the edge cache for six hours." in re.findall(r"<mark[^>]*>(.*?)</mark>", moved)
        path.write_text("# Caching\n\nEverything is uncertain again.\n")
        lost = client.get(f"/r/{run}/source/{cited['number']}").text
        assert "changed since this answer was given" in lost
        assert "<mark" not in lost
    finally:
        path.write_text(before)


def test_a_long_document_is_shown_in_parts(client: httpx2.Client, desk: Desk) -> None:
    path = desk.docs / "long.txt"
    path.write_text("\n\n".join(f"Paragraph {n}: " + "the tide comes and goes. " * 45 for n in range(450)))
    try:
        first = client.get(of(desk.files, "long.txt")).text
        assert "Paragraph 3:" in first
        assert "Paragraph 449:" not in first
        later = re.search(r'<a href="([^"]+)" class="button">Later', first)
        assert later
        second = client.get(later[1].replace("&amp;", "&")).text
        assert "Paragraph 3:" not in second
        assert "Earlier" in second
        assert len(second) < 1_000_000
    finally:
        path.unlink()


def test_quotes_are_shown_once(client: httpx2.Client, run: str) -> None:
    card = client.get(f"/r/{run}/article").text
    visible = re.sub(r"<details.*?</details>", "", card.split("<h3>Sources", 1)[1], flags=re.DOTALL)
    assert "Whale oil was burned in the lamps" in card
    assert "Whale oil" not in visible


def test_web_sources_lead_to_their_words(tmp_path: Path) -> None:
    from wellread.text.places import at_words

    assert at_words("https://a.example/x", "Well-read, they say.") == "https://a.example/x#:~:text=Well%2Dread%2C%20they%20say."
    long = "one two three four five six seven eight nine ten eleven"
    assert at_words("https://a.example/x#there", long) == (
        f"https://a.example/x#there:~:text={quote('one two three four five')},{quote('seven eight nine ten eleven')}"
    )
    assert at_words("https://a.example/x", " ") == "https://a.example/x"


def test_the_search_page_lists_documents_that_open_at_their_best_sentence(client: httpx2.Client, desk: Desk) -> None:
    page = client.get("/search", params={"q": "keeper paraffin wick trimmed"}).text
    entries = page.split("<li>")[1:]
    assert sum("lamps.html" in entry for entry in entries) == 1  # one entry, whatever it has of passages
    entry = next(entry for entry in entries if "lamps.html" in entry)
    assert "“Oil”" in entry
    assert "“Wicks”" in entry
    link = re.search(r'<a href="([^"]+)">“Oil”', entry)
    assert link
    shown = client.get(link[1].replace("&amp;", "&")).text
    (marked,) = re.findall(r'<mark id="words">(.*?)</mark>', shown, re.DOTALL)
    assert "took paraffin" in marked
    assert "Whale oil" not in marked
    hits = client.get("/api/search", params={"q": "paraffin"}).json()["hits"]
    assert client.get(hits[0]["view"]).status_code == 200
    assert "Nothing fits" in client.get("/search", params={"q": "zzzzqqqq", "source": desk.index}).text
    assert client.get("/search", params={"q": "x", "source": desk.other}).status_code == 400
    assert client.get("/search").status_code == 200


def test_every_door_says_the_place(client: httpx2.Client, run: str) -> None:
    place = "lamps.html, “Oil”"
    kept = client.get(f"/api/runs/{run}").json()["answer"]["citations"][0]
    assert (kept["place"], kept["document"], kept["heading"]) == (place, "lamps.html", "Oil")
    article = client.get(f"/r/{run}/article").text
    assert f"<span>{place}</span>" in article
    assert f"- [1] [{place}](&lt;http://" in article  # what is copied as Markdown
    asked = {"model": "wellread/quote", "messages": [{"role": "user", "content": QUESTION}]}
    said = client.post("/v1/chat/completions", json=asked).json()["choices"][0]["message"]
    assert f"- [1] [{place}](<http://" in said["content"]
    assert said["annotations"][0]["url_citation"]["title"] == place
    replied = client.post("/v1/responses", json={"model": "wellread/quote", "input": QUESTION}).json()["output"][-1]["content"][0]
    assert replied["annotations"][0]["title"] == place
