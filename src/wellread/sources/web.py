"""What all services on the web have in common as sources; each of them has a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from wellread.net.service import Http
from wellread.protocols import Source
from wellread.types import Hit, Query

Options = TypeVar("Options")


class WebSource(Source, ABC, Generic[Options]):
    """A service as a source, which says how it is asked in `find`."""

    def __init__(self, http: Http, options: Options, base: str) -> None:
        self.name = http.owner
        self._http = http
        self._options = options
        self._base = base

    async def search(self, query: Query) -> Sequence[Hit]:
        return await self.find(query) if query.text.strip() and query.limit > 0 else []

    @abstractmethod
    async def find(self, query: Query) -> Sequence[Hit]:
        """Best first, for a query that has words."""

    async def aclose(self) -> None:
        await self._http.aclose()
