"""Stand-ins for paid search services, after the schemas they publish, errors included.

Each is a function from a request to a reply over the same few documents, so that one suite of tests
runs against all. `word` in title or text is all the searching they do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.wire.loopback import Asked, Reply

FLEMING = "Fleming discovered <b>penicillin</b> in 1928 &amp; told it."
WALLS = "<ul><li>Penicillin breaks walls</li><li>of bacteria</li></ul>"
KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Doc:
    title: str
    url: str
    text: str
    date: str


DOCS = (
    Doc("Penicillin, a history", "https://example.org/penicillin", FLEMING, "2023-06-01"),
    Doc("How antibiotics work", "https://example.net/antibiotics", WALLS, "2023-06-12"),
    Doc("Café Zürich 東京", "https://example.com/caf%C3%A9", "Crème brûlée 🍮 in 東京 and Ελληνικός καφές.", "2022-01-05"),
    Doc("Trap", "javascript:alert(1)", "A zugzwangling trap <script>alert(1)</script>.", "not a date"),
    *(Doc(f"Lighthouse {n}", f"https://e.org/light/{n}", f"Lighthouse {n} on the coast.", "2021-02-03") for n in range(1, 61)),
)


def matching(query: str) -> list[Doc]:
    words = [word.strip('"+-()').lower() for word in query.split() if ":" not in word]
    words = [word for word in words if word]
    return [doc for doc in DOCS if words and all(word in f"{doc.title} {doc.text}".lower() for word in words)]


def newsapi(asked: Asked) -> Reply:
    def error(status: int, code: str, message: str) -> Reply:
        return Reply({"status": "error", "code": code, "message": message}, status)

    if asked.path != "/v2/everything":
        return error(404, "endpointDoesNotExist", "Nothing lives at this address.")
    if "x-api-key" not in asked.headers:
        return error(401, "apiKeyMissing", "There is no API key in this request.")
    if asked.headers["x-api-key"] != KEY:
        return error(401, "apiKeyInvalid", f"The key {asked.headers['x-api-key']} is not one of ours.")
    if not asked.params.get("q"):
        return error(400, "parametersMissing", "A required parameter is missing: q.")
    size, page = int(asked.params["pageSize"]), int(asked.params["page"])
    found = [doc for doc in matching(asked.params["q"]) if _between(doc, asked.params.get("from"), asked.params.get("to"))]
    articles = [
        {
            "source": {"id": None, "name": "The Test Courier"},
            "author": None,
            "title": doc.title,
            "description": doc.text,
            "url": doc.url,
            "urlToImage": None,
            "publishedAt": f"{doc.date}T10:00:00Z",
            "content": f"{doc.text[:60]}… [+1234 chars]",
        }
        for doc in _page(found, size, page)
    ]
    removed = {"title": "[Removed]", "url": "https://removed.com", "description": "[Removed]", "content": "[Removed]"}
    return Reply({"status": "ok", "totalResults": len(found), "articles": [*articles, removed]})


def tavily(asked: Asked) -> Reply:
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return Reply({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401)
    body = asked.json
    if not body.get("query"):
        return Reply({"detail": {"error": "Query is missing."}}, 400)
    results = [
        {"title": doc.title, "url": doc.url, "content": doc.text, "score": 0.9 - rank / 1000, "raw_content": None}
        for rank, doc in enumerate(matching(str(body["query"]))[: int(str(body["max_results"]))])
    ]
    for result, doc in zip(results, matching(str(body["query"])), strict=False):
        if body.get("include_raw_content"):
            result["raw_content"] = f"{doc.text} And the rest of the page."
        if body.get("topic") == "news":
            result["published_date"] = "Thu, 01 Jun 2023 08:00:00 GMT"
    return Reply({"query": body["query"], "answer": None, "images": [], "results": results, "response_time": 0.1})


def brave(asked: Asked) -> Reply:
    def error(status: int, code: str, detail: str) -> Reply:
        return Reply({"type": "ErrorResponse", "error": {"id": "x", "status": status, "code": code, "detail": detail}}, status)

    if asked.headers.get("x-subscription-token") != KEY:
        return error(422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid.")
    count, offset = int(asked.params.get("count", 20)), int(asked.params.get("offset", 0))
    if count > 20 or offset > 9:
        return error(422, "VALIDATION", "Unable to validate request parameter(s)")
    found = matching(asked.params["q"])
    results = [
        {"type": "search_result", "title": d.title, "url": d.url, "description": d.text, "page_age": f"{d.date}T00:00:00"}
        for d in _page(found, count, offset + 1)
    ]
    more = len(found) > count * (offset + 1)
    return Reply({"type": "search", "query": {"more_results_available": more}, "web": {"type": "search", "results": results}})


def slack(asked: Asked) -> Reply:
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return Reply({"ok": False, "error": "invalid_auth"})
    found = matching(asked.params["query"])[: int(asked.params["count"])]
    matches = [
        {
            "iid": f"iid-{n}",
            "team": "T1",
            "channel": {"id": "C1", "name": "lab"},
            "type": "message",
            "user": "U1",
            "username": "ada",
            "ts": f"16856{n:05d}.000100",
            "text": f"<@U2|grace> {re.sub('<[^<>]+>', '', doc.text)} <{doc.url}|{doc.title}>",
            "permalink": f"https://team.slack.example/archives/C1/p{n}",
            "score": 1.0 - n / 100,
        }
        for n, doc in enumerate(found)
    ]
    return Reply({"ok": True, "query": asked.params["query"], "messages": {"total": len(found), "matches": matches}})


def elasticsearch(asked: Asked) -> Reply:
    if asked.path == "/":
        return Reply({"name": "test", "version": {"number": "8.13.0"}, "tagline": "You Know, for Search"})
    if asked.path != "/docs/_search":
        reason = f"no such index [{asked.path.split('/')[1]}]"
        cause = {"type": "index_not_found_exception", "reason": reason}
        return Reply({"error": {"root_cause": [cause], **cause}, "status": 404}, 404)
    body = asked.json
    text = _words_of(body.get("query"))
    found = matching(text) if text else list(DOCS[:2])  # without words it is the vector clause
    hits = [
        {
            "_index": "docs",
            "_id": str(DOCS.index(doc)),
            "_score": 9.0 - rank / 10,
            "_source": {"title": doc.title, "body": doc.text, "url": doc.url, "date": doc.date},
            "highlight": {"body": [doc.text[:80]]},
        }
        for rank, doc in enumerate(found[: int(str(body["size"]))])
    ]
    total = {"value": len(found), "relation": "eq"}
    return Reply(
        {"took": 1, "timed_out": False, "_shards": {"total": 1}, "hits": {"total": total, "max_score": 9.0, "hits": hits}}
    )


def _words_of(query: object) -> str:
    if isinstance(query, dict):
        if "multi_match" in query:
            return str(query["multi_match"]["query"])
        return next((found for value in query.values() if (found := _words_of(value))), "")
    if isinstance(query, list):
        return next((found for value in query if (found := _words_of(value))), "")
    return ""


def _between(doc: Doc, since: str | None, until: str | None) -> bool:
    return (since or "") <= doc.date <= (until or "9999")


def _page(docs: Sequence[Doc], size: int, page: int) -> Sequence[Doc]:
    return docs[(page - 1) * size : page * size]
