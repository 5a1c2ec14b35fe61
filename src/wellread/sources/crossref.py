"""`crossref`: what publishers have registered, by DOI, from Crossref. Few of them give the abstract along."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.net.address import mail_address
from wellread.net.payload import Payload
from wellread.parameters import param
from wellread.sources.papers import PaperOptions, Papers, from_csl
from wellread.sources.service import Rate
from wellread.types import Hit, Query

_FIELDS = "DOI,title,author,issued,container-title,publisher,abstract,page,volume,issue,URL,type"


@dataclass(frozen=True, slots=True)
class Options(PaperOptions):
    rate: Rate = param(5.0, "requests a second at most")
    base: str = param("https://api.crossref.org", "address of the service")
    filter: str | None = param(None, "in Crossref's own words: has-abstract:true,type:journal-article")


class Crossref(Papers[Options]):
    """Publications of all disciplines as their publishers registered them, from Crossref."""

    Params = Options
    path, results = "/works", ("message", "items")
    page_size, most_pages = 100, 5

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "query": query.text[:1000],
            "rows": min(query.limit, self.page_size),
            "offset": number * self.page_size,
            "select": _FIELDS,
            "filter": self.filters(self.options.filter, query, "from-pub-date", "until-pub-date"),
            "mailto": mail_address(self.http.kit.environ),
        }

    def hit(self, item: Payload, rank: int) -> Hit | None:
        parts = [part.text() for part in item.items("issued", "date-parts", 0)]
        day = "-".join(part.zfill(2) for part in parts) if len(parts) == 3 else ""
        return self.paper(rank, from_csl(item), item.text("abstract"), day)
