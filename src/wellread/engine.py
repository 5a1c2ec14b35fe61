"""The only place that wires things together: question in, events out.

engine = Engine(settings)
async for event in engine.stream("Who invented the telescope?"): …
answer = await engine.ask("Who invented the telescope?")
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from wellread import events, plugins
from wellread import settings as settings_module
from wellread.budget import Budget
from wellread.encodable import encodable
from wellread.errors import BudgetExhausted, UsageError, WellreadError
from wellread.parameters import fill
from wellread.parts import NO_MODEL, Kit
from wellread.protocols import Model, Source
from wellread.run import Run, World, as_values
from wellread.settings import Settings
from wellread.types import Answer, Hits

if TYPE_CHECKING:
    from wellread.strategies.iterative import Iterative, Retrieval

T = TypeVar("T")
MAX_QUESTION = 20_000  # characters; more is not a question but a document


class Engine:
    """Answers questions with the parts its settings name. Close it, or use it as `async with`."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        model: Model | None = None,
        source: Source | None = None,
        fallback: Source | None = None,
        world: World | None = None,
        kit: Kit | None = None,
    ) -> None:
        self.settings = settings if settings is not None else settings_module.load()
        self.kit = kit or Kit(self.settings, model=model)
        self._source = source
        self._fallback = fallback
        self.world = world or World()

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections and files."""
        await self.kit.aclose()

    async def stream(
        self,
        question: str,
        *,
        strategy: str | None = None,
        params: Mapping[str, object] | None = None,
        history: Sequence[tuple[str, str]] = (),
        world: World | None = None,
    ) -> AsyncGenerator[events.Event, None]:
        """The events of one run; the last is `Answered`. Closing the generator stops the work.

        Wrong usage (an empty question, an unknown parameter) raises before the first event. A `world`
        takes the place of the engine's own for this run.
        """
        chosen, run, queue = self._prepare(clean_question(question), strategy, params or {}, tuple(history), world)
        run.emit(self._started(run, chosen))
        worker = asyncio.create_task(_work(chosen, run))
        worker.add_done_callback(lambda _: queue.put_nowait(None))  # a worker that dies must not leave us waiting
        try:
            while (event := await queue.get()) is not None:
                yield event
                if isinstance(event, events.Answered):
                    break
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    async def ask(
        self,
        question: str,
        *,
        strategy: str | None = None,
        params: Mapping[str, object] | None = None,
        history: Sequence[tuple[str, str]] = (),
    ) -> Answer:
        """The answer: the last item of `stream`."""
        async with aclosing(self.stream(question, strategy=strategy, params=params, history=history)) as stream:
            async for event in stream:
                if isinstance(event, events.Answered):
                    return event.answer
        raise AssertionError("a stream ends with Answered")

    def changed(
        self, settings: Settings, *, kit: Kit | None = None, source: Source | None = None, also: Sequence[Source] = ()
    ) -> Engine:
        """The same parts under other settings: one request's limits, another model or source.

        `also` are sources that are searched together with the main one. Nothing new needs closing.
        """
        engine = Engine(
            settings,
            kit=kit or self.kit,
            source=source or self._source,
            fallback=self._fallback,
            world=self.world,
        )
        if also:
            from wellread.sources.several import Several

            base = engine._main_source()
            engine._source = Several([*(base.sources if isinstance(base, Several) else (base,)), *also])
        return engine

    async def retrieve(self, question: str, *, params: Mapping[str, object] | None = None) -> Retrieval:
        """The retrieval half of `iterative` by itself: raw results, notes and transcript, no answer."""
        from wellread.strategies.iterative import Iterative

        chosen, run, _ = self._prepare(clean_question(question), Iterative.name, params or {})
        return await cast("Iterative", chosen).retrieve(run)

    async def search(self, query: str, *, limit: int = 10) -> Hits:
        """Search the configured sources, nothing more. `failures` names those that could not be asked."""
        from wellread.types import Query

        found = await self._main_source().search(Query(clean_question(query), limit))
        return Hits.all_of(found)

    def default_strategy(self) -> str:
        """`iterative` with a model, `quote` without."""
        return self.settings.strategy or ("iterative" if self.kit.model_spec() else "quote")

    def _prepare(
        self,
        question: str,
        strategy: str | None,
        params: Mapping[str, object],
        history: tuple[tuple[str, str], ...] = (),
        world: World | None = None,
    ) -> tuple[_Strategy, Run, asyncio.Queue[events.Event | None]]:
        world = world or self.world
        name = strategy or self.default_strategy()
        chosen = self._strategy(name, params)
        model = self.kit.model_spec() if type(chosen).needs_model else None
        if type(chosen).needs_model and model is None:
            raise UsageError(NO_MODEL)
        queue: asyncio.Queue[events.Event | None] = asyncio.Queue()
        budget = Budget(self.settings.limits, world.clock)

        def emit(event: events.Event) -> None:
            world.tick()
            # In place, before anyone has seen it: a copy of each event would be a tenth of the engine's cost.
            object.__setattr__(event, "at", round(budget.seconds, 4))
            queue.put_nowait(event)

        fallback = self._fallback or (self.kit.source(self.settings.fallback) if self.settings.fallback else None)
        run = Run(
            question=question,
            strategy=name,
            source=world.source("main", self._main_source()),
            kit=world.kit(self.kit),
            budget=budget,
            emit=emit,
            clock=world.clock,
            today=world.today(),
            marker=world.marker(),
            fallback=world.source("fallback", fallback) if fallback else None,
            history=encodable(history),
            model_name=model,
            timeout=world.timeout,
            counts_cut_off=world.counts_cut_off,
        )
        return chosen, run, queue

    def _strategy(self, name: str, params: Mapping[str, object]) -> _Strategy:
        cls = plugins.load("strategies", name)
        values = encodable({**self.settings.params.get(name, {}), **params})
        return cls(fill(cls.Params, values, f"strategy {name}"))  # pyright: ignore[reportFunctionMemberAccess]

    def _main_source(self) -> Source:
        return self._source or self.kit.several(self.settings.sources or ("library",))

    def _started(self, run: Run, chosen: _Strategy) -> events.Started:
        return events.Started(run.question, run.strategy, run.model_name, (run.source.name,), as_values(chosen.params))


class _Strategy:
    """The shape of a strategy object; only used for typing."""

    needs_model: bool
    params: object

    def stream(self, run: Run) -> AsyncIterator[events.Event]: ...


async def _work(strategy: _Strategy, run: Run) -> None:
    """Run the strategy to its end; whatever happens, the last event is `Answered`."""
    try:
        async for event in strategy.stream(run):
            run.emit(event)
            if isinstance(event, events.Answered):
                return
        raise WellreadError(f"strategy {run.strategy} ended without an answer")
    except BudgetExhausted as problem:
        from wellread.strategies.compose import extractive

        run.emit(events.Exhausted(problem.limit))
        run.emit(events.Answered(run.answer(extractive(run), outcome="exhausted", reason=str(problem))))
    except WellreadError as problem:
        run.emit(events.Answered(run.answer("", outcome="failed", reason=str(problem))))
    except Exception as problem:
        reason = f"unexpected {type(problem).__name__}: {problem}"
        run.emit(events.Answered(run.answer("", outcome="failed", reason=reason)))


def clean_question(text: str) -> str:
    """Control characters out, white space evened; nothing left or far too much is wrong usage."""
    cleaned = " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())
    if not cleaned:
        raise UsageError("the question is empty")
    if len(cleaned) > MAX_QUESTION:
        raise UsageError(f"the question is {len(cleaned):,} characters long; at most {MAX_QUESTION:,} are read")
    return cleaned


def ask(question: str, *, strategy: str | None = None, params: Mapping[str, object] | None = None, **flags: object) -> Answer:
    """Ask from a script, a notebook or a thread. Flags are settings: `ask(q, model="ollama:qwen3")`."""

    async def go() -> Answer:
        async with Engine(settings_module.load(flags)) as engine:
            return await engine.ask(question, strategy=strategy, params=params)

    return run_sync(go())


def retrieve(question: str, *, params: Mapping[str, object] | None = None, **flags: object) -> Retrieval:
    """What `iterative` finds, without the answer; from a script, a notebook or a thread."""

    async def go() -> Retrieval:
        async with Engine(settings_module.load(flags)) as engine:
            return await engine.retrieve(question, params=params)

    return run_sync(go())


def run_sync(job: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; inside a running event loop, in a thread with its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(job)
    outcome: list[T | BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(job))
        except BaseException as problem:
            outcome.append(problem)

    thread = threading.Thread(target=work, name="wellread-ask")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
