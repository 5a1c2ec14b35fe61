"""`stackexchange`: questions and answers of Stack Overflow and its sister sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wellread.net.payload import Payload
from wellread.parameters import CountOrZero, param
from wellread.sources.hits import hit
from wellread.sources.service import Key, Service, VendorOptions
from wellread.types import Hit, Query


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://api.stackexchange.com", "address of the service")
    tags: str | None = param(None, "only questions with one of these tags, with semicolons: python;rust")
    answers: CountOrZero = param(2, "answers that come with a question, best first")


class StackExchange(Service[Options]):
    """Questions and answers of Stack Overflow, or of another site: stackexchange:SITE."""

    argument = "SITE"
    hint = "Questions and answers of people who work with something. A few words of the problem, an error message, names."
    key = Key(("STACKEXCHANGE_KEY",), "?key", "", needed=False)
    results = ("items",)
    page_size, most_pages = 50, 3

    async def page(self, query: Query, number: int) -> Payload:
        site = {"site": self.given or "stackoverflow", "filter": "withbody"}
        asked: dict[str, str | int | None] = {
            "q": query.text,
            "pagesize": min(query.limit, self.page_size),
            "page": number + 1,
            "sort": "relevance",
            "order": "desc",
            "tagged": self.options.tags,
        }
        found = await self.get("/2.3/search/advanced", {**asked, **site})
        ids = [item.text("question_id") for item in found.items("items") if item.number("answer_count")]
        if not ids or not self.options.answers:
            return found
        path = f"/2.3/questions/{';'.join(one for one in ids if one.isdigit())}/answers"
        given = await self.get(path, {"sort": "votes", "order": "desc", "pagesize": 100, **site})
        answers: dict[str, list[str]] = {}
        for item in given.items("items"):
            answers.setdefault(item.text("question_id"), []).append(item.text("body"))
        said = [{"item": item.value, "said": answers.get(item.text("question_id"), [])} for item in found.items("items")]
        return Payload({"items": said, "has_more": found.at("has_more").value})

    def goes_on(self, answer: Payload, number: int, found: int) -> bool:
        return answer.at("has_more").value is True

    def check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        """With any answer it may ask to be left alone for some seconds."""
        if seconds := answer.number("backoff"):
            self.http.hold(self.base, seconds)

    def hit(self, item: Payload) -> Hit | None:
        question = item.at("item") or item
        said = [one.text() for one in item.items("said")[: self.options.answers]]
        parts = [question.text("body"), *(f"<p>Answer:</p>{one}" for one in said)]
        return hit(
            title=question.text("title"),
            url=question.text("link"),
            snippet=said[0][:2000] if said else question.text("body")[:2000],
            text="\n\n".join(parts),
            published=question.text("creation_date"),
        )
