"""Fetching pages over HTTP: politely (robots.txt), within limits, and only from where the guard lets us.

A fetch that fails raises `ReadError` (or `Blocked`) and leaves nothing open; cancelling one closes its
connection.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path

import httpx2

from wellread.errors import Blocked, ReadError
from wellread.net import robots, transport
from wellread.net.address import user_agent
from wellread.net.guard import Guard, port_of
from wellread.types import Document

_MB = 1024 * 1024
_TEXTUAL = ("text/", "application/xhtml", "application/xml", "application/json")
_ACCEPTED = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/markdown;q=0.9, text/plain;q=0.8, */*;q=0.1"
_UNREADABLE = ("image/", "audio/", "video/", "font/")
_ROBOTS_SECONDS = 10.0
_ROBOTS_KEPT = 3600.0  # seconds
_HOSTS_KEPT = 1024
_FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Limits on one page: time, size, redirects. Sizes are of the body as unpacked."""

    seconds: float = 20.0
    text_bytes: int = 10 * _MB
    document_bytes: int = 50 * _MB
    redirects: int = 5


@dataclass(eq=False)
class Fetcher:
    """Fetches pages; one for a run, closed at its end."""

    guard: Guard
    cache: Path | None = None  # the file
    ignore_robots: bool = False
    limits: PageLimits = field(default_factory=PageLimits)
    concurrency: int = 32
    per_host: int = 6

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)
        self._hosts: OrderedDict[str, asyncio.Semaphore] = OrderedDict()
        self._rules: OrderedDict[str, tuple[float, robots.Rules]] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}
        self._client: httpx2.AsyncClient | None = None

    async def fetch(self, url: str) -> Document:
        """The page behind an address, redirects followed; raises `ReadError`."""
        target = self.guard.check(url)
        async with self._turn(target):
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await self._follow(target, url)
            except TimeoutError as error:
                raise ReadError(url, f"took longer than {self.limits.seconds:g} s") from error
            except _FAILURES as error:
                said = "the body cannot be unpacked" if isinstance(error, httpx2.DecodingError) else " ".join(str(error).split())
                raise ReadError(url, (said or type(error).__name__)[:300]) from error

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def _turn(self, url: httpx2.URL) -> AsyncGenerator[None]:
        """So many at once, and few of them at one host, unless the host is our own."""
        if self.guard.allows(url.host, port_of(url)):
            async with self._slots:
                yield
            return
        host = self._hosts.setdefault(url.host, asyncio.Semaphore(self.per_host))
        self._hosts.move_to_end(url.host)
        if len(self._hosts) > _HOSTS_KEPT:
            self._hosts.popitem(last=False)
        async with host, self._slots:
            yield

    async def _follow(self, target: httpx2.URL, asked: str) -> Document:
        for _ in range(self.limits.redirects + 1):
            target = self.guard.check(str(target))
            await self._ask_robots(target, asked)
            async with self._response(target) as response:
                location = transport.redirect_of(response)
                if not location:
                    return await self._body(response, str(target), asked)
                target = target.join(location)
        raise ReadError(asked, f"more than {self.limits.redirects} redirects")

    @asynccontextmanager
    async def _response(self, url: httpx2.URL) -> AsyncGenerator[httpx2.Response]:
        if self._client is None:
            await transport.prepare()
        client = self._client = self._client or self._build()
        url = url.copy_with(fragment=None)
        own = self.guard.allows(url.host, port_of(url))
        request = client.build_request("GET", url, extensions=transport.of_own_host(url) if own else None)
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            yield response
        finally:
            await response.aclose()

    def _build(self) -> httpx2.AsyncClient:
        client = httpx2.AsyncClient(
            transport=transport.cached(transport.Direct(guard=self.guard, connections=self.concurrency), self.cache),
            headers={"User-Agent": user_agent(), "Accept": _ACCEPTED, "Accept-Language": "en, *;q=0.5"},
            timeout=None,  # that of the whole fetch counts
            trust_env=False,
        )
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # nobody follows us from page to page
        return client

    async def _body(self, response: httpx2.Response, url: str, asked: str) -> Document:
        if response.status_code >= 400 or response.status_code == 204:
            raise ReadError(asked, f"the server answers {response.status_code} {response.reason_phrase}".rstrip())
        content_type = response.headers.get("content-type", "")
        kind = content_type.strip().lower()
        if kind.startswith(_UNREADABLE):
            raise ReadError(asked, f"this is no text we can read ({content_type.partition(';')[0]})")
        limit = self.limits.text_bytes if kind.startswith(_TEXTUAL) else self.limits.document_bytes
        body = await transport.body_of(response, limit)
        if len(body) > limit:
            raise ReadError(asked, f"larger than {limit / _MB:g} MB")
        return Document(body, url, content_type, transport.charset_of(response.headers))

    async def _ask_robots(self, url: httpx2.URL, asked: str) -> None:
        if self.ignore_robots:
            return
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        async with self._asking.setdefault(origin, asyncio.Lock()):
            known = self._rules.get(origin)
            if known is None or known[0] < time.monotonic():
                rules = await self._robots(httpx2.URL(origin + "/robots.txt"))
                self._rules[origin] = (time.monotonic() + _ROBOTS_KEPT, rules)
                while len(self._rules) > _HOSTS_KEPT:
                    self._asking.pop(self._rules.popitem(last=False)[0], None)
            else:
                rules = known[1]
        if rules is robots.NOTHING:  # not a refusal: a wish that could not be heard
            raise Blocked(asked, "its robots.txt cannot be fetched (no network?) and is not ignored (--ignore-robots does)")
        path = url.raw_path.decode("ascii")
        if rules.rules and not await asyncio.to_thread(rules.allows, path):
            raise Blocked(asked, "its robots.txt asks programs not to read it (--ignore-robots for your own site)")

    async def _robots(self, url: httpx2.URL) -> robots.Rules:
        """A site without the file allows everything; one that cannot tell is left alone."""
        try:
            async with asyncio.timeout(_ROBOTS_SECONDS):
                for _ in range(5):
                    async with self._response(self.guard.check(str(url))) as response:
                        location = transport.redirect_of(response)
                        if not location:
                            return await _rules(response)
                        url = url.join(location)
        except Blocked:
            return robots.EVERYTHING  # its robots.txt is somewhere we do not go; the page has its own check
        except (*_FAILURES, TimeoutError):
            return robots.NOTHING
        return robots.EVERYTHING


async def _rules(response: httpx2.Response) -> robots.Rules:
    if response.status_code >= 500:
        return robots.NOTHING
    if response.status_code >= 400:
        return robots.EVERYTHING
    text = (await transport.body_of(response, robots.MAX_BYTES)).decode("utf-8", "replace")
    return await asyncio.to_thread(robots.parse, text) if text.strip() else robots.EVERYTHING
