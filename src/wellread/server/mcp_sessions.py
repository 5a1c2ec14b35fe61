"""Sessions of MCP clients, of which there is an end: whoever comes is let in, and the one that was silent longest makes room.

Most clients never say that they leave. The SDK keeps a session for half an hour after its last request and sends everybody else
away while it has as many as it may, so that one client could keep all others out.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Generator
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST = 1_000
_NAME = "mcp-session-id"


class Sessions:
    """Stands before the SDK's endpoint, which takes `MOST` of them."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._known: OrderedDict[str, None] = OrderedDict()  # the one that was silent longest first
        self._answering: Counter[str] = Counter()  # requests that are being answered, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = Headers(scope=scope).get(_NAME)
        if name is None and len(self._known) >= self._most:
            await self._make_room()

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and (given := Headers(raw=message["headers"]).get(_NAME)):
                self._known[given] = None
            await send(message)

        with self._used(name):
            await self._app(scope, receive, noting)
        if scope["method"] == "DELETE" and name is not None:
            self._known.pop(name, None)

    @contextmanager
    def _used(self, name: str | None) -> Generator[None]:
        if name not in self._known:
            yield
            return
        self._known.move_to_end(name)
        self._answering[name] += 1
        try:
            yield
        finally:
            self._answering -= Counter([name])

    async def _make_room(self) -> None:
        """End the one that was silent longest, in the words of the protocol; nobody who waits for an answer loses it."""
        name = next((name for name in self._known if not self._answering[name]), None)
        if name is None:
            return
        del self._known[name]
        headers = [(_NAME.encode(), name.encode("latin-1"))]
        scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}

        async def empty() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(message: Message) -> None:
            pass

        await self._app(scope, empty, unheard)
