"""Collections over HTTP: a program makes one, sends documents, waits until they are read, asks, removes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.server.stage import TOKEN, Live, ask, finished, quoting, running, until
from tests.server.test_collections import FERRY, LIGHT, documents, sent

pytestmark = pytest.mark.slow
ALL = "/api/collections"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with running(quoting(), tmp_path_factory.mktemp("shelf"), max_document=10_000, max_body=2_000) as server:
        yield server


@pytest.fixture
def client(shelf: Live) -> Iterator[httpx2.Client]:
    with shelf.client() as one:
        yield one


def settled(client: httpx2.Client, slug: str) -> dict[str, Any]:
    until(lambda: not client.get(f"{ALL}/{slug}").json()["reading"], 30)
    return client.get(f"{ALL}/{slug}").json()


def test_from_the_first_document_to_the_last(client: httpx2.Client) -> None:
    large = LIGHT + "The light was seen from far away on clear nights. " * 100  # more than other requests may bring
    made = client.post(ALL, data={"name": "Skerry papers"}, files=sent(ferry__txt=FERRY, light__md=large, empty__txt=""))
    assert made.status_code == 201
    assert made.json()["refused"] == [{"name": "empty.txt", "problem": "is empty"}]
    assert made.json()["collection"]["page"] == "/collections/skerry-papers"
    whole = settled(client, "skerry-papers")
    assert [(one["name"], one["state"]) for one in whole["documents"]] == [("ferry.txt", "read"), ("light.md", "read")]
    assert whole["files"] == {"done": 2, "of": 2}
    assert whole["vectors"] == {"done": whole["passages"], "of": whole["passages"]}
    assert whole["searchable"]
    assert "twelve passengers" in client.get(whole["documents"][0]["url"]).text
    run = finished(client, ask(client, "Who lit the lamp of Skerry?", sources=[whole["name"]]))
    assert "Ada Moffat" in run["answer"]["answer"]
    more = client.post(f"{ALL}/skerry-papers/documents", files=sent(log__txt="The log says that the oil came by boat."))
    assert (more.status_code, more.json()["refused"]) == (200, [])
    assert settled(client, "skerry-papers")["files"]["of"] == 3
    assert client.delete(f"{ALL}/skerry-papers/documents/ferry.txt").json()["files"]["of"] == 2
    assert client.delete(f"{ALL}/skerry-papers/documents/ferry.txt").status_code == 404
    assert client.post(f"{ALL}/skerry-papers/stop").json()["stopped"]
    assert client.post(f"{ALL}/skerry-papers/refresh").status_code == 202
    assert not settled(client, "skerry-papers")["stopped"]
    assert [one["slug"] for one in client.get(ALL).json()["collections"]] == ["skerry-papers"]
    assert client.delete(f"{ALL}/skerry-papers").json() == {"slug": "skerry-papers", "state": "removed"}
    assert client.get(ALL).json() == {"collections": []}
    assert "Skerry papers" not in [one["name"] for one in client.get("/api/menu").json()["sources"]]


@pytest.mark.parametrize(
    ("name", "files", "words"),
    [
        ("Library", [("a.txt", FERRY)], "already"),
        ("", [("a.txt", FERRY)], "needs a name"),
        ("files:/etc", [("a.txt", FERRY)], "colon"),
        ("Nothing", [("a.txt", "")], "a.txt: is empty"),
        ("Program", [("a.exe", "MZ")], "cannot be read"),
        ("Large", [("a.txt", "x" * 10_001)], "too large"),
    ],
)
def test_what_the_page_refuses_is_refused(client: httpx2.Client, name: str, files: Any, words: str) -> None:
    reply = client.post(ALL, data={"name": name}, files=documents(*files))
    assert reply.status_code == 400
    assert words in reply.json()["error"]
    assert client.get(ALL).json() == {"collections": []}


def test_a_folder_that_nobody_allowed_is_refused(client: httpx2.Client) -> None:
    files = {"name": (None, "Etc"), "folder": (None, "/etc")}
    reply = client.post(ALL, files=files)
    assert (reply.status_code, reply.headers["content-type"]) == (400, "application/json")
    assert "may not be read" in reply.json()["error"]
    assert client.post(ALL, json={"name": "JSON"}).status_code == 400
    assert client.get(f"{ALL}/no-such").json() == {"error": "there is no such collection"}


def test_where_the_server_takes_no_documents(tmp_path: Path) -> None:
    with running(quoting(), tmp_path, token=TOKEN) as live, live.client(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        assert client.get(ALL).status_code == 404
        assert client.post(ALL, data={"name": "A"}, files=sent(a__txt=FERRY)).status_code in (404, 415)
    with running(quoting(), tmp_path, token=TOKEN, collections=True) as live, live.client() as client:
        assert client.get(ALL).status_code == 401


def test_other_sites_cannot_send(client: httpx2.Client) -> None:
    reply = client.post(ALL, data={"name": "A"}, files=sent(a__txt=FERRY), headers={"Origin": "https://elsewhere.example"})
    assert reply.status_code == 403


def test_the_schema_says_how(client: httpx2.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    form = paths[ALL]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert set(form["properties"]) == {"name", "documents", "folder"}
    for path in (ALL, f"{ALL}/{{slug}}", f"{ALL}/{{slug}}/documents", f"{ALL}/{{slug}}/refresh"):
        assert all(operation["description"] for operation in paths[path].values())
