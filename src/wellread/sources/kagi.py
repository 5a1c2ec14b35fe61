"""`kagi`: the web search of Kagi (kagi.com)."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.parameters import param
from wellread.sources.service import Fields, Key, Service, VendorOptions
from wellread.types import Query


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://kagi.com", "address of the service")


class Kagi(Service[Options]):
    """Web search by Kagi."""

    Params = Options
    hint = "A general web search engine without advertising. Key words as in any search box; quotes for exact phrases, -word."
    key = Key(("KAGI_API_KEY",), scheme="Bot ")
    path, results = "/api/v0/search", ("data",)
    fields = Fields(published="published")

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {"q": query.text, "limit": query.limit}
