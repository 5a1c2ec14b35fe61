"""Application state: everything one server holds, opened at the start, closed at the end, reached by the routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module

from starlette.requests import Request

from wellread import plugins
from wellread.answer_json import AnswerJson
from wellread.core.private_files import private_folder
from wellread.engine import Engine
from wellread.errors import WellreadError
from wellread.events import to_json
from wellread.present.html import answer_html
from wellread.questions.languages import language_of
from wellread.server import logs
from wellread.server.collections import Collections, Indexing
from wellread.server.history import History
from wellread.server.intake import Form
from wellread.server.limits import Gate, Lines, Listeners, Shared
from wellread.server.menu import Menu
from wellread.server.metrics import Metrics
from wellread.server.options import ServerOptions, account_path, collections_path, history_place
from wellread.server.runs import Peers, Runs
from wellread.settings import Settings

_DAY, _HOUR = 86_400, 3_600
_SENDING = 16  # documents are taken from so many at once; others wait. No client holds more than half of the places
_LOCAL = ("library", "index", "files")  # sources that may be searched once at the start, to be warm


@dataclass(slots=True)
class Service:
    """Lives as long as the application's lifespan."""

    options: ServerOptions
    engine: Engine
    history: History
    gate: Gate
    searching: Gate  # plain searches and readings
    metrics: Metrics
    collections: Collections
    sending: Gate  # documents on their way here
    runs: Runs = field(init=False)
    menu: Menu = field(init=False)
    indexing: Indexing = field(init=False)
    arriving: list[Form] = field(default_factory=list[Form])
    drawing: Lines = field(default_factory=Lines)  # pages of PDFs, of which some take ten seconds
    listeners: Listeners = field(default_factory=Listeners)
    account: str = ""  # whose it is, where proxies name the users
    accounts: dict[str, Service] = field(default_factory=dict[str, "Service"])  # of those users who have come
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        peers = Peers(self.history, server) if (server := self.history.database.server) else None
        self.runs = Runs(self.history, self.gate, self.metrics, keep_api=self.options.keep_api, peers=peers)
        self.menu = Menu(self.engine, self.options, self.collections.specs)
        self.indexing = Indexing(self.collections, self.engine.kit)

    async def of_account(self, name: str) -> Service:
        """The same server as one user has it, with a history and collections of their own. Opened at the first request."""
        async with self.opening:
            if name not in self.accounts:
                folder = await asyncio.to_thread(private_folder, account_path(self.options, name))
                collections = Collections(folder / "collections", self.options)
                history = await History.open(folder / "history.sqlite")
                own = replace(self, history=history, collections=collections, account=name, accounts={}, arriving=[])
                await own.go_on()
                self.accounts[name] = own
        return self.accounts[name]

    async def go_on(self) -> None:
        """Take up again what was not finished when a server ended here."""
        await asyncio.to_thread(self.collections.sweep)
        self.indexing.resume()

    @property
    def everyone(self) -> list[Service]:
        """This and those of its users."""
        return [self, *self.accounts.values()]

    async def drain(self) -> None:
        """Take no more runs, and let those that go on finish."""
        await asyncio.gather(*(one.runs.drain(self.options.stop_seconds) for one in self.everyone))

    def resettle(self, settings: Settings) -> None:
        """Answer the next questions under other settings; runs that go on keep theirs."""
        engine = self.engine.changed(settings, kit=self.engine.kit.under(settings))
        self.menu = Menu(engine, self.options, self.collections.specs)
        self.engine = engine


@asynccontextmanager
async def running(engine: Engine, options: ServerOptions, metrics: Metrics) -> AsyncGenerator[Service, None]:
    """Open the history, build what is slow to build, and on the way out let runs finish."""
    history = await History.open(history_place(options))
    chores: list[asyncio.Task[None]] = []
    service: Service | None = None
    try:
        service = await asyncio.to_thread(_build, engine, options, history, metrics)
        if service.menu.default_model is not None:
            await asyncio.to_thread(engine.kit.model)  # its imports take a second, and the loop must not stall later
        chores += [asyncio.create_task(_warm(service)), asyncio.create_task(_clean(service, options.retention_days))]
        if service.runs.peers is not None:
            await service.runs.peers.join()
            chores.append(asyncio.create_task(service.runs.peers.keep_up(service.runs)))
        await service.go_on()
        yield service
        await service.drain()
    finally:
        for chore in chores:
            chore.cancel()
        if chores:
            await asyncio.wait(chores)
        for one in service.everyone if service is not None else ():
            await one.indexing.aclose()
            await one.history.aclose()
        if service is None:
            await history.aclose()
        await engine.aclose()


@asynccontextmanager
async def alone(engine: Engine) -> AsyncGenerator[Service, None]:
    """For one client on the same machine: its runs' own limits, and a history that is gone with the process."""
    options = ServerOptions(collections=False, max_per_client=100)
    async with aclosing(await History.open(None)) as history:
        yield _build(engine, options, history, Metrics())


def of(request: Request) -> Service:
    """The service behind a request: its user's, where it has one."""
    return request.scope.get("service") or request.app.state.service


def _build(engine: Engine, options: ServerOptions, history: History, metrics: Metrics) -> Service:
    server = history.database.server
    folder = collections_path(options)

    def gate(purpose: str, running: int, each: int, seconds: float = 2.0) -> Gate:
        """Where several processes may have this history, a client has its places once, not in each of them."""
        shared = Shared(folder.with_name("places"), f"{options.history} {purpose}") if server else None
        return Gate(running, options.max_queued, each, shared, usual_seconds=seconds)

    running = gate("runs", options.max_running, options.max_per_client)
    searching = gate("searches", options.max_searching, options.max_per_client, 0.5)
    sending = gate("documents", _SENDING, min(options.max_per_client, _SENDING // 2))
    return Service(options, engine, history, running, searching, metrics, Collections(folder, options), sending)


@cache
def installed() -> list[object]:
    """All plugins with their parameters; the first time it loads them."""
    return [to_json(plugin) for plugin in plugins.everything()]


def _load() -> None:
    """Warm-up: imports and models that the first requests would wait for."""
    import_module("wellread.reading.reader")
    answer_html(AnswerJson(answer="**ready**", outcome="answered"))
    language_of("¿En qué idioma está escrita esta pregunta?")  # loads what tells others from English
    installed()


async def _warm(service: Service) -> None:
    """While others are answered already: one search in a source on this machine opens its index and loads the models."""
    await asyncio.to_thread(_load)
    names = service.engine.settings.sources or ("library",)
    if all(plugins.parse_source(name).name in _LOCAL for name in names):
        try:
            async for _ in service.engine.stream("What is the largest planet?", strategy="quote"):
                pass
        except WellreadError as problem:  # the first question will say the same, to the one who asks
            logs.fault("could not warm up", problem)


async def _clean(service: Service, days: int) -> None:
    """Where the clock says that all of it is too old, an hour later: one that was wrong at the start is right by then."""
    while True:
        for history in [one.history for one in service.everyone]:
            try:
                if await history.would_forget_all(days):
                    await asyncio.sleep(_HOUR)
                await history.expire(days)
            except WellreadError as problem:
                logs.fault("could not clean up", problem)
        await asyncio.sleep(_DAY)
