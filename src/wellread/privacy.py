"""Privacy: whether a query may leave the machine. It is sent as it is, or not at all.

A document can tell a model to search the web for what it has read in private ones. Each source that a query reaches is asked
through `search`: there, and nowhere else, it is decided whether a service of others hears the query, and what a source says is
remembered as private or as known to the public.

What only private passages can have given a query keeps it back: a name, a number, a rare word, or several words in a row that are
in them and that neither the user nor a public source has said. Ordinary words are free, and so is what a model knows by itself.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import urlsplit

from wellread.core.codec import loads
from wellread.errors import Withheld
from wellread.protocols import Source
from wellread.text.lexicon import STOPWORDS
from wellread.text.words import fold, stem
from wellread.types import Hit, Page, Prompt, Query

Sharing = Literal["ask", "never", "always"]
Consent = Callable[[str, str, str], Awaitable[bool]]  # source, query, why it is asked: whether to send it
_WORD = re.compile(r"\w+")
_ROW = 4  # words in a row that tell where they are from
_NAMED = 5  # words that a reason names
_STRICT = "private passages were read, and share_private = never lets out nothing but the question"


def leaves(source: Source) -> list[Source]:
    """The sources behind groups and wrappers: those that are asked in the end."""
    return [leaf for one in source.parts for leaf in leaves(one)] or [source]


def mark(source: Source, private: bool) -> None:
    """Mark a source as private or not, as the operator says."""
    for leaf in leaves(source):
        leaf.private = private


@dataclass(slots=True)
class Privacy:
    """Data-leak guard of one run: what it has heard, and from whom."""

    question: str
    sharing: Sharing = "ask"
    consent: Consent | None = None
    own_hosts: Sequence[str] = ()  # whose pages are private
    sent: list[tuple[str, str]] = field(default_factory=list)  # to services of others, until a run tells of it
    withheld: list[str] = field(default_factory=list)  # services that did not hear a query, until a run tells of it
    _open: set[str] = field(default_factory=set)  # names of sources that say what everybody may know
    _said: _Texts = field(default_factory=lambda: _Texts())  # by the user and the public
    _kept: _Texts = field(default_factory=lambda: _Texts())  # by private sources
    _told: _Texts = field(default_factory=lambda: _Texts())  # to models, as instructions
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._said.add([self.question])

    def begin(self, sources: Iterable[Source], history: Sequence[tuple[str, str]]) -> None:
        """Meet the sources and the conversation so far. What the user said may leave; earlier answers may be made of private
        words, unless only public sources were there to give them."""
        if not history:
            return
        self._said.add(asked for asked, _ in history)
        inside = [leaf for source in sources for leaf in leaves(source)]
        for leaf in sorted(inside, key=lambda leaf: leaf.remembered() is not None):  # what they go by is known last
            self.heard(leaf, leaf.remembered() or ())
        if self._kept or any(leaf.remembered() is None and leaf.name not in self._open for leaf in inside):
            self._kept.add(answer for _, answer in history)

    def told(self) -> tuple[Iterable[tuple[str, str]], tuple[str, ...]]:
        """The queries that services heard, and the services that did not hear one, since it was asked last."""
        sent, withheld, self.sent, self.withheld = self.sent, self.withheld, [], []
        return dict.fromkeys(sent), tuple(dict.fromkeys(withheld))

    def instructed(self, prompt: Prompt) -> None:
        """Remember a prompt's instructions, which are not to be recited."""
        self._told.add(message.text for message in prompt.messages if message.role == "system")

    def heard(self, leaf: Source, hits: Sequence[Hit]) -> None:
        """Remember what a source said, and whether everybody may know it."""
        recalls = leaf.remembered() is not None
        if not recalls and not leaf.is_private():
            self._open.add(leaf.name)
        for hit in hits if recalls else ():
            (self._said if hit.source in self._open else self._kept).add((hit.title, hit.words))
        if not recalls:
            (self._said if leaf.name in self._open else self._kept).add([text for hit in hits for text in (hit.title, hit.words)])

    def read(self, page: Page) -> None:
        """Remember a page: that of a host of one's own is private."""
        host = urlsplit(page.url).netloc.rpartition("@")[2]
        own = host in self.own_hosts or host.partition(":")[0] in self.own_hosts
        (self._kept if own else self._said).add((page.title, page.text))

    async def allow(self, source: Source, text: str) -> None:
        """Let a service of others hear a query, or raise `Withheld` with the reason."""
        if self.sharing == "always" or not (why := self.why_not(text)):
            return
        async with self._asking:  # a person is asked one thing at a time, and once
            if not (why := self.why_not(text)):
                return
            if self.sharing == "ask" and self.consent and await self.consent(source.name, text, why):
                self._said.add([text])
                return
        self.withheld.append(source.name)
        raise Withheld(source.name, f"not sent: {why}")

    def why_not(self, text: str) -> str:
        """The reason to withhold a query; "" where there is none."""
        if self.sharing == "never" and self._kept and not self._said.has_whole(text):
            return _STRICT
        if not self._kept and not self._told:
            return ""
        if self._kept and not text.isprintable():
            return "it holds signs that nobody can read"
        words = _words(text)
        if found := dict.fromkeys(word for word in words if self._is_private(word)):
            return f"only private sources said {', '.join(f'“{word}”' for word in list(found)[:_NAMED])}"
        keys = [_key(word) for word in words]
        for start in range(len(keys) - _ROW + 1):
            row = keys[start : start + _ROW]
            own = sum(key not in self._said.keys and word not in STOPWORDS for key, word in zip(row, words[start:], strict=False))
            if own > 1 and not self._said.has_row(row):
                if self._kept.has_row(row):
                    return f"only private sources said “{' '.join(words[start : start + _ROW])}”"
                if self._told.has_row(row):
                    return "it recites what the model was told to do"
        return ""

    def _is_private(self, word: str) -> bool:
        """Whether only private passages can have given a word: they have it, nobody else said it, and it is no ordinary one."""
        key = _key(word)
        if key not in self._kept.keys or key in self._said.keys:
            return False
        if any(map(str.isdigit, word)):
            return len(word) > 2
        return _ordinary().isdisjoint((word, key)) or self._kept.is_name(word)


_current: ContextVar[Privacy | None] = ContextVar("privacy", default=None)


class in_force:
    """Searches within are decided upon, and heard, by this. A class: `contextmanager` would cost five times as much."""

    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy

    def __enter__(self) -> None:
        self._before = _current.set(self._privacy)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._before)


async def search(source: Source, query: Query) -> Sequence[Hit]:
    """Ask a source: the one way to do so. Groups and wrappers pass the query on by this, too."""
    privacy = _current.get()
    if privacy is None or source.parts:
        return await source.search(query)
    if source.public and not source.private:
        await privacy.allow(source, query.text)
        privacy.sent.append((source.name, query.text))
    found = await source.search(query)
    privacy.heard(source, found)
    return found


class _Texts:
    """Texts that are taken apart when somebody asks what is in them."""

    def __init__(self) -> None:
        self._new: list[str] = []
        self._texts: list[str] = []
        self._keys: set[str] = set()
        self._rows: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._new or self._texts)

    def add(self, texts: Iterable[str]) -> None:
        self._new.extend(filter(None, texts))

    @property
    def keys(self) -> set[str]:
        new, self._new = dict.fromkeys(self._new), []
        for text in new:
            keys = [_key(word) for word in _words(text)]
            self._keys.update(keys)
            self._rows.append(f" {' '.join(keys)} ")
        self._texts.extend(new)
        return self._keys

    def has_whole(self, text: str) -> bool:
        return bool(self.keys) and text in self._texts

    def has_row(self, row: Sequence[str]) -> bool:
        return bool(self.keys) and any(f" {' '.join(row)} " in text for text in self._rows)

    def is_name(self, word: str) -> bool:
        """Whether it is always written with a capital letter, and not only where a sentence begins."""
        found = re.compile(rf"(?P<within>[\w,;][ ])?\b(?:(?P<capital>{re.escape(word.capitalize())})|{re.escape(word)})\b")
        places = [match for text in self._texts for match in found.finditer(text)]
        return not places or (any(match["within"] for match in places) and all(match["capital"] for match in places))


def _words(text: str) -> list[str]:
    return [fold(word) for word in _WORD.findall(unicodedata.normalize("NFKC", text))]


def _key(word: str) -> str:
    return stem(word)


@cache
def _ordinary() -> frozenset[str]:
    """Ordinary vocabulary: the whole words that the embedder in the package knows, the commonest of English."""
    place = files("wellread") / "embedding" / "weights" / "all-minilm-l6-v2" / "tokenizer.json"
    known = loads(dict[str, Any], place.read_bytes())
    return frozenset(word for word in known["model"]["vocab"] if word.isalpha())
