"""HTTP transports (proxies, keys, cache, guard) below the clients: layers that are combined.

    a service that the operator configured     cache ─► keys ─► network, through the environment's proxies
    an address that a stranger wrote           cache ─► network that the guard watches

Keys are added under the cache, so that they are never written to disk, and only for the origin they
belong to. Cached answers of a service with a key are kept apart per key, by a hash of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import ssl
import urllib.request
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import httpcore2
import httpx2

from wellread.core.private_files import private_folder
from wellread.errors import Blocked, UsageError
from wellread.net.address import is_loopback
from wellread.net.guard import Guard, is_near, port_of

CACHE_BYTES = 256 * 1024 * 1024
MOST_COMPLAINT = 64 * 1024  # bytes of a reply that says what went wrong; the rest is not read
_SIP = 8 * 1024
_KEYS = "wellread.keys"
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]{1,40})", re.IGNORECASE)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PACKED = re.compile(r"\b(?:gzip|deflate|br|zstd)\b", re.IGNORECASE)

# Both libraries log what the caller is told anyway; without a handler Python would print it.
for _name in ("stamina", "hishel"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class TooMuch(httpcore2.RemoteProtocolError):
    """A server sends more than anybody has asked for."""


class Sipped(httpcore2.AsyncNetworkStream):
    """A connection that is read in small pieces: the parser of HTTP gives nobody else a turn until it is through with one, and
    whoever sends chunks of one byte, or `100 Continue` again and again, gives it much to do. `most`: bytes of one answer."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream, most: int | None = None) -> None:
        self._inner = inner
        self._most = most
        self._read = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 (the library's signature)
        piece = await self._inner.read(min(max_bytes, _SIP), timeout)
        self._read += len(piece)
        if self._most is not None and self._read > self._most:
            raise TooMuch("its reply does not end")
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self._read = 0
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        return Sipped(await self._inner.start_tls(ssl_context, server_hostname, timeout), self._most)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connections that are read in small pieces; with a guard to addresses that it has passed, and to no others."""

    def __init__(
        self, guard: Guard | None, network: httpcore2.AsyncNetworkBackend | None = None, *, most: int | None = None
    ) -> None:
        self._guard, self._most = guard, most
        self._network = network or cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await self._guard.addresses(host, port) if self._guard else [host]
        except OSError as error:
            raise httpcore2.ConnectError(f"the name {host} is not known ({error})") from error
        problem: Exception | None = None
        for address in addresses:
            try:
                stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
                continue
            strange = self._guard is not None and not self._guard.allows(host, port)
            if not strange or not is_near(address, stream.get_extra_info("client_addr")):
                return Sipped(stream, self._most)
            await stream.aclose()
            raise Blocked(host, f"{address} is on this machine's own network")
        raise problem or httpcore2.ConnectError(f"no way to {host}")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class Direct(httpx2.AsyncHTTPTransport):
    """HTTP in small pieces, through one proxy or none. `most`: bytes of one answer, with all that comes before and after it.

    With a guard over its network, and then without a proxy, which would look up names by itself.
    """

    def __init__(
        self, most: int | None = None, proxy: httpx2.Proxy | None = None, guard: Guard | None = None, connections: int = 100
    ) -> None:
        kept: dict[str, Any] = {
            "ssl_context": _trust(),
            "max_connections": connections,
            "max_keepalive_connections": connections if guard else 20,
            "keepalive_expiry": 15.0 if guard else 5.0,
            "network_backend": GuardedNetwork(guard, most=most),
        }
        if proxy is None:
            self._pool = httpcore2.AsyncConnectionPool(**kept)
            return
        way = proxy.url
        self._pool = httpcore2.AsyncHTTPProxy(
            proxy_url=httpcore2.URL(scheme=way.raw_scheme, host=way.raw_host, port=way.port, target=way.raw_path),
            proxy_auth=proxy.raw_auth,
            **kept,
        )


class Proxied(httpx2.AsyncBaseTransport):
    """HTTP through the environment's proxies, which are never used for this machine. `most`: as for `Direct`."""

    def __init__(self, most: int | None = None) -> None:
        self._direct = Direct(most)
        named = urllib.request.getproxies()  # NO_PROXY is among them
        self._proxied = {kind: _through(kind, named[kind], most) for kind in ("http", "https", "all") if kind in named}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        proxied = self._proxied.get(request.url.scheme) or self._proxied.get("all")
        if proxied is None or is_loopback(request.url.host) or urllib.request.proxy_bypass(request.url.host):
            return await self._direct.handle_async_request(request)
        return await proxied.handle_async_request(request)

    async def aclose(self) -> None:
        for transport in (self._direct, *self._proxied.values()):
            await transport.aclose()


def _through(kind: str, address: str, most: int | None) -> httpx2.AsyncHTTPTransport:
    """The address may hold a password: what is wrong with it is said without it."""
    try:
        proxy = httpx2.Proxy(address if "://" in address else f"http://{address}")
    except (ValueError, httpx2.InvalidURL):
        proxy = None
    if proxy is None or not proxy.url.host or (proxy.url.port or 0) > 65535:
        raise UsageError(f"{kind.upper()}_PROXY in the environment is not the address of a proxy, like http://127.0.0.1:3128")
    if proxy.url.scheme in ("http", "https"):
        return Direct(most, proxy)
    try:
        return httpx2.AsyncHTTPTransport(verify=_trust(), proxy=proxy)
    except ImportError:
        raise UsageError(f"{kind.upper()}_PROXY in the environment needs a package: `pip install socksio`") from None


class Keyed(httpx2.AsyncBaseTransport):
    """Gives a request the keys it carries (see `with_keys`), if it goes to their origin: as headers; those called `?name` as
    parameters."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        origin, keys = request.extensions.get(_KEYS, ("", {}))
        plain, place = request.headers, request.url
        if origin_of(place) == origin:
            headers = {name: value for name, value in keys.items() if not name.startswith("?")}
            request.headers = httpx2.Headers([*plain.raw, *httpx2.Headers(headers).raw])
            if asked := {name[1:]: value for name, value in keys.items() if name.startswith("?")}:
                request.url = place.copy_merge_params(asked)
        try:
            return await self._inner.handle_async_request(request)
        finally:
            request.headers, request.url = plain, place

    async def aclose(self) -> None:
        await self._inner.aclose()


def with_keys(url: httpx2.URL, keys: Mapping[str, str]) -> dict[str, object]:
    """The extensions of a request: its keys, and the name of its place in the cache."""
    if not keys:
        return {}
    identity = "\0".join([*(f"{name}={value}" for name, value in sorted(keys.items())), str(url)])
    return {_KEYS: (origin_of(url), dict(keys)), "caching": {"key": hashlib.sha256(identity.encode()).hexdigest()}}


def of_own_host(url: httpx2.URL) -> dict[str, object]:
    """The extensions of a request to a host of the operator's: what it says is kept for those alone who may ask it."""
    return {"caching": {"key": hashlib.sha256(f"own\0{url}".encode()).hexdigest()}}


def origin_of(url: httpx2.URL) -> str:
    """Scheme, host and port: what a key belongs to."""
    return f"{url.scheme}://{url.host}:{port_of(url)}"


async def prepare() -> None:
    """Load the cache and the certificates beside the event loop: that takes a tenth of a second the first time."""

    def load() -> None:
        import hishel.httpx2  # noqa: F401 # pyright: ignore[reportUnusedImport]

        _trust()

    await asyncio.to_thread(load)


@cache
def _trust() -> ssl.SSLContext:
    """Reading all certificates takes longer than a request: once is enough for all."""
    return httpx2.create_ssl_context()


def cached(transport: httpx2.AsyncBaseTransport, file: Path | None) -> httpx2.AsyncBaseTransport:
    """With a file to keep answers in, what Cache-Control lets a private cache keep."""
    if file is None or not _is_usable(file.parent):
        return transport
    from hishel import CacheOptions
    from hishel.httpx2 import AsyncCacheTransport

    from wellread.net.http_cache import HttpCache

    storage = HttpCache(database_path=file, max_size=CACHE_BYTES)
    options = CacheOptions(shared=False, supported_methods=["GET"], allow_stale=False)
    return AsyncCacheTransport(transport, storage=storage, rfc=options)


def _is_usable(folder: Path) -> bool:
    """No place for a cache is no reason to fail: it works without."""
    try:
        return os.access(private_folder(folder), os.W_OK | os.X_OK)
    except OSError:
        return False


def redirect_of(response: httpx2.Response) -> str:
    """Where a response sends us; empty if nowhere."""
    return response.headers.get("location", "").strip() if response.status_code in _REDIRECTS else ""


def charset_of(headers: Mapping[str, str]) -> str | None:
    """The charset that Content-Type names; it need not exist."""
    found = _CHARSET.search(headers.get("content-type", ""))
    return found[1] if found else None


async def body_of(response: httpx2.Response, limit: int) -> bytes:
    """The body as unpacked, or one byte more than the limit of it; others have their turn after each piece.

    What is packed in packed form is not unpacked: ten kilobytes of that can stand for gigabytes that say nothing.
    """
    if len(_PACKED.findall(response.headers.get("content-encoding", ""))) > 1:
        raise httpx2.DecodingError("the body is packed more than once", request=response.request)
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part[: limit + 1 - len(body)]
        if len(body) > limit:
            break
        await asyncio.sleep(0)
    return bytes(body)
