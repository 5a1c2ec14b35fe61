"""`duckduckgo`: the web without a key, as DuckDuckGo shows it to browsers; through the package `ddgs` (extra `web`)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from wellread.errors import SourceBusy, SourceError, UsageError, optional
from wellread.net.payload import Payload, told
from wellread.parameters import Seconds, fill, param
from wellread.protocols import Parts, Source
from wellread.sources.hits import cleaned, hit
from wellread.types import Hit, Query, Spec

_MOST = 50


@dataclass(frozen=True, slots=True)
class Options:
    region: str = param("wt-wt", "where results come from: us-en, de-de, …; wt-wt is nowhere")
    safe_search: Literal["on", "moderate", "off"] = param("moderate", "filter for adult content")
    time_range: Literal["d", "w", "m", "y"] | None = param(None, "only pages of the last day, week, month, year")
    engines: str = param("duckduckgo", "whom ddgs asks, with commas: duckduckgo,mojeek; auto: some of all that it knows")
    timeout: Seconds = param(15.0, "seconds for one request")


class DuckDuckGo(Source):
    """The web without a key, by DuckDuckGo."""

    public = True
    hint = "A general web search engine. Key words as in any search box; quotes for exact phrases, site:example.org, -word."

    def __init__(self, spec: Spec, kit: Parts) -> None:
        if spec.argument:
            raise UsageError("duckduckgo takes no argument; write duckduckgo?region=de-de")
        self.name = spec.name
        self._options = fill(Options, spec.options, "source duckduckgo")
        with optional("duckduckgo", "web"):
            self._ddgs: Any = import_module("ddgs")

    async def search(self, query: Query) -> Sequence[Hit]:
        if not query.text.strip() or query.limit < 1:
            return []
        rows = [Payload(row) for row in await asyncio.to_thread(self._asked, query.text, min(query.limit, _MOST))]
        hits = (
            hit(self.name, rank, title=row.text("title"), url=row.text("href"), snippet=row.text("body"))
            for rank, row in enumerate(rows)
        )
        return (await cleaned(hits))[: query.limit]

    def _asked(self, text: str, limit: int) -> list[dict[str, Any]]:
        o, problems = self._options, self._ddgs.exceptions
        try:
            return self._ddgs.DDGS(timeout=o.timeout).text(
                text, region=o.region, safesearch=o.safe_search, timelimit=o.time_range, max_results=limit, backend=o.engines
            )
        except problems.RatelimitException as problem:
            raise SourceBusy(self.name, told(str(problem), ())) from None
        except problems.DDGSException as problem:
            if "no results" in str(problem).lower():
                return []
            raise SourceError(self.name, told(str(problem), ())) from None
