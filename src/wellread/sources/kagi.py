"""`kagi`: the web search of Kagi (kagi.com)."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.net.payload import Payload
from wellread.parameters import param
from wellread.sources.service import Fields, Key, Service, VendorOptions
from wellread.types import Hit, Query


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://kagi.com", "address of the service")


class Kagi(Service[Options]):
    """Web search by Kagi."""

    Params = Options
    hint = "A general web search engine without advertising. Key words as in any search box; quotes for exact phrases, -word."
    key = Key(("KAGI_API_KEY",), scheme="Bot ")
    results = ("data",)
    fields = Fields(published="published")

    async def page(self, query: Query, number: int) -> Payload:
        return await self.get("/api/v0/search", {"q": query.text, "limit": query.limit})

    def hit(self, item: Payload, rank: int) -> Hit | None:
        return None if item.number("t") else super().hit(item, rank)  # 1: other searches that it proposes
