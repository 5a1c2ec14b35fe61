"""What a strategy works with: one run's question, parts, purse and numbered passages.

Every method that touches the outside charges the budget, keeps to the time left, bounds concurrency
and reports what it did, so that no strategy can forget to. Events go to `emit` the moment they
happen, also from parallel work.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from types import TracebackType
from typing import Protocol, TypeVar

from wellread import events
from wellread.budget import Budget
from wellread.cutoff import CutOff, ended_here, in_order, refused, spent
from wellread.encodable import Pieces
from wellread.errors import BudgetExhausted, ReadError, SourceError
from wellread.protocols import Kit, Model, Source
from wellread.text.citations import check
from wellread.types import PAIRS, Answer, Completion, Hit, Hits, Outcome, Page, Passage, Prompt, Query

T = TypeVar("T")


class Patience(Protocol):
    """How long something may take, as a context: it cancels what is inside and raises `TimeoutError`."""

    async def __aenter__(self) -> object: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...
    def expired(self) -> bool: ...


def real_time(seconds: float | None, limit: str) -> Patience:
    """Patience by the clock on the wall; `limit` says what it belongs to: "seconds" is the run's budget."""
    return asyncio.timeout(seconds)


def _kit_as_it_is(kit: Kit) -> Kit:
    return kit


def _source_as_it_is(role: str, source: Source) -> Source:
    return source


@dataclass(frozen=True, slots=True)
class World:
    """What a run takes from outside; recording and replay bring their own and put themselves before the parts."""

    clock: Callable[[], float] = time.monotonic
    today: Callable[[], str] = lambda: date.today().isoformat()
    marker: Callable[[], str] = lambda: secrets.token_hex(4)
    timeout: Callable[[float | None, str], Patience] = real_time
    tick: Callable[[], None] = lambda: None  # called before each event is stamped
    kit: Callable[[Kit], Kit] = _kit_as_it_is
    source: Callable[[str, Source], Source] = _source_as_it_is  # the role is "main" or "fallback"
    counts_cut_off: bool = True  # False in old recordings: model calls that were cut off cost nothing there


@dataclass(slots=True)
class Run:
    """Mutable on purpose and private to one run: the purse empties, passages get numbers."""

    question: str
    strategy: str
    source: Source
    kit: Kit
    budget: Budget
    emit: Callable[[events.Event], None]
    clock: Callable[[], float]
    today: str  # ISO date; prompts know it
    marker: str  # random per run; fences foreign text in prompts
    fallback: Source | None = None
    history: tuple[tuple[str, str], ...] = ()  # earlier questions and answers of a chat
    model_name: str | None = None
    timeout: Callable[[float | None, str], Patience] = real_time
    counts_cut_off: bool = True
    passages: dict[int, Passage] = field(default_factory=dict[int, Passage])
    failures: list[str] = field(default_factory=list[str])  # of sources; part of the reason when nothing is found
    _lent: int = 0  # pairs that searches under way may read
    _together: int = 0  # `gather`s under way
    _cut_off: list[CutOff] = field(default_factory=list[CutOff])  # in parallel work, not yet reported
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(32))

    async def search(
        self,
        text: str,
        *,
        limit: int = 10,
        source: Source | None = None,
        since: str | None = None,
        until: str | None = None,
        read: bool = True,
    ) -> tuple[Hit, ...]:
        """Hits for one query. A failing source is reported and gives no hits; a budget raises.

        `read`: whether the source may use the evaluator (`hops=2`), with the pairs that are left.
        """
        where = source or self.source
        self.budget.search()
        self.emit(events.Searching(text, (where.name,)))
        begun = self.clock()
        failures: tuple[str, ...] = ()
        hits: tuple[Hit, ...] = ()
        lent = max(0, self.pairs_left - self._lent) if read else 0
        self._lent += lent  # searches at once must not spend the same pairs
        try:
            query = Query(text, limit, since, until, pairs=lent)
            found = await self.timed(self._slotted(where.search(query)))
            hits, failures = tuple(found), found.failures if isinstance(found, Hits) else ()
            if isinstance(found, Hits) and found.pairs:
                self.budget.pairs(found.pairs)
        except SourceError as problem:
            failures = (str(problem),)
        finally:
            self._lent -= lent
        self.failures.extend(failures)
        self.emit(events.Searched(text, hits, self.clock() - begun, failures))
        return hits

    async def read(self, url: str) -> Page | None:
        """The page behind an address, or None when it cannot be read (which is reported)."""
        self.budget.page()
        self.emit(events.Reading(url))
        begun = self.clock()
        try:
            page = await self.timed(self._slotted(self.kit.pages().read(url)))
        except ReadError as problem:
            self.emit(events.PageFailed(url, problem.reason))
            return None
        self.emit(events.PageRead(url, page.title, len(page.passages), self.clock() - begun))
        return page

    async def generate(self, prompt: Prompt, *, role: str, model: Model | None = None) -> AsyncIterator[str | Completion]:
        """Stream one model call; the last item is the completion."""
        chosen = model or self.kit.model()
        prompt = self._within_tokens(prompt)
        begun = self.clock()
        arrived: list[str] = []
        pieces = Pieces()
        async with self._slots:
            with self.budget.call(self._estimate(chosen, prompt)):
                stream = chosen.stream(prompt)
                try:
                    while (item := await self.timed(_next(stream))) is not None:
                        if isinstance(item, Completion):
                            break
                        if piece := pieces.feed(item):
                            arrived.append(piece)
                            yield piece
                except BaseException as problem:
                    if not refused(problem, text := "".join(arrived)):
                        self._count_cut_off(CutOff(role, chosen.name, begun, spent(chosen, prompt, text)), ended_here(problem))
                    raise
                else:  # before the stream is closed: whoever cancels that does not get the call for nothing
                    if item is None:
                        item = spent(chosen, prompt, "".join(arrived))
                        self._count_cut_off(CutOff(role, chosen.name, begun, item))
                    else:
                        self.budget.spend(item)
                        took = self.clock() - begun
                        self.emit(events.ModelCalled(role, chosen.name, item.input_tokens, item.output_tokens, item.cost, took))
                finally:
                    await _close(stream)
        if rest := pieces.rest():
            yield rest
        yield item

    async def complete(self, prompt: Prompt, *, role: str, model: Model | None = None) -> Completion:
        """One model call, whole."""
        last: str | Completion = ""
        async for item in self.generate(prompt, role=role, model=model):
            last = item
        assert isinstance(last, Completion)
        return last

    async def gather(self, jobs: Sequence[Awaitable[T]]) -> list[T]:
        """Run jobs together; the first error cancels the others."""
        self._together += 1
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_awaited(job)) for job in jobs]
        except BaseExceptionGroup as several:  # callers handle single errors: a budget, a model
            raise several.exceptions[0] from None
        finally:
            self._together -= 1
            if self._cut_off and not self._together:
                calls, self._cut_off = self._cut_off, []
                for event in in_order(calls, self.clock()):
                    self.emit(event)
        return [task.result() for task in tasks]

    async def timed(self, job: Awaitable[T]) -> T:
        """Wait for a job no longer than the run may still take."""
        limit = self.timeout(self.budget.seconds_left(), "seconds")
        try:
            async with limit:
                return await job
        except TimeoutError:
            if limit.expired():
                raise BudgetExhausted("seconds") from None
            raise

    @property
    def pairs_left(self) -> int:
        """Pairs of question and passage that the evaluator may still read at this effort."""
        return max(0, PAIRS[self.kit.effort] - self.budget.usage.pairs)

    def number(self, passage: Passage) -> int:
        """The passage's number in this run; a new one is reported."""
        known = self._numbers.get(passage.id)
        if known is not None:
            return known
        number = len(self._numbers) + 1
        self._numbers[passage.id] = number
        self.passages[number] = passage
        self.emit(events.Numbered(number, passage))
        return number

    def answer(
        self,
        text: str,
        *,
        outcome: Outcome = "answered",
        reason: str | None = None,
        short: str | None = None,
        confidence: float | None = None,
    ) -> Answer:
        """The finished answer, its sentences checked against the numbered passages."""
        return Answer(
            question=self.question,
            text=text,
            outcome=outcome,
            strategy=self.strategy,
            reason=reason,
            model=self.model_name,
            short=short,
            confidence=confidence,
            sentences=tuple(check(text, self.passages)),
            passages=dict(self.passages),
            usage=self.budget.usage,
            seconds=self.budget.seconds,
        )

    async def _slotted(self, job: Awaitable[T]) -> T:
        async with self._slots:
            return await job

    def _count_cut_off(self, call: CutOff, cancelled: bool = False) -> None:
        """Count a call without a completion. Cancelled ones end in any order: they are reported when all have ended."""
        if not self.counts_cut_off:
            return
        self.budget.lose(call.spent)
        if cancelled and self._together:
            self._cut_off.append(call)
        else:
            self.emit(call.event(self.clock()))

    def _within_tokens(self, prompt: Prompt) -> Prompt:
        """Never ask for more tokens than the budget has left."""
        left = self.budget.tokens_left()
        if left is None or left == 0:
            return prompt
        asked = left if prompt.max_tokens is None else min(left, prompt.max_tokens)
        return replace(prompt, max_tokens=asked)

    def _estimate(self, model: Model, prompt: Prompt) -> int:
        if self.budget.limits.tokens is None:
            return 0
        return sum(model.count_tokens(message.text) for message in prompt.messages) + (prompt.max_tokens or 0)


async def _next(stream: AsyncIterator[T]) -> T | None:
    return await anext(stream, None)


async def _close(stream: object) -> None:
    close = getattr(stream, "aclose", None)  # asking for the protocol instead would cost more than the call
    if close is not None:
        await close()


async def _awaited(job: Awaitable[T]) -> T:
    return await job


def as_values(params: object) -> Mapping[str, object]:
    """A parameter set as plain values, for the `Started` event."""
    return {name: getattr(params, name) for name in getattr(params, "__dataclass_fields__", {})}
