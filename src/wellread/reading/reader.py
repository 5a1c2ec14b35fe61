"""`WebReader`: an address in, the page's main text out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from wellread.reading import transport
from wellread.reading.documents import read_bytes
from wellread.reading.fetch import Fetcher, Limits
from wellread.reading.guard import PORTS, Guard, Resolver, resolve
from wellread.types import Page

_THREADS = 2  # extraction is bound by the interpreter: more threads only get into each other's way


class WebReader:
    """Guard, fetch, extract. Implements `PageReader`; `aclose` it at the end."""

    def __init__(
        self,
        *,
        cache: bool = True,
        allow_hosts: Iterable[str] = (),
        ignore_robots: bool = False,
        limits: Limits | None = None,
        concurrency: int = 32,
        per_host: int = 6,
        ports: Iterable[int] = PORTS,
        resolver: Resolver = resolve,
    ) -> None:
        self._fetcher = Fetcher(
            Guard(allow_hosts, ports=ports, resolver=resolver),
            cache=transport.cache_folder() if cache else None,
            ignore_robots=ignore_robots,
            limits=limits,
            concurrency=concurrency,
            per_host=per_host,
        )
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="wellread-reading")

    async def read(self, url: str) -> Page:
        """The main text of a page; raises `ReadError`, or `Blocked` for what must not be read."""
        found = await self._fetcher.fetch(url.strip())
        work = partial(read_bytes, found.body, found.url, content_type=found.content_type, charset=found.charset)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def aclose(self) -> None:
        await self._fetcher.aclose()
        self._threads.shutdown(wait=False, cancel_futures=True)
