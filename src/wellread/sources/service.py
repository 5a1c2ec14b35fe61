"""Base class of search services over HTTP. An adapter is a table: its options, where the service is, which key it wants, how
often it may be asked, what a page of results is asked for with, and what a result says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args

from wellread.errors import UsageError
from wellread.net.address import Address, address
from wellread.net.payload import Payload
from wellread.net.service import Http, Manners, Params
from wellread.parameters import Range, Seconds, fill, param
from wellread.protocols import Parts, Source
from wellread.sources.hits import cleaned, hit
from wellread.text.lexicon import STOPWORDS
from wellread.types import Hit, Hits, Query, Spec

Rate = Annotated[float, Range(0.001, 1000)]


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """Of every service."""

    timeout: Seconds = param(15.0, "seconds for one request")


@dataclass(frozen=True, slots=True)
class VendorOptions(ServiceOptions):
    """Of a service that has one address for everybody."""

    rate: Rate = param(1000.0, "requests a second at most")
    base: str = param("", "address of the service")


_CUSTOMARY = {
    "title": ("title", "headline", "name", "subject", "heading", "label", "question"),
    "text": ("body", "text", "content", "extract", "description", "summary", "abstract", "message", "answer", "commentary"),
    "url": ("url", "link", "permalink", "uri", "href", "link_url", "canonical_url"),
    "date": (
        *("published", "published_at", "publishedat", "created", "created_at", "date", "pub_date"),
        *("timestamp", "@timestamp", "updated"),
    ),
}


@dataclass(frozen=True, slots=True)
class RecordOptions(ServiceOptions):
    """Of a database: which fields of its records are what; those that nobody names are guessed from the customary names."""

    title: str | None = param(None, "field or column with the title; else guessed")
    text: str | None = param(None, "field or column with the text; else guessed")
    url: str | None = param(None, "field or column with the address; else guessed")
    date: str | None = param(None, "field or column with the date; else guessed")

    def said(self, role: Literal["title", "text", "url", "date"], record: Payload) -> str:
        if (chosen := getattr(self, role)) is not None:
            return record.text(*chosen.split(".")) or record.text(chosen)
        names = {name.lower(): name for name in record.names()}
        return next((text for name in _CUSTOMARY[role] if name in names and (text := record.text(names[name]))), "")

    def text_of(self, record: Payload) -> str:
        """The text, or all words of a record that has no field for it."""
        if found := self.said("text", record):
            return found
        taken = {self.said(role, record) for role in ("title", "url", "date")}
        words = ((name, record.at(name).value) for name in record.names())
        return "\n".join(f"{name}: {value}" for name, value in words if isinstance(value, str) and value and value not in taken)


@dataclass(frozen=True, slots=True)
class Key:
    """The key that a service wants: the variables that may hold it, the first of which is named, and the header for it."""

    names: tuple[str, ...]
    header: str = "Authorization"
    scheme: str = "Bearer "
    needed: bool = True

    def found(self, environ: Mapping[str, str]) -> str:
        return next((value for name in self.names if (value := environ.get(name, "").strip())), "")


@dataclass(frozen=True, slots=True)
class Fields:
    """The names that a service has for what a result says; several for what is put together of them."""

    title: str = "title"
    url: str = "url"
    snippet: str | tuple[str, ...] = "snippet"
    published: str = "date"
    text: str = ""
    score: str = ""


Options = TypeVar("Options", bound=ServiceOptions)


class Service(Source, Generic[Options]):
    """A service as a source: how a page of results is asked for (`path` and `asks`, or `page`), what they say (`fields`, or
    `hit`), or all (`find`)."""

    public = True
    Params: ClassVar[type[Any]]
    address: ClassVar[str] = ""  # an example of one, where everybody has an address of one's own; else `base` is it
    argument: ClassVar[str] = ""  # what may stand behind the name otherwise
    key: ClassVar[Key | None] = None
    manners: ClassVar[Manners] = Manners()
    path: ClassVar[str] = ""  # behind the address, where it is asked
    form: ClassVar[Literal["params", "json", "xml"]] = "params"  # of what is asked, or of the answer, where that is XML
    results: ClassVar[Sequence[str | int]] = ("results",)  # where they stand in an answer
    fields: ClassVar[Fields]  # what a result says, and where
    page_size = 20  # results in one request
    most_pages = 1  # requests for one search

    def __init_subclass__(cls) -> None:
        """`Service[Options]` says which options it has."""
        given = (part for base in cls.__dict__.get("__orig_bases__", ()) for part in get_args(base))
        cls.Params = next((part for part in given if isinstance(part, type)), getattr(cls, "Params", ServiceOptions))

    def __init__(self, spec: Spec, kit: Parts) -> None:
        self.options = cast("Options", fill(self.Params, spec.options, f"source {spec.name}"))
        if spec.argument and not (self.address or self.argument):
            raise UsageError(f"{spec.name} takes no argument; write {spec.name}?option=value")
        self.given = spec.argument
        self.at = self.place(spec)
        self.base = self.at.url
        self.name = f"{spec.name}:{self.at.host if self.address else spec.argument}".rstrip(":")
        value = self.key.found(kit.environ) if self.key and not self.at.keys else ""
        if self.key and self.key.needed and not value:
            raise UsageError(f"{spec.name} needs a key: set {self.key.names[0]}")
        keys = {self.key.header: self.key.scheme + value} if self.key and value else self.at.keys
        interval = 1 / self.options.rate if isinstance(self.options, VendorOptions) else 0.0
        manners = replace(self.manners, timeout=self.options.timeout, interval=interval)
        self.http = Http(self.name, kit, manners, keys, self.key.names[0] if self.key else "")

    def place(self, spec: Spec) -> Address:
        """Where the service is."""
        if isinstance(self.options, VendorOptions):
            return address(self.options.base, spec.name, f"?base={self.Params().base}")
        return address(spec.argument, spec.name, self.address)

    async def search(self, query: Query) -> Sequence[Hit]:
        return await self.find(query) if query.text.strip() and query.limit > 0 else []

    async def find(self, query: Query) -> Sequence[Hit]:
        """Best first, for a query that has words: page by page, until there are enough or no more."""
        hits: list[Hit] = []
        failures: dict[str, None] = {}
        for number in range(self.most_pages):
            answer = await self.page(query, number)
            items = answer.items(*self.results)
            before = len(hits)
            hits = await cleaned(chain(hits, map(self.hit, items)), self.name)
            failures.update(dict.fromkeys(self.failures(answer)))
            if len(hits) >= query.limit or len(hits) == before or not self.goes_on(answer, number, len(items)):
                break
        if failures and not hits:
            raise self.http.error("no engine answered: " + "; ".join(failures))
        return Hits(tuple(hits[: query.limit]), tuple(f"{self.name}: {why}" for why in failures))

    async def page(self, query: Query, number: int) -> Payload:
        """An answer of the service; `number` counts from 0."""
        told = {f.metadata.get("sent"): getattr(self.options, f.name) for f in fields(self.options)}
        asked = told | {name: value for name, value in self.asks(query, number).items() if value is not None}
        asked = {name: value for name, value in asked.items() if name and value not in (None, ())}
        if self.form == "json":
            return await self.post(self.path, asked)
        return await self.get(self.path, asked, xml=self.form == "xml")

    def asks(self, query: Query, number: int) -> Mapping[str, Any]:
        """Request parameters, beside the options that say as what they are sent, and before them; None stays out."""
        raise NotImplementedError

    def hit(self, item: Payload) -> Hit | None:
        """One of its results."""
        f = self.fields
        parts = [f.snippet] if isinstance(f.snippet, str) else f.snippet
        return hit(
            title=item.text(f.title),
            url=item.text(f.url),
            snippet=" … ".join(one.text() for name in parts for one in item.items(name) or [item.at(name)]),
            published=item.text(f.published),
            text=item.text(f.text) if f.text else None,
            score=item.number(f.score) if f.score else None,
        )

    def goes_on(self, answer: Payload, number: int, found: int) -> bool:
        """Whether there may be a page behind this one."""
        return found >= self.page_size

    def failures(self, answer: Payload) -> Iterable[str]:
        """Failures in a part of the service."""
        return ()

    def check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        """Raise for an error that the service hides in a good status."""

    async def get(self, path: str, params: Params | None = None, *, xml: bool = False) -> Payload:
        return await self.http.get(self.base + path, params, check=self.check, xml=xml)

    async def post(self, path: str, body: object) -> Payload:
        return await self.http.post(self.base + path, body, check=self.check)

    async def aclose(self) -> None:
        await self.http.aclose()


def between(query: Query, form: str, since: str = "", until: str = "", sign: str = "-") -> str | None:
    """The days that a query is about in a service's form, an open end being one of these; None where both are open."""
    days = [day[:10].replace("-", sign) for day in (query.since or since, query.until or until)]
    return form.format(*days) if query.since or query.until else None


_WORD = re.compile(r"\w++(?:[.'’\-]\w++)*+")  # without a way back, which would be remembered for each of a million parts
_EMPTY = STOPWORDS | {"tell", "please", "give", "know", "explain", "describe", "find"}


def keywords(text: str) -> list[str]:
    """Lower-case words without the empty ones, each once, in order; all words if nothing else is left."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))
    return [word for word in words if word not in _EMPTY] or words
