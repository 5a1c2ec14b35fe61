"""Who may come in: the Host and Origin of a request (against DNS rebinding and other sites), whose it is, and its token, as a
bearer or as a signed cookie that stands for it in a browser."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from wellread.net.address import is_loopback
from wellread.server.options import ServerOptions

_ONE_CLIENT = 64  # bits of an IPv6 address that say whose it is
_SAFE = ("GET", "HEAD", "OPTIONS")
COOKIE = "wellread_session"
_DAYS = 30


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


def account(options: ServerOptions, peer: str, headers: Headers) -> str | None:
    """The user that a trusted proxy names. One name: what a client adds to the proxy's own would else be taken for it."""
    if options.user_header is None or not _is_proxy(peer, options.proxies):
        return None
    names = headers.getlist(options.user_header)
    return names[0].strip() or None if len(names) == 1 else None


def _is_proxy(peer: str, proxies: Iterable[str]) -> bool:
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in ipaddress.ip_network(network) for network in proxies)


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


@dataclass(slots=True)
class Access:
    """Checks credentials in constant time. Without a token everybody on this machine may come in.

    Nobody is locked out for wrong tokens, their own or those of others at the same address: a token is too long to be guessed.
    """

    token: str | None

    def allowed(self, authorization: str, cookies: str) -> bool:
        if self.token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return True
        return self._is_session(_cookie(cookies))

    def is_token(self, given: str) -> bool:
        """Compare digests: neither length nor prefix can be measured."""
        if self.token is None:
            return True
        return hmac.compare_digest(_digest(given), _digest(self.token))

    def cookie(self, *, secure: bool) -> str:
        """A `Set-Cookie` value: an expiry and its signature, not the token."""
        expiry = str(int(time.time()) + _DAYS * 86_400)
        value = f"{expiry}.{self._sign(expiry)}"
        tail = "; Secure" if secure else ""
        return f"{COOKIE}={value}; Path=/; Max-Age={_DAYS * 86_400}; HttpOnly; SameSite=Lax{tail}"

    def _is_session(self, value: str) -> bool:
        expiry, _, signature = value.partition(".")
        right = hmac.compare_digest(signature.encode(), self._sign(expiry).encode())
        return right and expiry.isdecimal() and int(expiry) > time.time()

    def _sign(self, text: str) -> str:
        key = _digest("wellread session " + (self.token or ""))
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _cookie(header: str) -> str:
    """Ours among the cookies of a request."""
    pairs = (pair.partition("=") for pair in header.split(";"))
    return next((value.strip() for name, _, value in pairs if name.strip() == COOKIE), "")
