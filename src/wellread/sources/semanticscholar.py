"""`semanticscholar`: papers of all disciplines, from the Academic Graph of Semantic Scholar."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.net.payload import Payload
from wellread.parameters import param
from wellread.sources.papers import PaperOptions, Papers, family_first, reference
from wellread.sources.service import Key, Rate
from wellread.types import Hit, Query

_FIELDS = "title,abstract,year,venue,authors,externalIds,openAccessPdf,publicationDate,publicationTypes,journal,url"
_KINDS = {"JournalArticle": "article-journal", "Conference": "paper-conference", "Book": "book", "BookSection": "chapter"}


@dataclass(frozen=True, slots=True)
class Options(PaperOptions):
    rate: Rate = param(1.0, "requests a second at most; without a key all its users share a few")
    base: str = param("https://api.semanticscholar.org", "address of the service")
    fields_of_study: str | None = param(None, "only of these disciplines, with commas: Medicine,Physics")


class SemanticScholar(Papers[Options]):
    """Scholarly papers of all disciplines, from Semantic Scholar."""

    Params = Options
    key = Key(("SEMANTIC_SCHOLAR_API_KEY", "S2_API_KEY"), "x-api-key", "", needed=False)
    path, results = "/graph/v1/paper/search", ("data",)
    page_size, most_pages = 100, 5

    def asks(self, query: Query, number: int) -> dict[str, object]:
        days = f"{(query.since or '')[:10]}:{(query.until or '')[:10]}"
        return {
            "query": query.text.replace("-", " "),  # it finds nothing for words with hyphens
            "limit": min(query.limit, self.page_size),
            "offset": number * self.page_size,
            "fields": _FIELDS,
            "publicationDateOrYear": days if days != ":" else None,
            "fieldsOfStudy": self.options.fields_of_study,
        }

    def hit(self, item: Payload, rank: int) -> Hit | None:
        paper = reference(
            title=item.text("title"),
            authors=[family_first(one.text("name")) for one in item.items("authors")],
            year=item.text("year"),
            venue=item.text("journal", "name") or item.text("venue"),
            doi=item.text("externalIds", "DOI"),
            url=item.text("url"),
            pdf=item.text("openAccessPdf", "url"),
            kind=_KINDS.get(item.text("publicationTypes", 0), "article"),
            volume=item.text("journal", "volume"),
            pages=item.text("journal", "pages"),
        )
        return self.paper(rank, paper, item.text("abstract"), item.text("publicationDate"))
