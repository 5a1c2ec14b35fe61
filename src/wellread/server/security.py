"""Security middleware (ASGI): security headers, Host and Origin checks, body size, authentication, faults, access log.

Who may come in: the Host and Origin of a request (against DNS rebinding and other sites), whose it is, and its token, as a bearer
or as a signed cookie that stands for it in a browser.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
import secrets
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.net.address import is_loopback
from wellread.server import limits, logs, openai_format
from wellread.server.metrics import Metrics
from wellread.server.options import ServerOptions
from wellread.server.viewer import COLLECTIONS

MAX_HEAD = 16 * 1024  # bytes of a request's first line and headers
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CSP,
    "Cache-Control": "private, no-cache",  # a cache that several share must not show one what another was shown
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # no-referrer would make browsers hide the origin of our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_OPEN = ("/healthz", "/login", "/favicon.ico")
_BODY_SECONDS = 30.0
_LOGIN, _LOGIN_SECONDS = 4_000, 5.0  # bytes of a body that anybody may send, and the time for it
_SHOWN = 200  # characters of a path in the log
_DOCUMENTS = re.compile(rf"(?:/api)?{COLLECTIONS}(?:/[^/]+/documents)?")
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
    address = _ip(peer)
    return address is not None and any(address in ipaddress.ip_network(network) for network in proxies)


def client(host: str) -> str:
    """Whom a limit counts: an address; of IPv6 the network, all of which one client has."""
    address = _ip(host)
    if address is None:
        return host
    return str(address if address.version == 4 else ipaddress.ip_network((address, _ONE_CLIENT), strict=False))


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address of a peer, that of IPv4 which one of IPv6 may stand for; None where it is none."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


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
        expiry, _, signature = _cookie(cookies).partition(".")
        right = hmac.compare_digest(signature.encode(), self._sign(expiry).encode())
        return right and expiry.isdecimal() and int(expiry) > time.time()

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

    def _sign(self, text: str) -> str:
        key = _digest("wellread session " + (self.token or ""))
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _cookie(header: str) -> str:
    """Ours among the cookies of a request."""
    pairs = (pair.partition("=") for pair in header.split(";"))
    return next((value.strip() for name, _, value in pairs if name.strip() == COOKIE), "")


@dataclass(slots=True)
class Wall:
    """Everything that is refused is refused here, before any route sees it."""

    app: ASGIApp
    options: ServerOptions
    access: Access
    names: frozenset[str]
    metrics: Metrics
    lines: limits.Lines = field(default_factory=limits.Lines)  # before the threads that all clients share

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.monotonic()
        limits.turn.set(lambda: self.lines.turn(address(scope)))
        status, seldom = 0, "stranger" if _is_open(scope["path"]) else None

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            refused = self._refusal(scope)
            if refused is None and (account := scope.get("account")):  # who may come in is taken to what is theirs
                scope["service"] = await scope["app"].state.service.of_account(account)
            seldom = "refused" if refused is not None else seldom
            body = refused or await self._body(scope, receive)
            if isinstance(body, Response):
                await body(scope, receive, sending)
            else:
                await self.app(scope, body, sending)
        except Exception as problem:
            fault = secrets.token_hex(4)
            logs.fault("request failed", problem, fault=fault)
            if not status:
                answer = error(scope["path"], 500, f"something went wrong here (fault {fault})")
                await answer(scope, receive, sending)
        finally:
            method, seconds = scope["method"], round(time.monotonic() - begun, 4)
            self.metrics.responses[method if method in _METHODS else "other", status] += 1
            logs.info("request", seldom=seldom, method=method, path=scope["path"][:_SHOWN], status=status, seconds=seconds)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why nobody may come in like this; a user's name is noted where one may."""
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD:
            return error(path, 431, f"the headers are too long: at most {MAX_HEAD:,} bytes")
        host = headers.get("host", "")
        if not host_allowed(host, self.names, local=self.options.local):
            return error(path, 421, "this server does not answer under that name")
        if not origin_allowed(method, host, headers):
            return error(path, 403, "requests from other sites are not allowed")
        if _is_open(path):
            return None
        if user := account(self.options, str((scope.get("client") or ("",))[0]), headers):
            scope["account"] = user
            return None
        named = self.options.user_header is not None and self.options.token is None
        if not named and self.access.allowed(headers.get("authorization", ""), headers.get("cookie", "")):
            return None
        if named:
            return error(path, 401, "this server is reached through a proxy that names its users")
        if "text/html" in headers.get("accept", "") and method == "GET":
            return RedirectResponse(f"/login?next={quote(path, safe='/')}", 303)
        refusal = error(path, 401, "a token is needed: Authorization: Bearer …")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal

    async def _body(self, scope: Scope, receive: Receive) -> Receive | Response:
        """The whole body, so that nothing further in can be made to wait for it or to hold too much; documents as they come."""
        # The framework's own reader of forms in parts decodes with any codec that the client names, some of which take quadratic
        # time, and keeps files on the disk for nobody: only `intake` reads them, and for it they may be larger than other bodies.
        if Headers(scope=scope).get("content-type", "").strip().lower().startswith("multipart/"):
            documents = scope["method"] == "POST" and _DOCUMENTS.fullmatch(scope["path"])
            if documents and self.options.takes_documents:
                return receive
            return error(scope["path"], 415, "forms with files are taken for documents only")
        most, seconds = (_LOGIN, _LOGIN_SECONDS) if _is_open(scope["path"]) else (self.options.max_body, _BODY_SECONDS)
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > most:
            return _too_large(scope["path"], most)
        body = bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for piece in Request(scope, receive).stream():
                    body += piece
                    if len(body) > most:
                        return _too_large(scope["path"], most)
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            return error(scope["path"], 408, "the request came too slowly")
        return _replay(bytes(body), receive)


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def address(scope: Scope) -> str:
    """Whom limits count: a user by name, others by their address."""
    if account := scope.get("account"):
        return f"user {account}"
    return client(str((scope.get("client") or ("?",))[0]))


def _is_open(path: str) -> bool:
    """Whether strangers may see it."""
    return path in _OPEN or path.startswith("/static/")


def error(path: str, status: int, message: str) -> Response:
    """In a program's dialect: OpenAI's shape under /v1, else `{"error": …}`."""
    return openai_format.error(status, message) if path.startswith("/v1/") else JSONResponse({"error": message}, status)


def _too_large(path: str, most: int) -> Response:
    return error(path, 413, f"the request is too large: at most {most:,} bytes")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand the body over once, then whatever the client does next (it leaves)."""
    given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return given.pop() if given else await receive()

    return again
