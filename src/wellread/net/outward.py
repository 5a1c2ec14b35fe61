"""Below the client: keys, proxies and the cache on disk.

    client ─► cache ─► keys ─► network

Keys are added under the cache, so that they are never written to disk, and only for the origin they
belong to. Cached answers of a service with a key are kept apart per key, by a hash of it.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
import urllib.request
from collections.abc import Mapping
from functools import cache
from ipaddress import ip_address
from pathlib import Path

import httpx2

CACHE_BYTES = 256 * 1024 * 1024
_EXTENSION = "wellread.keys"

# Both libraries log what the caller is told anyway; without a handler Python would print it.
for _name in ("stamina", "hishel"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Outward(httpx2.AsyncBaseTransport):
    """The network, through the environment's proxies, with the keys of the request's origin."""

    def __init__(self) -> None:
        self._direct = httpx2.AsyncHTTPTransport(verify=_trust())
        self._proxied = {
            scheme: httpx2.AsyncHTTPTransport(verify=_trust(), proxy=address)
            for scheme, address in urllib.request.getproxies().items()
            if scheme in ("http", "https")
        }

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        origin, headers = request.extensions.get(_EXTENSION, ("", {}))
        if headers and origin_of(request.url) == origin:
            plain = request.headers
            request.headers = httpx2.Headers([*plain.raw, *httpx2.Headers(headers).raw])
            try:
                return await self._way(request.url).handle_async_request(request)
            finally:
                request.headers = plain
        return await self._way(request.url).handle_async_request(request)

    async def aclose(self) -> None:
        for transport in (self._direct, *self._proxied.values()):
            await transport.aclose()

    def _way(self, url: httpx2.URL) -> httpx2.AsyncHTTPTransport:
        proxied = self._proxied.get(url.scheme)
        if proxied is None or _is_local(url.host) or urllib.request.proxy_bypass(url.host):
            return self._direct
        return proxied


@cache
def _trust() -> ssl.SSLContext:
    """Reading all certificates takes longer than a request: once is enough for all sources."""
    return httpx2.create_ssl_context()


def origin_of(url: httpx2.URL) -> str:
    """Scheme, host and port: what a key belongs to."""
    return f"{url.scheme}://{url.host}:{url.port or {'http': 80, 'https': 443}.get(url.scheme)}"


def extensions(url: httpx2.URL, keys: Mapping[str, str]) -> dict[str, object]:
    """What a request carries besides its headers: its keys and the name of its place in the cache."""
    if not keys:
        return {}
    identity = "\0".join([*(f"{name}={value}" for name, value in sorted(keys.items())), str(url)])
    return {
        _EXTENSION: (origin_of(url), dict(keys)),
        "caching": {"key": hashlib.sha256(identity.encode()).hexdigest()},
    }


def build(folder: Path | None) -> httpx2.AsyncBaseTransport:
    """The transport of a client; with a cache it obeys Cache-Control as a private cache."""
    if folder is None or not _usable(folder):
        return Outward()
    from hishel import AsyncSqliteStorage, CacheOptions
    from hishel.httpx2 import AsyncCacheTransport

    storage = AsyncSqliteStorage(database_path=folder / "http.db", max_size=CACHE_BYTES)
    options = CacheOptions(shared=False, supported_methods=["GET"], allow_stale=False)
    return AsyncCacheTransport(Outward(), storage=storage, rfc=options)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where answers of services are kept: `WELLREAD_CACHE_DIR`, else the user's cache folder."""
    if named := environ.get("WELLREAD_CACHE_DIR"):
        return Path(named)
    from platformdirs import user_cache_path

    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) / "wellread" if base else user_cache_path("wellread")) / "http"


def _usable(folder: Path) -> bool:
    """No place for a cache is no reason to fail: it works without."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
