"""The engine: question in, stream of events out; the only place that wires settings, parts and strategy together.

engine = Engine(settings)
async for event in engine.stream("Who invented the telescope?"): …
answer = await engine.ask("Who invented the telescope?")
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, TypeVar, cast

from wellread import events, plugins
from wellread import settings as settings_module
from wellread.budget import Budget, Limits
from wellread.core.timeouts import Limiter
from wellread.core.unicode_safety import encodable
from wellread.errors import ModelError, UnknownModel, UsageError, WellreadError, WrongKey
from wellread.parameters import public
from wellread.parts import NO_MODEL, Parts
from wellread.privacy import Privacy, in_force
from wellread.privacy import search as ask_source
from wellread.protocols import Model, Source, checked
from wellread.questions.languages import foreign_language
from wellread.run import Environment, History, Run, Strategy, as_values
from wellread.settings import Settings
from wellread.types import Answer, Hits

if TYPE_CHECKING:
    from wellread.strategies.iterative import Iterative, Retrieval

T = TypeVar("T")
_STAMPED = vars(events.Event)["at"].__set__
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
        outside: Environment | None = None,
        kit: Parts | None = None,
        before: Sequence[Source] = (),
    ) -> None:
        self.settings = settings if settings is not None else settings_module.load()
        self.kit = kit or Parts(self.settings, model=model)
        self._source = source and checked(source, "source")
        self._fallback = fallback and checked(fallback, "fallback")
        self._before = before
        self.outside = outside or Environment()

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
        outside: Environment | None = None,
    ) -> AsyncGenerator[events.Event, None]:
        """The events of one run; the last is `Answered`. Closing the generator stops the work.

        Wrong usage (an empty question, an unknown parameter) raises before the first event. `outside`
        takes the place of the engine's own for this run.
        """
        outside = outside or self.outside
        with outside.patience() as timeout:
            reports = _Reports(outside, timeout, self.settings.limits)
            chosen, run = self._prepare(clean_question(question), strategy, params or {}, tuple(history), reports)
            broken = await self._broken(run) if run.model_name else None
            names, params = (run.source.name,), as_values(chosen.params)
            run.emit(events.Started(run.question, run.strategy, run.model_name, names, params, run.kit.effort))
            worker = asyncio.create_task(_work(chosen, run, broken))
            worker.add_done_callback(lambda _: reports.more.set())  # a worker that dies must not leave us waiting
            try:
                while reports.waiting or not worker.done():
                    if reports.waiting:
                        yield reports.waiting.popleft()
                    else:
                        reports.more.clear()
                        await reports.more.wait()
            finally:
                worker.cancel()
                with suppress(asyncio.CancelledError):
                    await worker

    async def check(self, strategy: str | None = None, params: Mapping[str, object] | None = None) -> None:
        """Raise what `stream` would before its first event, whatever the question."""
        async with aclosing(self.stream("?", strategy=strategy, params=params)) as stream:
            await anext(stream)

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
        self,
        settings: Settings,
        *,
        kit: Parts | None = None,
        source: Source | None = None,
        also: Sequence[Source] = (),
        before: Sequence[Source] = (),
    ) -> Engine:
        """The same parts under other settings: one request's limits, another model or source.

        `also` are sources that are searched together with the main one; `before` hold what the conversation stood on and are
        not searched, but tell which of its words are private. Nothing new needs closing.
        """
        engine = Engine(
            settings,
            kit=kit or self.kit,
            source=source or self._source,
            fallback=self._fallback,
            outside=self.outside,
            before=before,
        )
        if also:
            from wellread.sources.multi_hop import Several

            base = engine._main_source()
            engine._source = Several([*(base.parts if isinstance(base, Several) else (base,)), *also])
        return engine

    async def retrieve(
        self, question: str, *, params: Mapping[str, object] | None = None, watch: Callable[[str], object] | None = None
    ) -> Retrieval:
        """The retrieval half of `iterative` by itself: raw results, notes and transcript, no answer.

        `watch` hears the transcript while it is written.
        """
        from wellread.strategies.iterative import Iterative

        with self.outside.patience() as timeout:
            reports = _Reports(self.outside, timeout, self.settings.limits)
            chosen, run = self._prepare(clean_question(question), Iterative.name, params or {}, (), reports)
            return await cast("Iterative", chosen).retrieve(run, watch)

    async def search(self, query: str, *, limit: int = 10) -> Hits:
        """Search the configured sources, nothing more. `failures` names those that could not be asked."""
        from wellread.types import Query

        question, source = clean_question(query, "query"), self._main_source()
        asked = Query(question, limit, language=foreign_language(question))
        with in_force(self._privacy(question, self.outside)):
            return Hits.all_of(await ask_source(source, asked))

    def strategy(self, wanted: str | None = None) -> str:
        """The one that answers: named here or in the settings, else `auto`; that is `quote` without a model."""
        name = wanted or self.settings.strategy or "auto"
        return "quote" if name == "auto" and self.kit.model_spec() is None else name

    def _prepare(
        self, question: str, strategy: str | None, params: Mapping[str, object], history: History, reports: _Reports
    ) -> tuple[Strategy, Run]:
        """The strategy and the run it will work on; raises `UsageError` before anything has happened."""
        name = self.strategy(strategy)
        chosen: Strategy = plugins.recipe(name, encodable({**self.settings.params.get(name, {}), **params}))
        model = self.kit.model_spec() if chosen.needs_model else None
        if chosen.needs_model is True and model is None:
            raise UsageError(NO_MODEL)
        outside, source, named = reports.outside, self._main_source(), self.settings.fallback
        fallback = self._fallback or (self.kit.source(named) if named else None)
        run = Run(
            question=question,
            strategy=name,
            source=outside.source("main", source),
            kit=outside.kit(self.kit),
            budget=reports.budget,
            emit=reports.emit,
            clock=outside.clock,
            today=outside.today(),
            marker=outside.marker(),
            fallback=outside.source("fallback", fallback) if fallback else None,
            history=encodable(history),
            earlier=outside.earlier,
            model_name=public(model) if model else None,
            timeout=reports.timeout,
            aside=outside.aside,
            privacy=self._privacy(question, outside),
            language=foreign_language(question),
        )
        run.privacy.begin((source, *self._before), run.history)
        return chosen, run

    async def _broken(self, run: Run) -> ModelError | None:
        """Why the model cannot be asked, found out before anything is done; a wrong name or key is wrong usage. In a run that
        is recorded or replayed its first call tells."""
        if run.kit is not self.kit:
            return None
        try:
            await self.kit.ready()
        except (UnknownModel, WrongKey) as problem:
            raise UsageError(str(problem)) from problem
        except ModelError as problem:
            return problem
        return None

    def _privacy(self, question: str, outside: Environment) -> Privacy:
        return Privacy(question, self.settings.share_private, outside.consent, self.settings.allow_hosts)

    def _main_source(self) -> Source:
        return self._source or self.kit.several(self.settings.sources or ("library",))


class _Reports:
    """Event queue of a run, stamped with the time, in the order in which things happen, also in parallel work."""

    def __init__(self, outside: Environment, timeout: Limiter, limits: Limits) -> None:
        self.outside, self.timeout = outside, timeout
        self.budget = Budget(limits, outside.clock)
        self._stamp = outside.stamp or outside.clock
        self.waiting: deque[events.Event] = deque()
        self.more = asyncio.Event()

    def emit(self, event: events.Event) -> None:
        # In place, before anyone has seen it: a copy of each event would be a tenth of the engine's cost. To 0.1 ms;
        # `round` would take longer than all else here.
        _STAMPED(event, int((self._stamp() - self.budget.begun) * 10_000 + 0.5) / 10_000)
        self.waiting.append(event)
        self.more.set()


async def _work(strategy: Strategy, run: Run, broken: ModelError | None) -> None:
    """Run the strategy to its end; whatever happens, the last event is `Answered`."""
    from wellread.strategies.ending import concluded

    unforeseen = None
    try:
        answer = await concluded(strategy, run, broken)
    except WellreadError as problem:
        answer = await run.answer("", outcome="failed", reason=str(problem))
    except Exception as problem:
        unforeseen = type(problem).__name__
        answer = await run.answer("", outcome="failed", reason=f"unexpected {unforeseen}: {problem}")
    run.emit(events.Answered(run.finished(answer, unforeseen)))


def clean_question(text: str, what: str = "question") -> str:
    """Control characters out, white space evened; nothing left or far too much is wrong usage."""
    printable = text if text.isprintable() else "".join(c if c.isprintable() or c.isspace() else " " for c in text)
    cleaned = " ".join(printable.split())
    if not cleaned:
        raise UsageError(f"the {what} is empty")
    if len(cleaned) > MAX_QUESTION:
        raise UsageError(f"the {what} is {len(cleaned):,} characters long; at most {MAX_QUESTION:,} are read")
    return cleaned
