"""The SSRF guard: which addresses may be fetched.

Addresses found in results and pages come from strangers. A URL is checked before it is asked for, and
again after every redirect; a host's addresses are looked up once, checked, and the one connected to is
one of those that were checked. A name that answers with another address a moment later gains nothing.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx2

from wellread.errors import Blocked
from wellread.net.address import LOCAL_ZONES

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

PORTS = frozenset({80, 443, 8000, 8008, 8080, 8443, 8888})
_DEFAULT_PORT = {"http": 80, "https": 443}

# What `is_global` of some Python version lets through, and addresses of machines that clouds keep for themselves.
_NOT_PUBLIC_V4 = tuple(map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/4", "168.63.129.16/32")))
_PUBLIC_V6 = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16")))
_NAT64 = IPv6Network("64:ff9b::/96")

# Threads of their own: names whose servers never answer would hold all those that the rest of the program shares.
_LOOKING = ThreadPoolExecutor(16, thread_name_prefix="wellread-names")

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def port_of(url: httpx2.URL) -> int:
    """The port that is connected to; 0 where the scheme has none."""
    return _DEFAULT_PORT.get(url.scheme, 0) if url.port is None else url.port


def is_public(address: Address) -> bool:
    """Can strangers be there, and nobody else?"""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _NOT_PUBLIC_V4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:  # how networks without IPv4 reach it; what counts is where it leads
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _PUBLIC_V6 and address.is_global and not any(address in network for network in _NOT_PUBLIC_V6)


def is_near(address: str, own: tuple[str, int] | None) -> bool:
    """Whether an address is this machine's own, or in its network: with IPv6 those are public, and a firewall that keeps
    strangers from them does not keep us. `own` is this end of a connection to it."""
    there, here = _literal(address), _literal(own[0] if own else "")
    if isinstance(there, IPv6Address) and isinstance(here, IPv6Address):
        return int(there) >> 64 == int(here) >> 64
    return there is not None and there == here


async def resolve(host: str, port: int) -> Sequence[str]:
    """The system's answer for a name."""
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    found = await asyncio.get_running_loop().run_in_executor(_LOOKING, look)
    return [str(entry[4][0]) for entry in found]


class Guard:
    """The rules. `allow_hosts` names one's own hosts, as `host` or `host:port`; these may be anywhere."""

    def __init__(self, allow_hosts: Iterable[str] = (), *, ports: Iterable[int] = PORTS, resolver: Resolver = resolve) -> None:
        self._allowed = frozenset(_plain(host) for host in allow_hosts)
        self._ports = frozenset(ports)
        self._resolver = resolver

    def check(self, url: str) -> httpx2.URL:
        """The URL, taken apart and found harmless as far as its text tells; raises `Blocked`."""
        if not url.isprintable() or "\\" in url or " " in url:
            raise Blocked(_shown(url), "not a proper address")
        try:
            parsed = httpx2.URL(url)
            host, port = parsed.raw_host.decode("ascii"), port_of(parsed)
        except (httpx2.InvalidURL, ValueError) as error:
            raise Blocked(_shown(url), f"not a proper address ({error})") from error
        if parsed.scheme not in _DEFAULT_PORT:
            raise Blocked(_shown(url), "only http and https are read")
        if parsed.userinfo:
            raise Blocked(_shown(url), "an address with a user name in it")
        self._check_host(host, port, url)
        return parsed

    def allows(self, host: str, port: int) -> bool:
        """Is it one of the operator's own?"""
        host = _plain(host)
        return host in self._allowed or f"{host}:{port}" in self._allowed

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Where a host may be connected to. One bad address spoils the answer: that is how names are rebound."""
        own = self.allows(host, port)
        if not own:
            self._check_host(host, port, host)
        literal = _literal(host)
        found = [str(literal)] if literal is not None else list(await self._resolver(host, port))
        if not own:
            for address in found:
                if (known := _literal(address)) is None or not is_public(known):
                    raise Blocked(host, f"{address} is not a public address{_HOW_TO_ALLOW}")
        if not found:
            raise Blocked(host, "the name has no address")
        return list(dict.fromkeys(found))

    def _check_host(self, host: str, port: int, url: str) -> None:
        if self.allows(host, port):
            return
        if port not in self._ports:
            raise Blocked(_shown(url), f"port {port} is not one that pages are served on{_HOW_TO_ALLOW}")
        literal = _literal(host)
        if literal is not None:
            if not is_public(literal):
                raise Blocked(_shown(url), f"{host} is not a public address{_HOW_TO_ALLOW}")
        elif not _is_public_name(host):
            raise Blocked(_shown(url), f"{host or 'nothing'} is not a public host name{_HOW_TO_ALLOW}")


_HOW_TO_ALLOW = " (to read your own hosts, name them in allow_hosts)"


def _shown(url: str) -> str:
    return url if len(url) <= 200 else url[:200] + "…"


def _plain(host: str) -> str:
    """Lower case; IPv6 without its brackets, unless a port follows."""
    host = host.strip().lower()
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host.replace("[", "").replace("]", "")


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _is_public_name(host: str) -> bool:
    """A name with a dot, in letters that need no second look, outside the zones kept for local use."""
    if len(host) > 253 or not host.isascii():
        return False
    labels = host.removesuffix(".").lower().split(".")
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    return labels[-1] not in LOCAL_ZONES and not _NUMBER.fullmatch(labels[-1])
