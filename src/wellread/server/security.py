"""The wall around the application, as one ASGI layer: headers, Host, Origin, size, token, faults, log line."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread.server import logs, openai_format, origins
from wellread.server.addresses import COLLECTIONS
from wellread.server.connections import MAX_HEAD
from wellread.server.metrics import Metrics
from wellread.server.options import ServerOptions
from wellread.server.origins import Access

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
_DOCUMENTS = re.compile(rf"(?:/api)?{COLLECTIONS}(?:/[^/]+/documents)?")


@dataclass(slots=True)
class Wall:
    """Everything that is refused is refused here, before any route sees it."""

    app: ASGIApp
    options: ServerOptions
    access: Access
    names: frozenset[str]
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.monotonic()
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
            refused = await self._enter(scope)
            if refused is not None:
                seldom = "refused"
                await refused(scope, receive, sending)
                return
            if _is_multipart(scope):
                if not self._takes_documents(scope):
                    await _error(scope["path"], 415, "forms with files are taken for documents only")(scope, receive, sending)
                    return
                await self.app(scope, _counted(receive, self.options.max_upload), sending)
                return
            body = await self._body(scope, receive)
            if isinstance(body, Response):
                await body(scope, receive, sending)
                return
            await self.app(scope, _replay(body, receive), sending)
        except Exception as problem:
            fault = secrets.token_hex(4)
            logs.fault("request failed", problem, fault=fault)
            if not status:
                answer = _error(scope["path"], 500, f"something went wrong here (fault {fault})")
                await answer(scope, receive, sending)
        finally:
            self._log(scope, status, time.monotonic() - begun, seldom)

    async def _enter(self, scope: Scope) -> Response | None:
        """Why not; a user who may come in is taken to what is theirs."""
        refused = self._refusal(scope)
        if refused is None and (account := scope.get("account")):
            scope["service"] = await scope["app"].state.service.of_account(account)
        return refused

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEAD:
            return _error(path, 431, f"the headers are too long: at most {MAX_HEAD:,} bytes")
        host = headers.get("host", "")
        if not origins.host_allowed(host, self.names, local=self.options.local):
            return _error(path, 421, "this server does not answer under that name")
        if not origins.origin_allowed(method, host, headers):
            return _error(path, 403, "requests from other sites are not allowed")
        if _is_open(path):
            return None
        if account := origins.account(self.options, str((scope.get("client") or ("",))[0]), headers):
            scope["account"] = account
            return None
        named = self.options.user_header is not None and self.options.token is None
        if not named and self.access.allowed(headers.get("authorization", ""), headers.get("cookie", "")):
            return None
        if named:
            return _error(path, 401, "this server is reached through a proxy that names its users")
        if "text/html" in headers.get("accept", "") and method == "GET":
            return RedirectResponse(f"/login?next={quote(path, safe='/')}", 303)
        refusal = _error(path, 401, "a token is needed: Authorization: Bearer …")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal

    def _takes_documents(self, scope: Scope) -> bool:
        """Whether a body may be larger than others: it goes to the disk while it comes, read by `intake`."""
        return scope["method"] == "POST" and bool(_DOCUMENTS.fullmatch(scope["path"])) and self.options.takes_documents

    async def _body(self, scope: Scope, receive: Receive) -> bytes | Response:
        """The whole body, so that nothing further in can be made to wait for it or to hold too much."""
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > self.options.max_body:
            return _error(scope["path"], 413, f"the request is too large: at most {self.options.max_body:,} bytes")
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return Response(status_code=400)
                    body += message.get("body", b"")
                    if len(body) > self.options.max_body:
                        return _error(scope["path"], 413, f"the request is too large: at most {self.options.max_body:,} bytes")
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            return _error(scope["path"], 408, "the request came too slowly")

    def _log(self, scope: Scope, status: int, seconds: float, seldom: str | None) -> None:
        self.metrics.responses[scope["method"] if scope["method"] in _METHODS else "other", status] += 1
        facts = {"method": scope["method"], "path": scope["path"], "status": status, "seconds": round(seconds, 4)}
        logs.info("request", seldom=seldom, **facts)


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def address(scope: Scope) -> str:
    """Whom limits count: a user by name, others by their address."""
    if account := scope.get("account"):
        return f"user {account}"
    return origins.client(str((scope.get("client") or ("?",))[0]))


def _is_open(path: str) -> bool:
    """Whether strangers may see it."""
    return path in _OPEN or path.startswith("/static/")


def _error(path: str, status: int, message: str) -> Response:
    return openai_format.error(status, message) if path.startswith("/v1/") else JSONResponse({"error": message}, status)


def _is_multipart(scope: Scope) -> bool:
    """A form in parts. The framework's own reader of these decodes with any codec that the client names, some of which take
    quadratic time, and keeps files on the disk for nobody: only `intake` reads them."""
    return Headers(scope=scope).get("content-type", "").strip().lower().startswith("multipart/")


def _counted(receive: Receive, most: int) -> Receive:
    """The body as it comes, as long as it does come and there is not too much of it."""
    taken = 0

    async def counting() -> Message:
        nonlocal taken
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "the request came too slowly") from None
        taken += len(message.get("body", b""))
        if taken > most:
            raise HTTPException(413, f"that is too much at once: at most {most:,} bytes")
        return message

    return counting


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand the body over once, then whatever the client does next (it leaves)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again
