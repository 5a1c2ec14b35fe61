"""What all services on the web have in common as sources; each of them has a file of its own."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from wellread.net.service import Http
from wellread.protocols import Source
from wellread.text.lexicon import STOPWORDS
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


_WORD = re.compile(r"\w++(?:[.'’\-]\w++)*+")  # without a way back, which would be remembered for each of a million parts
_EMPTY = STOPWORDS | {"tell", "please", "give", "know", "explain", "describe", "find"}


def keywords(text: str) -> list[str]:
    """Lower-case words without the empty ones, each once, in order; all words if nothing else is left."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))
    return [word for word in words if word not in _EMPTY] or words


def match_all(text: str) -> str:
    """A query for SQLite's full-text search: every word literal, all of them needed."""
    return " ".join(f'"{word}"' for word in keywords(text))


def match_any(text: str) -> str:
    """The same, where one word is enough."""
    return " OR ".join(f'"{word}"' for word in keywords(text))
