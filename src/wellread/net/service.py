"""HTTP client, with retries, rate limits and timeouts, of every service that an operator configures: polite, patient, bounded,
honest about what went wrong.

A request waits for its turn at the host, is cut off at a time and a size, is tried again when the
service asks for patience (obeying Retry-After), and ends as JSON or as a `SourceError` with the
service's own words and without any key in it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TypeVar

import httpx2
import stamina

from wellread.core.private_files import cache_folder
from wellread.errors import SourceBusy, SourceError, Unreachable, UsageError
from wellread.net import transport
from wellread.net.address import secrets, user_agent
from wellread.net.payload import MOST_VALUES, Payload, complaint, told
from wellread.protocols import Parts


class Pace:
    """Turns at one host: so many at once, so far apart."""

    def __init__(self, concurrency: int, interval: float) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._interval = interval
        self._next = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        async with self._slots:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._interval
            if start > now:
                await asyncio.sleep(start - now)
            yield

    def hold(self, seconds: float) -> None:
        """Nobody goes before that."""
        self._next = max(self._next, time.monotonic() + seconds)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After header asks for, in either of its forms."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


T = TypeVar("T")
_SPENT = "insufficient_quota"  # OpenAI's 429 for an empty account, which no waiting fills
_MAX_REDIRECTS = 3


@dataclass(frozen=True, slots=True)
class Manners:
    """How a service wants to be treated, and how long we put up with it."""

    timeout: float = 15.0  # seconds for one attempt, from first byte out to last byte in
    attempts: int = 3
    patience: float = 20.0  # the longest Retry-After that is waited for
    back_off: float = 0.25  # first wait between attempts when the service names none
    concurrency: int = 4  # requests at once to one host
    interval: float = 0.0  # seconds between the starts of two requests to one host
    max_bytes: int = 20 * 1024 * 1024
    max_values: int = MOST_VALUES  # of a JSON document
    passing: frozenset[int] = frozenset({429, 502, 503, 504})  # statuses after which another attempt may do better
    slow_again: bool = False  # whether an attempt that took too long is followed by another


class Refused(SourceError):
    """The service answered with an error status; adapters that know a reason for it say so."""

    def __init__(self, source: str, message: str, status: int) -> None:
        super().__init__(source, message)
        self.status = status


Check = Callable[[Payload, Mapping[str, str]], None]
Params = Mapping[str, str | int | None]


@dataclass(slots=True)
class Http:
    """The way to one service. Made without touching the network; closed by its owner."""

    owner: str  # the name for errors
    kit: Parts
    manners: Manners = field(default_factory=Manners)
    keys: Mapping[str, str] = field(default_factory=dict[str, str])  # headers that must stay secret
    key_name: str = ""  # the variable to name when the service refuses the key
    _client: httpx2.AsyncClient | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _paces: dict[str, Pace] = field(default_factory=dict[str, Pace])

    async def get(self, url: str, params: Params | None = None, *, check: Check | None = None, xml: bool = False) -> Payload:
        """GET a JSON document, or one of XML; parameters that are None stay out. `check` may raise for errors that a service
        hides in a 200."""
        return await self._ask("GET", self._url(url, params), None, check, xml)

    async def post(self, url: str, body: object, *, check: Check | None = None) -> Payload:
        """POST JSON, get JSON."""
        return await self._ask("POST", self._url(url, None), body, check)

    async def text(self, url: str) -> str:
        """GET a document as text, whatever it is; as UTF-8, for some codecs that a server can name take hours."""
        place = self._url(url, None)
        body, _ = await self._patiently(place.host, partial(self._once, "GET", place, None))
        return body.decode("utf-8", errors="replace")

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    def hold(self, url: str, seconds: float) -> None:
        """Ask that host nothing for some seconds, as it wishes; not longer than one's patience lasts."""
        self._pace(self._url(url, None).host).hold(min(seconds, self.manners.patience))

    def same_host(self, base: str, reference: str) -> str:
        """An address that a page of the service names, if it is on the configured host."""
        return str(self._redirected(self._url(base, None), reference))

    def error(self, message: str, kind: type[SourceError] = SourceError) -> SourceError:
        """An error of this source; keys are blotted out of the message."""
        return kind(self.owner, self._clean(message))

    def busy(self, message: str, retry_after: float | None = None) -> SourceBusy:
        return SourceBusy(self.owner, self._clean(message), retry_after)

    async def _ask(self, method: str, url: httpx2.URL, body: object, check: Check | None, xml: bool = False) -> Payload:
        async def once() -> Payload:
            raw, headers = await self._once(method, url, body)
            kind, wanted = headers.get("content-type", "no type").partition(";")[0], "XML" if xml else "JSON"
            try:
                if xml and "html" in kind:  # a page may be well-formed
                    raise ValueError(kind)
                found = await asyncio.to_thread(Payload.parse_xml, raw) if xml else Payload.parse(raw, self.manners.max_values)
            except ValueError as problem:
                what = f"that can be read ({problem})" if wanted.lower() in kind else f"but with {kind}"
                raise self.error(f"{url.host} did not answer with {wanted} {what}") from None
            if check is not None:
                check(found, headers)
            return found

        return await self._patiently(url.host, once)

    async def _patiently(self, host: str, once: Callable[[], Awaitable[T]]) -> T:
        m = self.manners
        retries = stamina.retry_context(
            on=self._try_again,
            attempts=m.attempts,
            timeout=m.attempts * (m.timeout + m.patience),
            wait_initial=m.back_off,
            wait_jitter=m.back_off,
        )
        async for attempt in retries:
            with attempt:
                try:
                    return await once()
                except SourceBusy as problem:  # what one request is told about waiting holds for all to that host
                    self._pace(host).hold(min(problem.retry_after or 0.0, m.patience))
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _try_again(self, problem: Exception) -> bool | float:
        if isinstance(problem, SourceBusy):
            wait = problem.retry_after
            return True if wait is None else (wait if wait <= self.manners.patience else False)
        return isinstance(problem, Unreachable)

    async def _once(self, method: str, url: httpx2.URL, body: object) -> tuple[bytes, Mapping[str, str]]:
        client = await self._ready()
        for _ in range(_MAX_REDIRECTS + 1):
            async with self._pace(url.host).turn():
                response, raw = await self._exchange(client.build_request(method, url, json=body), client)
            location = transport.redirect_of(response)
            if not location or method != "GET":
                self._judge(response, raw, url)
                return raw, response.headers
            url = self._redirected(url, location)
        raise self.error(f"{url.host} redirects in a circle")

    async def _exchange(self, request: httpx2.Request, client: httpx2.AsyncClient) -> tuple[httpx2.Response, bytes]:
        m, host = self.manners, request.url.host
        request.extensions.update(transport.with_keys(request.url, self.keys))
        try:
            async with asyncio.timeout(m.timeout):
                response = await client.send(request, stream=True)
                try:
                    most = m.max_bytes if response.status_code < 300 else min(m.max_bytes, transport.MOST_COMPLAINT)
                    raw = await transport.body_of(response, most)
                finally:
                    await response.aclose()
        except TimeoutError:
            slow = f"{host} gave no answer within {m.timeout:g} s"
            raise self.error(slow, Unreachable if m.slow_again else SourceError) from None
        except httpx2.HTTPError as problem:
            raise self.error(f"{host} cannot be reached: {problem or type(problem).__name__}", Unreachable) from None
        if len(raw) > m.max_bytes:
            raise self.error(f"{host} sent more than {m.max_bytes:,} bytes")
        return response, raw if len(raw) <= most else b""

    def _judge(self, response: httpx2.Response, raw: bytes, url: httpx2.URL) -> None:
        status = response.status_code
        if status < 300:
            return
        try:
            answer = Payload.parse(raw)
        except ValueError:
            answer = Payload(None)
        said = complaint(answer)
        message = f"{said} (HTTP {status})" if said else f"{url.host} answered with HTTP {status}"
        if status in self.manners.passing and answer.text("error", "code") != _SPENT:
            raise self.busy(message, retry_after(response.headers))
        if status in (401, 403) and self.key_name:
            message += f"; is {self.key_name} right?"
        raise Refused(self.owner, self._clean(message), status)

    def _redirected(self, url: httpx2.URL, location: str) -> httpx2.URL:
        """Only within the host that was configured: a service does not choose whom we talk to."""
        try:
            target = url.join(location)
        except httpx2.InvalidURL:
            raise self.error(f"{url.host} redirects to something that is no address") from None
        upgrade = (url.scheme, target.scheme, url.port, target.port) == ("http", "https", None, None)
        if target.host == url.host and (upgrade or transport.origin_of(target) == transport.origin_of(url)):
            return target
        raise self.error(f"{url.host} redirects to {target.scheme}://{target.host}; configure that address if you trust it")

    async def _ready(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # connections belong to the loop that opened them
            await transport.prepare()
        if self._client is None or self._loop is not loop:
            file = cache_folder("http", self.kit.environ) / "http.db" if self.kit.cache else None
            way = transport.cached(transport.Keyed(transport.Proxied()), file)
            headers = {"User-Agent": user_agent(self.kit.environ), "Accept": "application/json, application/xml;q=0.9"}
            self._client = httpx2.AsyncClient(transport=way, headers=headers, timeout=None)
            self._loop, self._paces = loop, {}
        return self._client

    def _pace(self, host: str) -> Pace:
        if host not in self._paces:
            self._paces[host] = Pace(self.manners.concurrency, self.manners.interval)
        return self._paces[host]

    def _url(self, url: str, params: Params | None) -> httpx2.URL:
        try:
            address = httpx2.URL(url)
        except httpx2.InvalidURL as problem:
            raise UsageError(f"{self.owner}: {url!r} is not an address: {problem}") from None
        given = {name: str(value) for name, value in (params or {}).items() if value is not None}
        return address.copy_merge_params(given) if given else address

    def _clean(self, message: str) -> str:
        return told(message, (secret for value in self.keys.values() for secret in secrets(value)))
