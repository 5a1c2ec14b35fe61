"""MCP with the official SDK: tools `ask`, `search` and `read`, over stdio and streamable HTTP.

Cancelling a call cancels the handler, which closes the run's stream: the work stops.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import Field
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread import events
from wellread.engine import Engine
from wellread.errors import WellreadError
from wellread.marks import Marks, shown
from wellread.present.markdown import markdown
from wellread.server import follow_up, origins, viewer
from wellread.server.addresses import linked, linked_row
from wellread.server.conversations import Conversation, Conversations
from wellread.server.limits import Busy
from wellread.server.menu import ClientRequest, Menu, ReadyRun
from wellread.server.options import ServerOptions
from wellread.server.render_thread import beside
from wellread.server.security import address
from wellread.server.service import Service
from wellread.server.viewer import Place
from wellread.text.inert import inert
from wellread.types import Answer, Hit
from wellread.version import __version__

if TYPE_CHECKING:
    from mcp.server import MCPServer

_INSTRUCTIONS = (
    "wellread answers questions from its sources with checked citations. Use ask for a question, search to see "
    "passages, read for a whole web page or for the document behind a citation."
)
_Address = Annotated[str | None, Field(description="An http or https address.", max_length=4_000)]
_SourceOf = Annotated[str | None, Field(description="A citation's or hit's source.", max_length=500)]
_DocumentOf = Annotated[str | None, Field(description="Its document, with source.", max_length=4_000)]
_LONGEST = 100_000  # characters of a page that are returned
_LINE = 200  # characters of a line of progress
_SESSION = "mcp-session-id"
_MOST = 10_000
_SESSIONS = 100  # of one client; most never say that they leave, and the SDK waits half an hour for them


class Backend(Protocol):
    """Where tools get their work done: alone in a process, or inside the server and its limits."""

    @property
    def menu(self) -> Menu: ...
    def stream(self, asked: ReadyRun, client: str, name: str) -> AsyncGenerator[events.Event, None]: ...
    async def recall(self, name: str) -> Conversation | None:
        """What was said up to an answer that another process may have given."""
        ...

    def turn(self, client: str) -> AbstractAsyncContextManager[None]:
        """A place among the plain searches and readings."""
        ...


class OwnEngine:
    """A backend with an engine to itself, for stdio."""

    def __init__(self, engine: Engine) -> None:
        self.menu = Menu(engine, ServerOptions())

    def stream(self, asked: ReadyRun, client: str, name: str) -> AsyncGenerator[events.Event, None]:
        return asked.engine.stream(asked.question, strategy=asked.strategy, params=asked.params, history=asked.history)

    async def recall(self, name: str) -> Conversation | None:
        return None

    def turn(self, client: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()


class InServer:
    """A backend inside the server: its limits hold."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def menu(self) -> Menu:
        return self._service.menu

    async def stream(self, asked: ReadyRun, client: str, name: str) -> AsyncGenerator[events.Event, None]:
        runs = self._service.runs
        async with aclosing(runs.attach(asked, await runs.admit(client), "mcp", name)) as stream:
            async for event in stream:
                yield event

    async def recall(self, name: str) -> Conversation | None:
        history = self._service.history
        if (record := await history.get(name)) is None:
            return None
        turns, sources = await follow_up.context(history, record)
        return Conversation(turns, *sources)

    def turn(self, client: str) -> AbstractAsyncContextManager[None]:
        return self._service.turn(client)


class McpEndpoint:
    """`/mcp`: exists from the start, works while the application runs.

    A client that opens ever more sessions loses its own that was silent longest, so that it takes no room of others'.
    """

    def __init__(self) -> None:
        self._ready: asyncio.Future[ASGIApp] | None = None
        self._sessions: dict[str, str] = {}  # whose they are, the one that was silent longest first
        self._answering: Counter[str] = Counter()  # requests, by session

    def route(self) -> Route:
        return Route("/mcp", endpoint=self, include_in_schema=False)

    @asynccontextmanager
    async def running(self, service: Service) -> AsyncGenerator[None, None]:
        """The SDK takes most of a second to load: who comes sooner waits for it, and nobody else does."""
        over = asyncio.Event()
        self._ready = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(self._serve(service, self._ready, over))
        try:
            yield
        finally:
            over.set()
            await serving

    async def _serve(self, service: Service, ready: asyncio.Future[ASGIApp], over: asyncio.Event) -> None:
        server = await asyncio.to_thread(build, InServer(service))
        from mcp.server.transport_security import TransportSecuritySettings

        # Host and Origin have been checked before a request comes here
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(
            stateless_http=service.history.database.server is not None,  # the next request may come to another server
            max_request_body_size=service.options.max_body,
            transport_security=unchecked,
            max_sessions=_MOST,
        )
        async with server.session_manager.run():
            ready.set_result(server.session_manager.asgi_app)
            await over.wait()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._ready is not None
        await (await self._ready)(scope, receive, send)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":  # a stream for what is said unasked, of which there is nothing
            await Response(status_code=405, headers={"Allow": "POST, DELETE"})(scope, receive, send)
            return
        client, session = address(scope), Headers(scope=scope).get(_SESSION, "")

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start" and (given := Headers(raw=message["headers"]).get(_SESSION)):
                self._sessions[given] = client
            await send(message)

        self._answering[session] += 1
        try:
            await self._app(scope, receive, noting)
        finally:
            self._answering -= Counter([session])
            if self._sessions.pop(session, None) and scope["method"] != "DELETE":
                self._sessions[session] = client
        own = [name for name, whose in self._sessions.items() if whose == client] if not session else []
        for name in [name for name in own if not self._answering[name]][: max(0, len(own) - _SESSIONS)]:
            await self._end(name)
        while len(self._sessions) >= _MOST:  # nearly all of them are of clients that are gone
            await self._end(next(iter(self._sessions)))

    async def _end(self, session: str) -> None:
        """In the words of the protocol."""
        del self._sessions[session]
        headers = [(_SESSION.encode(), session.encode("latin-1"))]
        scope: Scope = {"type": "http", "method": "DELETE", "path": "/mcp", "query_string": b"", "headers": headers}

        async def empty() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(message: Message) -> None:
            pass

        await self._app(scope, empty, unheard)


async def serve_stdio(engine: Engine) -> None:
    """Speak MCP on standard input and output until the client closes it."""
    async with engine:
        await build(OwnEngine(engine)).run_stdio_async()


def build(backend: Backend) -> MCPServer[Any]:
    """The server with its tools."""
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult

    talks = Conversations()
    server = _server()

    async def ask(
        question: Annotated[str, Field(description="What you want to know.", max_length=20_000)],
        ctx: Context[Any, Any],
        strategy: Annotated[str | None, Field(description="How to answer; the server's default if left out.")] = None,
        source: Annotated[str | None, Field(description="Which of the server's sources to search.")] = None,
        previous: Annotated[
            str | None, Field(description="The `id` of the answer that this follows up on.", max_length=40)
        ] = None,
        marks: Annotated[
            Marks, Field(description="`none`: sentences that their sources do not carry get no mark in the text.")
        ] = "text",
    ) -> CallToolResult:
        """Answer a question with numbered sources that a program has checked; `previous` makes it a follow-up."""
        return await _ask(backend, ClientRequest(question, strategy, (source,) if source else ()), ctx, talks, previous, marks)

    async def search(
        query: Annotated[str, Field(description="Words to search for.", max_length=2_000)],
        ctx: Context[Any, Any],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        source: Annotated[str | None, Field(description="Which of the server's sources to search.")] = None,
    ) -> CallToolResult:
        """Search the sources and return the passages found, best first."""
        return await _search(backend, query, limit, source, ctx)

    async def read(
        ctx: Context[Any, Any], url: _Address = None, source: _SourceOf = None, document: _DocumentOf = None
    ) -> CallToolResult:
        """Read a public web page or PDF by its url, or a document that ask or search named, by its source and document."""
        named = Place(source, document) if source and document else None
        return await (_open(backend, named, _client(ctx)) if named else _read(backend, url or "", _client(ctx)))

    # the SDK resolves annotations of functions by their module's names, and these are local
    for tool in (ask, search, read):
        tool.__annotations__ = {**tool.__annotations__, "ctx": Context, "return": CallToolResult}
        server.add_tool(tool)
    return server


def _server() -> MCPServer[Any]:
    from mcp import MCPError
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import INVALID_PARAMS

    class Server(MCPServer[Any]):
        """Has tools alone. Asked for a prompt, the SDK's own takes the name for a fault of the server's; arguments that a tool
        has not it drops, so that whoever sends a limit would take it for kept."""

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            known: dict[str, Any] = {tool.name: tool.input_schema["properties"] for tool in await self.list_tools()}
            for argument in arguments if name in known else ():
                if argument not in known[name]:
                    raise ToolError(f"{name} has no argument {argument[:_LINE]!r}; it has: {', '.join(known[name])}")
            return await super().call_tool(name, arguments, context)

        async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None, context: Any = None) -> Any:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {name[:_LINE]!r}")

    return Server("wellread", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")


async def _ask(backend: Backend, wish: ClientRequest, ctx: Any, talks: Conversations, previous: str | None, marks: Marks) -> Any:
    from mcp.server.mcpserver.exceptions import ToolError

    answer: Answer | None = None
    name = secrets.token_urlsafe(9)
    try:
        before = await talks.get(previous, backend.recall)
        asked = backend.menu.authorize(replace(wish, history=before.turns), also=before.sources)
        async with aclosing(backend.stream(asked, _client(ctx), name)) as stream:
            number, told = 0, None
            async for event in stream:
                if isinstance(event, events.Answered):
                    answer = event.answer
                elif (words := event.said()) and words != told:  # each word of the answer says that it is being written
                    number, told = number + 1, words
                    await ctx.report_progress(number, message=words.short(_LINE))
    except (WellreadError, Busy) as problem:
        raise ToolError(inert(str(problem))) from None
    assert answer is not None
    told, base = events.answer_json(answer), _base(ctx)
    told = linked(told, base) if base else told
    talks.keep(name, before, answer)
    body = {"id": name, **told}
    return _result(markdown(shown(body, marks)), body, failed=answer.outcome == "failed")


async def _search(backend: Backend, query: str, limit: int, source: str | None, ctx: Any) -> Any:
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        async with backend.turn(_client(ctx)):
            hits = await backend.menu.searching((source,) if source else ()).search(query, limit=limit)
    except (WellreadError, Busy) as problem:
        raise ToolError(inert(str(problem))) from None
    base = _base(ctx)
    found = [{**events.hit_json(hit), "text": hit.words} for hit in hits]
    rows = [linked_row(row, base) for row in found] if base else found
    text = "\n\n".join(f"{row['place']}\n{row['text']}" for row in rows) or "nothing found"
    return _result(inert(text), {"query": query, "hits": rows})


async def _read(backend: Backend, url: str, client: str) -> Any:
    from mcp.server.mcpserver.exceptions import ToolError

    if not url.lower().startswith(("http://", "https://")):
        raise ToolError("only http and https addresses can be read; documents of a source by source and document")
    try:
        async with backend.turn(client):
            page = await backend.menu.engine.kit.pages().read(url)
    except (WellreadError, Busy) as problem:
        raise ToolError(inert(str(problem))) from None
    text = page.text[:_LONGEST]
    facts = {"url": page.url, "title": page.title, "published": page.published, "truncated": len(page.text) > _LONGEST}
    return _result(inert(f"{page.title}\n\n{text}"), {**facts, "text": text})


async def _open(backend: Backend, place: Place, client: str) -> Any:
    """A document as its source has it."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        async with backend.turn(client):
            view = await viewer.look(backend.menu, place, words_alone=True)
            return await beside(lambda: _opened(view))
    except (WellreadError, Busy) as problem:
        raise ToolError(str(problem)) from None


def _opened(view: viewer.View) -> Any:
    whole, place = _beginning(view.passages), view.place
    title = view.passages[0].title or place.document
    facts = {"source": place.source, "document": place.document, "title": title, "truncated": len(whole) > _LONGEST}
    notes = "".join(f"\n\n({note})" for note in view.notes)
    return _result(inert(f"{title}{notes}\n\n{whole[:_LONGEST]}"), {**facts, "text": whole[:_LONGEST]})


def _beginning(passages: Sequence[Hit]) -> str:
    """As much of a document as is returned, and a little more where there is more."""
    found, length = list[str](), 0
    for passage in passages:
        found.append(passage.text)
        length += len(passage.text)
        if length > _LONGEST:
            break
    return "\n\n".join(found)


def _result(text: str, body: dict[str, Any], *, failed: bool = False) -> Any:
    from mcp.types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=body, is_error=failed)


def _base(ctx: Any) -> str | None:
    """This server's address as the client knows it; None over stdio, where client and files are on one machine."""
    request = ctx.request_context.request
    return str(request.base_url) if isinstance(request, Request) else None


def _client(ctx: Any) -> str:
    """The address that the limits per client count; over stdio there is none."""
    request = ctx.request_context.request
    return origins.client(request.client.host) if isinstance(request, Request) and request.client else "mcp"
