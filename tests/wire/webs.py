"""Stand-ins for services of the web, after the formats that they document, errors included."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.wire.loopback import Asked, Reply
from tests.wire.searches import DOCS, KEY, matching


def exa(asked: Asked) -> Reply:
    if asked.headers.get("x-api-key") != KEY:
        return Reply({"requestId": "r", "error": "Invalid API key", "tag": "INVALID_API_KEY"}, 401)
    body = asked.json
    found = matching(str(body["query"]))[: int(str(body["numResults"]))]
    contents = body["contents"]
    assert isinstance(contents, Mapping)
    results = [
        {"id": doc.url, "title": doc.title, "url": doc.url, "publishedDate": f"{doc.date}T00:00:00.000Z", "author": None}
        | ({"text": doc.text} if contents.get("text") else {"highlights": [doc.text], "highlightScores": [0.5]})
        for doc in found
    ]
    return Reply({"requestId": "r", "resolvedSearchType": "neural", "results": results})


def serper(asked: Asked) -> Reply:
    if asked.headers.get("x-api-key") != KEY:
        return Reply({"message": "Unauthorized.", "statusCode": 403}, 403)
    body = asked.json
    size, page = int(str(body["num"])), int(str(body["page"]))
    found = matching(str(body["q"]))[(page - 1) * size : page * size]
    organic = [
        {"title": doc.title, "link": doc.url, "snippet": doc.text, "date": "Jun 1, 2023", "position": place}
        for place, doc in enumerate(found, 1)
    ]
    return Reply({"searchParameters": {"q": body["q"], "type": "search"}, "organic": organic, "credits": 1})


def google(asked: Asked) -> Reply:
    if asked.headers.get("x-goog-api-key") != KEY:
        message = "API key not valid. Please pass a valid API key."
        return Reply({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}, 400)
    p = asked.params
    size, start = int(p["num"]), int(p["start"]) - 1
    if not p.get("cx") or size > 10 or start + size > 100:
        return Reply({"error": {"code": 400, "message": "Request contains an invalid argument."}}, 400)
    items = [{"kind": "customsearch#result", "title": d.title, "link": d.url, "snippet": d.text} for d in matching(p["q"])]
    some = items[start : start + size]
    return Reply({"kind": "customsearch#search", "searchInformation": {"totalResults": str(len(items))}, "items": some})


def kagi(asked: Asked) -> Reply:
    if asked.headers.get("authorization") != f"Bot {KEY}":
        return Reply({"meta": {"id": "x"}, "data": None, "error": [{"code": 2, "msg": "Unauthorized", "ref": None}]}, 401)
    found = matching(asked.params["q"])[: int(asked.params["limit"])]
    data = [
        {"t": 0, "rank": n, "url": d.url, "title": d.title, "snippet": d.text, "published": d.date} for n, d in enumerate(found)
    ]
    return Reply({"meta": {"id": "x", "ms": 5}, "data": [*data, {"t": 1, "list": ["more of it"]}]})


def stackexchange(asked: Asked) -> Reply:
    p = asked.params
    if p.get("site") != "stackoverflow":
        return Reply(
            {"error_id": 400, "error_message": f"No site found for name `{p.get('site')}`", "error_name": "bad_parameter"}, 400
        )
    if asked.path.endswith("/answers"):
        ids = asked.path.split("/")[3].split(";")
        items = [{"question_id": int(n), "body": f"<p>{DOCS[int(n)].text}</p>", "score": 4} for n in ids]
        return Reply({"items": items, "has_more": False, "quota_remaining": 298})
    size, page = int(p["pagesize"]), int(p["page"])
    found = matching(p["q"])
    items = [
        {
            "question_id": DOCS.index(doc),
            "title": html.escape(doc.title),
            "body": f"<p>What of {html.escape(doc.title)}?</p>",
            "link": doc.url,
            "answer_count": 1,
            "creation_date": 1685600000,
            "is_answered": True,
        }
        for doc in found[(page - 1) * size : page * size]
    ]
    return Reply({"items": items, "has_more": len(found) > page * size, "quota_max": 300, "quota_remaining": 299})


def github(asked: Asked) -> Reply:
    if asked.headers.get("authorization", f"Bearer {KEY}") != f"Bearer {KEY}":
        return Reply({"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"}, 401)
    if asked.path == "/repos/own/repo/git/trees/HEAD":
        paths = ["docs/guide.md", "src/main.py", "README.md", "docs/deep/picture.png"]
        return Reply({"sha": "x", "truncated": False, "tree": [{"path": path, "type": "blob"} for path in paths]})
    if asked.path != "/search/issues" or not asked.params["q"].startswith("repo:own/repo "):
        return Reply({"message": "Not Found", "status": "404"}, 404)
    found = matching(asked.params["q"])[: int(asked.params["per_page"])]
    items = [
        {"html_url": doc.url, "title": doc.title, "body": doc.text, "created_at": f"{doc.date}T10:00:00Z", "number": number}
        for number, doc in enumerate(found)
    ]
    return Reply({"total_count": len(found), "incomplete_results": False, "items": items})


def put_ddgs(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    """The package as far as it is used: its search, its errors, which it does not load by itself."""
    module = ModuleType("ddgs")
    problems: Any = ModuleType("ddgs.exceptions")
    problems.DDGSException = type("DDGSException", (Exception,), {})
    problems.RatelimitException = type("RatelimitException", (problems.DDGSException,), {})

    class DDGS:
        def __init__(self, timeout: float) -> None: ...

        def text(self, query: str, **how: object) -> object:
            result = found(query, how, problems)
            if isinstance(result, Exception):
                raise result
            return result

    module.DDGS, module.__spec__ = DDGS, sys.__spec__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ddgs", module)
    monkeypatch.setitem(sys.modules, "ddgs.exceptions", problems)


def put_yt_dlp(monkeypatch: pytest.MonkeyPatch, captions: Mapping[str, Sequence[tuple[int, str]]]) -> list[str]:
    """The package as far as it is used: videos with these captions (milliseconds and words), one that is private, others
    without any; returns what it is asked for."""
    module: Any = ModuleType("yt_dlp")
    module.utils = ModuleType("yt_dlp.utils")
    module.utils.DownloadError = type("DownloadError", (Exception,), {})
    seen: list[str] = []

    class YoutubeDL:
        def __init__(self, how: dict[str, Any]) -> None:
            self.how = how

        def __enter__(self) -> YoutubeDL:
            return self

        def __exit__(self, *_: object) -> None: ...

        def extract_info(self, url: str, download: bool) -> object:
            seen.append(url)
            if url.endswith("private0000"):
                raise module.utils.DownloadError("ERROR: Private video")
            if said := captions.get(url.rpartition("=")[2]):
                events = [{"tStartMs": at, "segs": [{"utf8": words}]} for at, words in said]
                Path(self.how["outtmpl"].replace("%(ext)s", "en.json3")).write_text(json.dumps({"events": events}), "utf-8")
            return {"title": "Moulds", "uploader": "Ada", "upload_date": "20230601"}

    module.YoutubeDL = YoutubeDL
    monkeypatch.setitem(sys.modules, "yt_dlp", module)
    return seen
