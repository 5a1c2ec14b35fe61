"""Where a request comes from: which Host and Origin it may carry (against DNS rebinding and other sites), and whose it is."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from wellread.net.address import is_loopback
from wellread.server.options import ServerOptions

_ONE_CLIENT = 64  # bits of an IPv6 address that say whose it is
_SAFE = ("GET", "HEAD", "OPTIONS")


def hosts(options: ServerOptions) -> frozenset[str]:
    """The names under which the server answers, besides addresses."""
    names = {"localhost", *(name.lower() for name in options.allowed_hosts)}
    if not options.local:
        names |= {socket.gethostname().lower(), options.host.lower()}
    return frozenset(names)


def host_allowed(header: str, names: frozenset[str], *, local: bool) -> bool:
    """A rebound name is never an address: other addresses than loopback are fine where others may come at all."""
    name = _name(header)
    if name is None:
        return False
    if name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return is_loopback(name) or not local


def origin_allowed(method: str, host: str, headers: Mapping[str, str]) -> bool:
    """The page's own origin, or a client that is no browser (it says nothing of this). What another site leads to is shown; what
    it takes into a page of its own, a frame of it too, is not: how long it took to come would tell what was asked here."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None:
        return _netloc(origin) == host.lower()
    if site in (None, "same-origin", "none"):
        return True
    whole = headers.get("sec-fetch-dest", "document") == "document"
    return method in _SAFE and headers.get("sec-fetch-mode") == "navigate" and whole


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() if "://" in origin else None
    except ValueError:  # brackets that hold no address
        return None


def client(host: str) -> str:
    """Whom a limit counts: an address; of IPv6 the network, all of which one client has."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4 or address.ipv4_mapped:
        return str(address.ipv4_mapped if address.version == 6 else address)
    return str(ipaddress.ip_network((address, _ONE_CLIENT), strict=False))


def _name(header: str) -> str | None:
    """The host without its port; None when it is no host, or one with a user's name before it."""
    try:
        parts = urlsplit(f"//{header}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    return name.lower().rstrip(".") if name and parts.netloc == header and "@" not in header else None
