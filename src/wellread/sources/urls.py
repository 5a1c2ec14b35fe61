"""`urls:LIST`: some pages, read once and searched in memory. LIST is addresses with commas, or a file of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from wellread.errors import ReadError, UsageError
from wellread.parameters import Range, fill, param
from wellread.protocols import Kit
from wellread.sources.hits import web_address
from wellread.sources.memory import Remembered
from wellread.text.split import Splitting, passages
from wellread.types import Passage, Spec


@dataclass(frozen=True, slots=True)
class Options:
    meaning: bool = param(True, "search by meaning too, not by words alone")
    max_pages: Annotated[int, Range(1, 100_000)] = param(200, "pages read at most")


def from_spec(spec: Spec, kit: Kit) -> Urls:
    """Some web pages, searched in memory."""
    options = fill(Options, spec.options, "source urls")
    return Urls(_addresses(spec.argument)[: options.max_pages], options, kit)


class Urls(Remembered[Sequence[str]]):
    """Passages of pages as hits; a page that cannot be read is said with every search, and skipped."""

    hint = "A few web pages that the user chose. Ask with the words they are likely to use; a whole question works too."
    nothing = "no page could be read"

    def __init__(self, addresses: Sequence[str], options: Options, kit: Kit) -> None:
        super().__init__("urls", kit, meaning=options.meaning)
        self._addresses = tuple(addresses)

    async def look(self) -> Sequence[str]:
        return self._addresses

    async def read(self, seen: Sequence[str]) -> tuple[list[Passage], list[str]]:
        results = await asyncio.gather(*(self._page(url) for url in seen))
        return [passage for made, _ in results for passage in made], [why for _, why in results if why]

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
            lines = Path(argument).expanduser().read_text(encoding="utf-8").splitlines()
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
