"""`google`: a Programmable Search Engine of yours, through Google's Custom Search API."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.errors import UsageError
from wellread.parameters import param
from wellread.protocols import Parts
from wellread.sources.service import Fields, Key, Service, VendorOptions
from wellread.types import Query, Spec

ENGINE = "GOOGLE_CSE_ID"


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://www.googleapis.com", "address of the service")
    engine: str | None = param(None, f"the engine's id (cx); else what {ENGINE} says")
    language: str | None = param(None, "two letters: en, de, …; of the pages")
    safe_search: bool = param(False, "filter for adult content")


class Google(Service[Options]):
    """What a Programmable Search Engine of Google finds."""

    Params = Options
    hint = "The web, or what of it the engine was set up for, as Google finds it. Key words; quotes for exact phrases, -word."
    key = Key(("GOOGLE_API_KEY", "GOOGLE_CSE_API_KEY"), "X-goog-api-key", "")
    path, results = "/customsearch/v1", ("items",)
    fields = Fields(url="link")
    page_size, most_pages = 10, 10

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        self._engine = self.options.engine or kit.environ.get(ENGINE, "").strip()
        if not self._engine:
            raise UsageError(f"google needs the id of a search engine: set {ENGINE}")

    def asks(self, query: Query, number: int) -> dict[str, object]:
        language = self.options.language or query.language
        days = ":".join(day[:10].replace("-", "") for day in (query.since or "19900101", query.until or "29991231"))
        return {
            "cx": self._engine,
            "q": query.text,
            "num": min(query.limit, self.page_size),
            "start": number * self.page_size + 1,
            "lr": f"lang_{language}" if language else None,
            "safe": "active" if self.options.safe_search else None,
            "sort": f"date:r:{days}" if query.since or query.until else None,
        }
