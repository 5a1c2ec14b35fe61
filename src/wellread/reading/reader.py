"""`WebReader`: an address in, the page's main text out."""

from __future__ import annotations

from collections.abc import Iterable

from wellread.core.private_files import cache_folder
from wellread.net.fetch import Fetcher, PageLimits
from wellread.net.guard import PORTS, Guard, Resolver, resolve
from wellread.reading import workers
from wellread.reading.allowance import WEB_PAGE
from wellread.reading.documents import Document
from wellread.reading.kinds import ACCEPTED
from wellread.types import Page


class WebReader:
    """Guard, fetch, extract. Implements `PageReader`; `aclose` it at the end."""

    def __init__(
        self,
        *,
        cache: bool = True,
        allow_hosts: Iterable[str] = (),
        ignore_robots: bool = False,
        limits: PageLimits | None = None,
        concurrency: int = 32,
        per_host: int = 6,
        ports: Iterable[int] = PORTS,
        resolver: Resolver = resolve,
    ) -> None:
        self._fetcher = Fetcher(
            Guard(allow_hosts, ports=ports, resolver=resolver),
            cache=cache_folder("http") / "pages.db" if cache else None,
            ignore_robots=ignore_robots,
            limits=limits or PageLimits(),
            accept=ACCEPTED,
            concurrency=concurrency,
            per_host=per_host,
        )

    async def read(self, url: str) -> Page:
        """The main text of a page; raises `ReadError`, or `Blocked` for what must not be read."""
        reading = workers.shared()
        reading.warm()  # while the page is on its way
        found = await self._fetcher.fetch(url.strip())
        return await reading.aread(Document(found.body, found.url, found.content_type, found.charset), WEB_PAGE)

    async def aclose(self) -> None:
        await self._fetcher.aclose()
