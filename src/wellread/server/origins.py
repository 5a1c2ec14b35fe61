"""Which Host and Origin a request may carry: against DNS rebinding and requests forged by other sites."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from wellread.net.address import is_loopback
from wellread.server.options import ServerOptions

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


def origin_allowed(method: str, host: str, origin: str | None, fetch_site: str | None) -> bool:
    """The page's own origin, or a client that is no browser (it sends neither header)."""
    if origin is not None:
        parts = urlsplit(origin) if "://" in origin else None
        return parts is not None and parts.netloc.lower() == host.lower()
    if method in _SAFE:
        return True
    return fetch_site in (None, "same-origin", "none")


def _name(header: str) -> str | None:
    """The host without its port; None when it is no host."""
    try:
        parts = urlsplit(f"//{header}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    return name.lower().rstrip(".") if name and parts.netloc == header else None
