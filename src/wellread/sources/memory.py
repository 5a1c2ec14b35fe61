"""Passages searched in memory: by words (BM25) and by meaning, fused by rank; `urls:LIST`: some pages, read once and searched so.
LIST is addresses with commas, or a file of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from wellread.core.private_files import at_home
from wellread.errors import IndexFault, ReadError, SourceError, UsageError
from wellread.index.lexical import Words
from wellread.net.address import is_of_own_network
from wellread.parameters import Range, fill, param
from wellread.protocols import Embedder, Parts, Source, trained
from wellread.ranking.fusion import reciprocal_ranks
from wellread.sources.hits import web_address, without_headings
from wellread.text.lexicon import STOPWORDS, UNSPACED_CLASS
from wellread.text.places import about, is_web
from wellread.text.split import Splitting, passages
from wellread.text.words import fold, stem
from wellread.types import Hit, Hits, Page, Passage, Query, Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOKEN = re.compile(rf"(?P<wide>{UNSPACED_CLASS}+)|[^\W_]+")
_CANDIDATES = 100  # of each ranking
_EMBED_ALL = 2_000  # passages; of more only those with the right words are compared by meaning
_BATCH = 64


class Memory:
    """A fixed set of passages. Building it is quick; embedding waits for the first search."""

    def __init__(self, passages: Sequence[Passage], source: str, embedder: Embedder | None) -> None:
        self.passages = tuple(passages)
        self._source = source
        self._embedder = embedder
        self._words = Words.of(self.passages)
        self._vectors: dict[int, NDArray[np.float32]] = {}
        self._embedding = asyncio.Lock()

    async def search(self, text: str, limit: int, language: str | None = None) -> list[Hit]:
        by_words = (await asyncio.to_thread(self._words.search, text, _CANDIDATES))[0].tolist()
        embedder = trained(self._embedder, language)
        by_meaning = await self._by_meaning(text, by_words, embedder) if embedder else []
        return [self._hit(row, score) for row, score in reciprocal_ranks([by_words, by_meaning])[:limit]]

    async def _by_meaning(self, text: str, candidates: list[int], embedder: Embedder) -> list[int]:
        import numpy as np

        rows = list(range(len(self.passages))) if len(self.passages) <= _EMBED_ALL else candidates
        if not rows or not tokens(text):
            return []
        async with self._embedding:  # two searches at once must not embed everything twice
            missing = [row for row in rows if row not in self._vectors]
            for start in range(0, len(missing), _BATCH):
                batch = missing[start : start + _BATCH]
                texts = [f"{about(self.passages[row])}\n{self.passages[row].text}" for row in batch]
                self._vectors.update(zip(batch, await embedder.embed(texts, kind="passage"), strict=True))
        question = (await embedder.embed([text], kind="query"))[0]
        scores = np.stack([self._vectors[row] for row in rows]) @ question
        order = np.argsort(-scores, kind="stable")[:_CANDIDATES]
        return [rows[place] for place in order.tolist()]

    def _hit(self, row: int, score: float) -> Hit:
        passage = self.passages[row]
        return replace(Hit.of(passage, score), snippet=without_headings(passage.text)[:300], source=self._source)


class InMemory(Source):
    """Base class of sources whose passages are read at the first search and kept in memory. What could not be read is said with
    every search, and skipped."""

    def __init__(self, name: str, kit: Parts, *, meaning: bool = True) -> None:
        self.name, self.kit, self._meaning = name, kit, meaning
        self._memory: Memory | None = None
        self._failures: tuple[str, ...] = ()
        self._reading = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def read(self) -> tuple[Sequence[Passage], Sequence[str]]:
        """All passages, and what could not be read."""
        raise NotImplementedError

    async def search(self, query: Query) -> Sequence[Hit]:
        if not query.text.strip() or query.limit < 1:
            return []
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # locks belong to a loop
            self._loop, self._reading, self._memory = loop, asyncio.Lock(), None
        async with self._reading:  # searches at once must not read everything twice
            if self._memory is None:
                found, failures = await self.read()
                if not found:
                    raise SourceError(self.name, "nothing could be read" + (f": {few(failures)}" if failures else ""))
                self._failures = (f"{self.name}: {few(failures)}",) if failures else ()
                embedder = self.kit.embedder() if self._meaning else None
                self._memory = await asyncio.to_thread(Memory, found, self.name, embedder)
        return Hits(tuple(await self._memory.search(query.text, query.limit, query.language)), self._failures)


def tokens(text: str) -> list[str]:
    """Stems of the words that say something; scripts without blanks by pairs of characters."""
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        if match["wide"] and len(word) > 1:
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        elif (form := fold(word)) not in STOPWORDS:
            found.append(stem(form))
    return found


def few(failures: Sequence[str], most: int = 3) -> str:
    """The first failures in words, and how many more there are."""
    more = f" and {len(failures) - most} more" if len(failures) > most else ""
    return "; ".join(failures[:most]) + more


@dataclass(frozen=True, slots=True)
class Options:
    meaning: bool = param(True, "search by meaning too, not by words alone")
    max_pages: Annotated[int, Range(1, 100_000)] = param(200, "pages read at most")


def urls(spec: Spec, kit: Parts) -> Urls:
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
        results = await asyncio.gather(*(passages_of(self.kit.pages().read(url), url) for url in self.addresses))
        return [one for made, _ in results for one in made], [why for _, why in results if why]


async def passages_of(reading: Awaitable[Page | None], document: str = "") -> tuple[list[Passage], str]:
    """The passages of what is read, if anything is; and what went wrong."""
    try:
        page = await reading
    except (ReadError, SourceError) as problem:
        return [], str(problem)
    if page is None:
        return [], ""
    made = await asyncio.to_thread(passages, page, document or page.url, Splitting())
    return made, f"{page.url}: {page.notice}" if page.notice else ""


def _addresses(argument: str) -> list[str]:
    """Addresses from the spec, or from a list of them."""
    from wellread.index.inputs import addresses

    try:
        named = not argument or is_web(argument)
        parts = re.split(r",(?=\s*https?://)", argument) if named else addresses(at_home(argument))
    except IndexFault as problem:
        raise UsageError(f"urls: {argument} is neither an address nor a file of addresses: {problem}") from None
    found = [part for part in dict.fromkeys(map(str.strip, parts)) if part]
    wrong = [part for part in found if not web_address(part)]
    if wrong or not found:
        raise UsageError(f"urls needs web addresses with commas, or a file of them: urls:https://… ({(wrong or ['none'])[0]})")
    return found
