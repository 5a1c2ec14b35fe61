"""`arxiv`: preprints of arXiv.org, through its Atom API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.net.payload import Payload
from wellread.net.service import Manners
from wellread.parameters import param
from wellread.sources.papers import PaperOptions, Papers, family_first, reference
from wellread.sources.service import Rate, keywords
from wellread.types import Hit, Query

_MOST_WORDS = 12


@dataclass(frozen=True, slots=True)
class Options(PaperOptions):
    rate: Rate = param(0.33, "requests a second at most; its operators ask for one in three seconds")
    base: str = param("https://export.arxiv.org", "address of the service")
    category: str | None = param(None, "only papers of this category: cs.CL, math.AG, …")


class Arxiv(Papers[Options]):
    """Preprints of physics, mathematics, computing and biology, from arXiv."""

    Params = Options
    manners = Manners(concurrency=1)
    path, form, results = "/api/query", "xml", ("entry",)
    page_size, most_pages = 100, 5

    async def find(self, query: Query) -> Sequence[Hit]:
        """All words, and where no paper has them all, any of them."""
        words = [f'all:"{word}"' for word in keywords(query.text)[:_MOST_WORDS]]
        for joint in (" AND ", " OR ") if len(words) > 1 else (" AND ",):
            if words and (found := await super().find(replace(query, text=f"({joint.join(words)})"))):
                return found
        return []

    def asks(self, query: Query, number: int) -> dict[str, object]:
        within = [query.text, f"cat:{self.options.category}" if self.options.category else "", _days(query)]
        return {
            "search_query": " AND ".join(filter(None, within)),
            "start": number * self.page_size,
            "max_results": min(query.limit, self.page_size),
            "sortBy": "relevance",
        }

    def check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        """It writes its errors as an entry of that title."""
        if answer.text("entry", "title") == "Error":
            raise self.http.error(answer.text("entry", "summary"))

    def hit(self, item: Payload, rank: int) -> Hit | None:
        place, links = item.text("id"), {one.text("@title"): one.text("@href") for one in item.items("link")}
        paper = reference(
            title=item.text("title"),
            authors=[family_first(one.text("name")) for one in item.items("author")],
            year=item.text("published"),
            venue=item.text("journal_ref") or "arXiv",
            doi=item.text("doi"),
            url=place,
            pdf=links.get("pdf", ""),
            kind="article-journal" if item.text("journal_ref") else "article",
        )
        return self.paper(rank, paper, item.text("summary"), item.text("published"))


def _days(query: Query) -> str:
    if not query.since and not query.until:
        return ""
    since, until = (
        (day or other)[:10].replace("-", "") for day, other in ((query.since, "1991-01-01"), (query.until, "2999-12-31"))
    )
    return f"submittedDate:[{since}0000 TO {until}2359]"
