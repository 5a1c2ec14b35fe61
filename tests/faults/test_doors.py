"""Every door of a server, those of its page too, with values that nobody thought of: none is a fault of the server's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import strategies as st
from starlette.routing import Mount
from tests.faults.fuzzing import TIMEOUT, fuzz
from tests.faults.test_fuzz import JSON, TEXT
from tests.server.desk import furnish, serving
from tests.server.stage import Live, ask, quoting

from wellread.server.app import create_app
from wellread.server.options import ServerOptions

pytestmark = [pytest.mark.slow, pytest.mark.no_cover, pytest.mark.timeout(TIMEOUT)]
NAMES = [
    *("question", "strategy", "source", "model", "effort", "parent", "again", "token", "next", "name", "document", "files"),
    *("q", "limit", "before", "offset", "page", "words", "start", "end", "passage", "search", "forget", "stream", "saved"),
    *("sources", "params", "messages", "input", "previous_response_id", "budget", "max_seconds", "key", "check", "confirm"),
]
ODD = [
    *("", "0", "-1", "1", "2", "9" * 30, "1e999", "NaN", "true", "..", "../..", "%00", "\0", "\r\nX: y", "a" * 5_000, "/", "//"),
    *(
        "\u202e",
        "\ud800",
        "é",
        "e\u0301",
        "🙂" * 30,
        "<script>",
        "none",
        "auto",
        "index:/",
        "files:/etc",
        "http://127.0.0.1:1/",
        "#",
    ),
]


@dataclass(frozen=True)
class Door:
    path: str
    method: str
    asks: tuple[str, ...] = ()


def doors(routes: Iterable[Any]) -> Iterator[Door]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from doors(inner.routes)
            continue
        if isinstance(route, Mount):
            yield Door(f"{route.path}/{{name}}", "GET")
            continue
        wanted = getattr(route, "dependant", None)
        asks = tuple(one.alias for one in wanted.query_params) if wanted else ()
        yield from (Door(route.path, method, asks) for method in sorted(route.methods or {"GET", "POST"}))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with serving(furnish(tmp_path_factory.mktemp("desk"))) as one:
        yield one


class There:
    """What is there, under the names that doors have for it; made again when it is gone."""

    def __init__(self, live: Live, client: httpx2.Client) -> None:
        self._client = client
        self._files = next(one for one in live.service.menu.sources if one.startswith("files:"))
        self.make()

    def make(self) -> None:
        client = self._client
        runs = [ask(client, question) for question in ("When did the ferry to Skerry run?", "What is a wick?")]
        said = client.post("/v1/responses", json={"model": "wellread", "input": "When did the ferry run?"}).json()
        made = client.post("/api/collections", data={"name": "Papers"}, files=[("files", ("notes.md", b"The log says so."))])
        assert made.status_code < 300 or "another" in made.text, made.text
        self.names = {
            "run": runs[0], "first": runs[0], "second": runs[1], "parent": runs[1], "again": runs[0], "response": said["id"],
            "slug": "papers", "document": "notes.md", "source": self._files, "name": "page.css", "number": "1", "page": "1",
            "q": "ferry", "words": "Skerry", "question": "What is a wick?", "input": "What is a wick?", "model": "wellread",
            "passage": "", "start": "0", "end": "5", "before": "", "offset": "0", "limit": "5",
        }  # fmt: skip


def test_every_door(live: Live, tmp_path: Path) -> None:
    app = create_app(engine=quoting(), options=ServerOptions(history=str(tmp_path / "other.sqlite")))
    found = [door for door in doors(app.routes) if door.method not in ("HEAD", "OPTIONS")]
    assert len(found) > 50
    value = st.sampled_from(ODD) | TEXT | st.just(None) | st.just(None)  # None: what is there under this name
    fields = st.dictionaries(st.sampled_from(NAMES), value, max_size=4)
    body = st.tuples(st.sampled_from(["form", "json", "parts", "none"]), fields, JSON | st.none())
    own = {"origin": live.url, "accept": "text/html, application/json, text/event-stream"}

    def check(made: tuple[Door, list[str | None], dict[str, str | None], tuple[str, dict[str, str | None], Any]]) -> None:
        door, chosen, more, (kind, said, other) = made
        values = iter(chosen)

        def filled(name: str) -> str:
            value = next(values)
            return there.names.get(name, "1") if value is None else value

        path = re.sub(r"\{(\w+)(:path)?\}", lambda place: _quoted(filled(place[1])), door.path)
        query = {name: filled(name) for name in door.asks} | {name: value for name, value in more.items() if value is not None}
        sent = {name: there.names.get(name, "1") if value is None else value for name, value in said.items()}
        target = f"{path}?{'&'.join(f'{name}={_quoted(value)}' for name, value in query.items())}"
        code = _knock(client, door.method, target, own, _body(kind, sent, other) if door.method != "GET" else {})
        if code < 400 and (door.method == "DELETE" or door.path.endswith(("/delete", "/remove"))):
            there.make()

    with live.client(follow_redirects=False) as client:
        there = There(live, client)
        fuzz(st.tuples(st.sampled_from(found), st.lists(value, min_size=9, max_size=9), fields, body), check)
        assert client.get("/healthz").status_code == 200


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _body(kind: str, said: dict[str, str], other: Any) -> dict[str, Any]:
    plain = {name: text.encode("utf-8", "replace").decode() for name, text in said.items()}
    if kind == "form":
        return {"data": plain}
    if kind == "parts":
        return {"data": plain, "files": [("files", ("a.txt", b"Words."))]}
    asked = {"question": "What is a wick?", "model": "wellread", "input": "What is a wick?", **plain}
    told = json.dumps(asked if other is None else {**asked, "params": other}).encode()
    return {} if kind == "none" else {"content": told, "headers": {"content-type": "application/json"}}


def _knock(client: httpx2.Client, method: str, path: str, headers: dict[str, str], sent: dict[str, Any]) -> int:
    sent["headers"] = {**headers, **sent.get("headers", {})}
    with client.stream(method, path, **sent) as reply:
        if reply.status_code >= 500 and reply.status_code != 503:
            pytest.fail(f"{reply.status_code} {method} {path} {sent}: {reply.read()[:300]!r}")
        for _ in zip(range(50), reply.iter_bytes(), strict=False):
            pass
    return reply.status_code
