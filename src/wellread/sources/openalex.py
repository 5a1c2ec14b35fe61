"""`openalex`: works of all disciplines, from OpenAlex."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.net.address import mail_address
from wellread.net.payload import Payload
from wellread.parameters import param
from wellread.sources.papers import PaperOptions, Papers, family_first, reference
from wellread.sources.service import Key, Rate
from wellread.types import Hit, Query

_FIELDS = "id,doi,display_name,authorships,publication_year,publication_date,primary_location,best_oa_location,biblio,type"
_KINDS = {"article": "article-journal", "preprint": "article", "book-chapter": "chapter", "dissertation": "thesis"}
_MOST_WORDS = 2000  # of an abstract


@dataclass(frozen=True, slots=True)
class Options(PaperOptions):
    rate: Rate = param(10.0, "requests a second at most")
    base: str = param("https://api.openalex.org", "address of the service")
    filter: str | None = param(None, "in OpenAlex's own words: is_oa:true,type:review")


class OpenAlex(Papers[Options]):
    """Scholarly works of all disciplines, from OpenAlex."""

    Params = Options
    key = Key(("OPENALEX_API_KEY",), "?api_key", "", needed=False)
    path = "/works"
    page_size, most_pages = 100, 5

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "search": query.text[:1000],
            "per-page": min(query.limit, self.page_size),
            "page": number + 1,
            "select": f"{_FIELDS},abstract_inverted_index",
            "filter": self.filters(self.options.filter, query, "from_publication_date", "to_publication_date"),
            "mailto": mail_address(self.http.kit.environ),
        }

    def hit(self, item: Payload, rank: int) -> Hit | None:
        kind, first, last = item.text("type"), item.text("biblio", "first_page"), item.text("biblio", "last_page")
        paper = reference(
            title=item.text("display_name"),
            authors=[family_first(one.text("author", "display_name")) for one in item.items("authorships")],
            year=item.text("publication_year"),
            venue=item.text("primary_location", "source", "display_name"),
            doi=item.text("doi"),
            url=item.text("primary_location", "landing_page_url") or item.text("id"),
            pdf=item.text("best_oa_location", "pdf_url"),
            kind=_KINDS.get(kind, kind),
            volume=item.text("biblio", "volume"),
            issue=item.text("biblio", "issue"),
            pages=f"{first}–{last}" if first and last and first != last else first,
        )
        return self.paper(rank, paper, _abstract(item.at("abstract_inverted_index")), item.text("publication_date"))


def _abstract(index: Payload) -> str:
    """Abstracts come as the places of their words."""
    places = ((place.number(), word) for word in index.names() for place in index.items(word))
    return " ".join(word for _, word in sorted((place, word) for place, word in places if place is not None)[:_MOST_WORDS])
