"""`WebReader`: an address in, the page's main text out."""

from __future__ import annotations

from wellread.net.fetch import Fetcher
from wellread.reading import workers
from wellread.reading.allowance import WEB_PAGE
from wellread.types import Page


class WebReader:
    """Guard, fetch, extract. Implements `PageReader`; `aclose` it at the end."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher

    async def read(self, url: str) -> Page:
        """The main text of a page; raises `ReadError`, or `Blocked` for what must not be read."""
        reading = workers.shared()
        reading.warm()  # while the page is on its way
        return await reading.aread(await self._fetcher.fetch(url.strip()), WEB_PAGE)

    async def aclose(self) -> None:
        await self._fetcher.aclose()
