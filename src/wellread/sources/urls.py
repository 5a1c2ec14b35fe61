"""`urls:LIST`: some pages, read once and searched in memory. LIST is addresses with commas, or a file of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from wellread.core.private_files import at_home
from wellread.errors import ReadError, SourceError, UsageError
from wellread.net.address import is_of_own_network
from wellread.parameters import Range, fill, param
from wellread.protocols import Parts, Source
from wellread.sources.hits import web_address
from wellread.sources.memory import Memory, few
from wellread.text.split import Splitting, passages
from wellread.types import Hit, Hits, Passage, Query, Spec


@dataclass(frozen=True, slots=True)
class Options:
    meaning: bool = param(True, "search by meaning too, not by words alone")
    max_pages: Annotated[int, Range(1, 100_000)] = param(200, "pages read at most")


def from_spec(spec: Spec, kit: Parts) -> Urls:
    """Some web pages, searched in memory."""
    options = fill(Options, spec.options, "source urls")
    return Urls(_addresses(spec.argument)[: options.max_pages], options, kit)


class Urls(Source):
    """Passages of pages as hits, read at the first search; a page that cannot be read is said with every one, and skipped."""

    name = "urls"
    hint = "A few web pages that the user chose. Ask with the words they are likely to use; a whole question works too."

    def __init__(self, addresses: Sequence[str], options: Options, kit: Parts) -> None:
        self._addresses, self._options, self._kit = addresses, options, kit
        self.private = any(is_of_own_network(urlsplit(url).hostname or "") for url in addresses)
        self._memory: Memory | None = None
        self._failures: tuple[str, ...] = ()
        self._reading = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def search(self, query: Query) -> Sequence[Hit]:
        if not query.text.strip() or query.limit < 1:
            return []
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # locks belong to a loop
            self._loop, self._reading, self._memory = loop, asyncio.Lock(), None
        async with self._reading:  # searches at once must not read everything twice
            memory = self._memory = self._memory or await self._read()
        return Hits(tuple(await memory.search(query.text, query.limit)), self._failures)

    async def _read(self) -> Memory:
        results = await asyncio.gather(*(self._page(url) for url in self._addresses))
        found, failures = [one for made, _ in results for one in made], [why for _, why in results if why]
        if not found:
            raise SourceError(self.name, "no page could be read" + (f": {few(failures)}" if failures else ""))
        self._failures = (f"{self.name}: {few(failures)}",) if failures else ()
        return await asyncio.to_thread(Memory, found, self.name, self._kit.embedder() if self._options.meaning else None)

    async def _page(self, url: str) -> tuple[list[Passage], str]:
        try:
            page = await self._kit.pages().read(url)
        except ReadError as problem:
            return [], str(problem)
        return await asyncio.to_thread(passages, page, url, Splitting()), f"{url}: {page.notice}" if page.notice else ""


def _addresses(argument: str) -> list[str]:
    """Addresses from the spec, or from a file with one on each line (# begins a comment)."""
    if not web_address(argument) and argument:
        try:
            lines = at_home(argument).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise UsageError(f"urls: {argument} is neither an address nor a file of addresses: {problem}") from None
        parts = [line.strip() for line in lines if not line.lstrip().startswith("#")]
    else:
        parts = [part.strip() for part in re.split(r",(?=\s*https?://)", argument)]
    found = [part for part in dict.fromkeys(parts) if part]
    wrong = [part for part in found if not web_address(part)]
    if wrong or not found:
        raise UsageError(f"urls needs web addresses with commas, or a file of them: urls:https://… ({(wrong or ['none'])[0]})")
    return found
