"""The network below the HTTP client: it goes only where the guard lets it, and keeps what it may on disk.

client ─► cache ─► connections ─► guarded network
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from functools import cache
from pathlib import Path
from typing import cast

import httpcore2
import httpx2

from wellread.errors import Blocked
from wellread.net.guard import Guard

CACHE_BYTES = 256 * 1024 * 1024

# It logs what the caller is told anyway; without a handler Python would print it.
logging.getLogger("hishel").addHandler(logging.NullHandler())


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that a guard has passed, and to no others."""

    def __init__(self, guard: Guard, network: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        self._network = network or cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the library's signature)
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await self._guard.addresses(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(f"the name {host} is not known ({error})") from error
        problem: Exception | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
        raise problem or httpcore2.ConnectError(f"no way to {host}")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise Blocked(path, "sockets of this machine are not read")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, stream: AsyncIterable[bytes]) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


@cache
def _certificates() -> ssl.SSLContext:
    """The authorities we trust; once is enough."""
    return httpx2.create_ssl_context()


def prepare() -> None:
    """What takes a tenth of a second the first time and so must not happen on an event loop."""
    import hishel.httpx2  # noqa: F401 # pyright: ignore[reportUnusedImport]

    _certificates()


class GuardedTransport(httpx2.AsyncBaseTransport):
    """HTTP over a guarded network; no proxies, which would look up names by themselves."""

    def __init__(self, guard: Guard, *, connections: int) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_certificates(),
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=15.0,
            network_backend=GuardedNetwork(guard),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        response = await self._pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                extensions=request.extensions,
            )
        )
        assert isinstance(response.stream, AsyncIterable)
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response.stream),
            extensions=cast("dict[str, object]", response.extensions),
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


def build(guard: Guard, folder: Path | None, *, connections: int) -> httpx2.AsyncBaseTransport:
    """The transport of a client; with a folder for a cache it obeys Cache-Control as a private cache."""
    transport = GuardedTransport(guard, connections=connections)
    if folder is None or not _is_usable(folder):
        return transport
    from hishel import AsyncSqliteStorage, CacheOptions
    from hishel.httpx2 import AsyncCacheTransport

    storage = AsyncSqliteStorage(database_path=folder / "pages.db", max_size=CACHE_BYTES)
    options = CacheOptions(shared=False, supported_methods=["GET"], allow_stale=False)
    return AsyncCacheTransport(transport, storage=storage, rfc=options)


def cache_folder() -> Path:
    """Where pages are kept: `WELLREAD_CACHE_DIR`, else the user's cache folder."""
    if named := os.environ.get("WELLREAD_CACHE_DIR"):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("wellread") / "http"


def _is_usable(folder: Path) -> bool:
    """No place for a cache is no reason to fail: it works without."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
