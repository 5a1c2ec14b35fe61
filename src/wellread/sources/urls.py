"""`urls:LIST`: some pages, read once and searched in memory. LIST is addresses with commas, or a file of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from wellread.core.private_files import at_home
from wellread.errors import ReadError, UsageError
from wellread.net.address import is_of_own_network
from wellread.parameters import Range, fill, param
from wellread.protocols import Parts
from wellread.sources.hits import web_address
from wellread.sources.memory import InMemory
from wellread.text.split import Splitting, passages
from wellread.types import Passage, Spec


@dataclass(frozen=True, slots=True)
class Options:
    meaning: bool = param(True, "search by meaning too, not by words alone")
    max_pages: Annotated[int, Range(1, 100_000)] = param(200, "pages read at most")


def from_spec(spec: Spec, kit: Parts) -> Urls:
    """Some web pages, searched in memory."""
    options = fill(Options, spec.options, "source urls")
    return Urls(_addresses(spec.argument)[: options.max_pages], options, kit)


class Urls(InMemory):
    """Passages of pages as hits."""

    hint = "A few web pages that the user chose. Ask with the words they are likely to use; a whole question works too."

    def __init__(self, addresses: Sequence[str], options: Options, kit: Parts) -> None:
        super().__init__("urls", kit, meaning=options.meaning)
        self.addresses = addresses
        self.private = any(is_of_own_network(urlsplit(url).hostname or "") for url in addresses)

    async def read(self) -> tuple[Sequence[Passage], Sequence[str]]:
        results = await asyncio.gather(*(self._page(url) for url in self.addresses))
        return [one for made, _ in results for one in made], [why for _, why in results if why]

    async def _page(self, url: str) -> tuple[list[Passage], str]:
        try:
            page = await self.kit.pages().read(url)
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
