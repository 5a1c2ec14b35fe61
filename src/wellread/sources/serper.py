"""`serper`: what Google finds, by Serper (serper.dev)."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.parameters import param
from wellread.sources.service import Fields, Key, Service, VendorOptions
from wellread.types import Query


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://google.serper.dev", "address of the service")
    country: str | None = param(None, "two letters: us, de, …; where one searches from")
    language: str | None = param(None, "two letters: en, de, …")
    time_range: str | None = param(None, "in Google's own words: qdr:w for the last week, qdr:y for the last year")


class Serper(Service[Options]):
    """What Google finds on the web, by Serper."""

    Params = Options
    hint = "The web as Google finds it. Key words as in any search box; quotes for exact phrases, site:example.org, -word."
    key = Key(("SERPER_API_KEY",), "X-API-KEY", "")
    path, form = "/search", "json"
    results = ("organic",)
    fields = Fields(url="link")
    page_size, most_pages = 10, 10

    def asks(self, query: Query, number: int) -> dict[str, object]:
        o = self.options
        ends = {"min": query.since, "max": query.until}
        between = [f"cd_{end}:{day[5:7]}/{day[8:10]}/{day[:4]}" for end, day in ends.items() if day]
        return {
            "q": query.text,
            "num": self.page_size,
            "page": number + 1,
            "gl": o.country,
            "hl": o.language or query.language,
            "tbs": ",".join(["cdr:1", *between]) if between else o.time_range,
        }
