"""MCP with the official SDK: tools `ask`, `search` and `read`, over stdio and streamable HTTP.

Cancelling a call cancels the handler, which closes the run's stream: the work stops.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wellread import events
from wellread.core.codec import encode
from wellread.engine import Engine
from wellread.errors import UsageError, WellreadError
from wellread.present.markdown import markdown
from wellread.present.marks import Marks
from wellread.present.sections import shown
from wellread.server import logs, session, viewer
from wellread.server.history import Record
from wellread.server.limits import Busy, beside
from wellread.server.menu import AskRequest
from wellread.server.security import address
from wellread.server.service import Service, alone
from wellread.server.session import Ending, Session
from wellread.server.viewer import NotThere, Place, link
from wellread.text.inert import inert
from wellread.types import Hit
from wellread.version import __version__

if TYPE_CHECKING:
    from mcp.server import MCPServer

_INSTRUCTIONS = (
    "wellread answers questions from its sources with checked citations. Use ask for a question, search to see "
    "passages, read for a whole web page or for the document behind a citation."
)
_Source = Annotated[str | None, Field(description="Which of the server's sources to search.")]
_Address = Annotated[str | None, Field(description="An http or https address.", max_length=4_000)]
_SourceOf = Annotated[str | None, Field(description="A citation's or hit's source.", max_length=500)]
_DocumentOf = Annotated[str | None, Field(description="Its document, with source.", max_length=4_000)]
_LONGEST = 100_000  # characters of a page that are returned
_LINE = 200  # characters of a line of progress
_SESSION = "mcp-session-id"
_MOST = 10_000
_SESSIONS = 100  # of one client; most never say that they leave, and the SDK waits half an hour for them


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
        try:
            server = await asyncio.to_thread(build, service)
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
        except Exception as problem:
            logs.fault("MCP does not work here", problem)
            if not ready.done():
                ready.set_result(JSONResponse({"error": "MCP does not work on this server: its log says why"}, 503))

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
    async with engine, alone(engine) as service:
        await build(service).run_stdio_async()


def build(service: Service) -> MCPServer[Any]:
    """The server with its tools."""
    from mcp.server.mcpserver import Context
    from mcp.types import CallToolResult

    server = _server()

    async def ask(
        question: Annotated[str, Field(description="What you want to know.", max_length=20_000)],
        ctx: Context[Any, Any],
        strategy: Annotated[str | None, Field(description="How to answer; the server's default if left out.")] = None,
        source: _Source = None,
        previous: Annotated[
            str | None, Field(description="The `id` of the answer that this follows up on.", max_length=40)
        ] = None,
        marks: Annotated[
            Marks, Field(description="`none`: sentences that their sources do not carry get no mark in the text.")
        ] = "text",
    ) -> CallToolResult:
        """Answer a question with numbered sources that a program has checked; `previous` makes it a follow-up."""
        wish = AskRequest(question, strategy, (source,) if source else ())
        return await _ask(await _session(service, ctx), wish, previous, marks, ctx)

    async def search(
        query: Annotated[str, Field(description="Words to search for.", max_length=2_000)],
        ctx: Context[Any, Any],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        source: _Source = None,
    ) -> CallToolResult:
        """Search the sources and return the passages found, best first."""
        here = await _session(service, ctx)
        async with service.searching.place(here.client):
            hits = await here.service.menu.searching((source,) if source else ()).search(query, limit=limit)
        shown = ((hit, link(hit, hit.words, here.base) if here.base else {}) for hit in hits)
        rows = [{**events.hit_json(hit), "text": hit.words, **where} for hit, where in shown]
        text = "\n\n".join(f"{row['place']}\n{row['text']}" for row in rows) or "nothing found"
        return _result(inert(text), {"query": query, "hits": rows})

    async def read(
        ctx: Context[Any, Any], url: _Address = None, source: _SourceOf = None, document: _DocumentOf = None
    ) -> CallToolResult:
        """Read a public web page or PDF by its url, or a document that ask or search named, by its source and document."""
        here = await _session(service, ctx)
        return await (_open(here, Place(source, document)) if source and document else _read(here, url or ""))

    # the SDK resolves annotations of functions by their module's names, and these are local
    for tool in (ask, search, read):
        tool.__annotations__ = {**tool.__annotations__, "ctx": Context, "return": CallToolResult}
        server.add_tool(_telling(tool))
    return server


def _telling(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A tool whose errors are tool errors of MCP."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    async def told(*given: Any, **named: Any) -> Any:
        try:
            return await tool(*given, **named)
        except (WellreadError, Busy) as problem:
            raise ToolError(inert(str(problem))) from None

    return told


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


async def _ask(here: Session, wish: AskRequest, previous: str | None, marks: Marks, ctx: Any) -> Any:
    telling = await here.attach(wish, await _previous(here, previous), "mcp")
    try:
        async with aclosing(telling.events()) as stream:
            number, told = 0, None
            async for event in stream:
                if isinstance(event, Ending):
                    return await beside(partial(_answered, telling.run, event, marks))
                if (words := event.said()) and words != told:  # each word of the answer says that it is being written
                    number, told = number + 1, words
                    await ctx.report_progress(number, message=words.short(_LINE))
    finally:
        await telling.leave()


async def _previous(here: Session, name: str | None) -> Record | None:
    try:
        return await here.run(name) if name is not None else None
    except NotThere:
        raise UsageError(f"there is no answer {name!r} to follow up on, or none is kept") from None


def _answered(run: str, ending: Ending, marks: Marks) -> Any:
    if ending.answer is None:
        raise WellreadError(ending.problem or "the run failed")
    body = {"id": run, **encode(ending.answer)}
    return _result(markdown(shown(ending.answer, marks)), body, failed=ending.problem is not None)


async def _read(here: Session, url: str) -> Any:
    if not url.lower().startswith(("http://", "https://")):
        raise UsageError("only http and https addresses can be read; documents of a source by source and document")
    async with here.service.searching.place(here.client):
        page = await here.service.engine.kit.pages().read(url)
    text = page.text[:_LONGEST]
    facts = {"url": page.url, "title": page.title, "published": page.published, "truncated": len(page.text) > _LONGEST}
    return _result(inert(f"{page.title}\n\n{text}"), {**facts, "text": text})


async def _open(here: Session, place: Place) -> Any:
    """A document as its source has it."""
    async with here.service.searching.place(here.client):
        view = await viewer.look(here.service.menu, place, words_alone=True)
        return await beside(lambda: _opened(view))


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


async def _session(service: Service, ctx: Any) -> Session:
    """Of a request; over stdio there is none, and client and files are on one machine."""
    request = ctx.request_context.request
    return Session(service, "mcp", None) if request is None else await session.of(request)
