"""A run: its question, parts, budget and numbered passages; everything that a strategy works with.

Every method that touches the outside charges the budget, keeps to the time left, bounds concurrency
and reports what it did, so that no strategy can forget to. Events go to `emit` the moment they
happen, also from parallel work. Model calls that end without a completion (cancelled, out of time,
broken off) are billed by providers all the same, so they are counted here by an estimate.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, ClassVar, Literal, Protocol, TypeVar, cast

from wellread import events
from wellread.budget import Budget
from wellread.citations import verdicts
from wellread.citations.check import Weighed
from wellread.core.effort import ALLOWED
from wellread.core.timeouts import Aside, Limiter, OneTimer, real_time
from wellread.core.unicode_safety import Pieces, with_texts
from wellread.core.values import frozen
from wellread.errors import BrokenStream, BudgetExhausted, ModelError, ReadError, SourceError, Unreachable, WellreadError
from wellread.models.call import ModelCall, all_that_shows
from wellread.parameters import PublicSpec, public
from wellread.privacy import Consent, Privacy, in_force, leaves
from wellread.privacy import search as ask
from wellread.protocols import Model, Parts, Source, trained
from wellread.text.inert import inert
from wellread.types import Answer, Completion, Hit, Hits, Near, Outcome, Page, Passage, Prompt, Query, Sentence

T = TypeVar("T")
Proof = Callable[[Sequence[verdicts.Read]], Awaitable[list[Sentence]]]  # the sentences with the verdicts of a closer reading
History = tuple[tuple[str, str], ...]  # earlier questions and answers of a conversation


@frozen
class Environment:
    """Clock, randomness and parts from outside a run; recording and replay bring their own."""

    clock: Callable[[], float] = time.monotonic
    today: Callable[[], str] = lambda: date.today().isoformat()
    marker: Callable[[], str] = lambda: os.urandom(4).hex()
    patience: Callable[[], AbstractContextManager[Limiter]] = OneTimer  # of one run
    stamp: Callable[[], float] | None = None  # instead of the clock, when an event is reported
    aside: Aside = asyncio.to_thread
    earlier: Sequence[events.Event] = ()  # of a run that was stopped, which this one goes on with
    consent: Consent | None = None  # asks a person whether a query with private words may leave
    kit: Callable[[Parts], Parts] = lambda kit: kit
    source: Callable[[str, Source], Source] = lambda role, source: source  # the role is "main" or "fallback"


class Strategy(Protocol):
    """A recipe. What happens on the way it reports through its run; `Params` is a frozen dataclass (see `parameters`)."""

    name: ClassVar[str]
    summary: ClassVar[str]
    needs_model: ClassVar[bool | Literal["optional"]]  # optional: it has something to say without one, too
    Params: ClassVar[type[Any]]

    @property
    def params(self) -> Any: ...
    async def answer(self, run: Run) -> Answer: ...


@dataclass(slots=True)
class Together:
    """Searches that run at the same time, and how many of them are done."""

    of: int
    done: int = 0

    def one_more(self) -> tuple[int, int]:
        self.done += 1
        return self.done, self.of


@dataclass(slots=True)
class Run:
    """Mutable on purpose and private to one run: the purse empties, passages get numbers."""

    question: str
    strategy: str
    source: Source
    kit: Parts
    budget: Budget
    emit: Callable[[events.Event], None]
    clock: Callable[[], float]
    today: str  # ISO date; prompts know it
    marker: str  # random per run; fences foreign text in prompts
    fallback: Source | None = None
    history: History = ()
    earlier: Sequence[events.Event] = ()  # of a run of the same question that was stopped
    shares: int = 1  # times that it may read what the effort allows: a report, once for each section
    model_name: PublicSpec | None = None
    timeout: Limiter = real_time
    aside: Aside = asyncio.to_thread
    spent: BudgetExhausted | None = None  # the limit that ended the work, once one has
    passages: dict[int, Passage] = field(default_factory=dict)
    language: str | None = None  # of the question, where that is another than English
    understood: str | None = None  # its question, where that is a follow-up that was made to stand alone
    failures: list[str] = field(default_factory=list)  # of sources; part of the reason when nothing is found
    complaints: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the same, by the query
    withdrawn: dict[str, str] = field(default_factory=dict)  # sources that cannot be reached, and why
    found: dict[str, Hit] = field(default_factory=dict)  # whatever any search has brought, to quote where a limit ends
    notes: list[str] = field(default_factory=list)  # what a reader of the answer should know of how it was found
    broken: ModelError | None = None  # why its model cannot be asked, once that is known
    privacy: Privacy = field(default_factory=lambda: Privacy("", "always"))
    _lent: int = 0  # pairs that searches under way may read
    _together: int = 0  # `gather`s under way
    _cut_off: list[tuple[ModelCall, Completion]] = field(default_factory=list)  # not yet reported
    _numbers: dict[str, int] = field(default_factory=dict)
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
        among: Together | None = None,
    ) -> tuple[Hit, ...]:
        """Hits for one query. A failing source is reported and gives no hits; a budget raises.

        `read`: whether the source may follow what it finds (`hops=2`), with the pairs that are left. One that could not
        be reached is not asked again: see `withdrawn`. `among` counts searches that run at the same time.
        """
        where = source or self.source
        if where.name in self.withdrawn:
            return ()
        self.budget.search()
        self.emit(events.Searching(text, (where.name,)))
        self.complaints.setdefault(text, ())
        begun = self.clock()
        lent = max(0, self.pairs_left - self._lent) if read else 0
        self._lent += lent  # searches at once must not spend the same pairs
        try:
            asked = Query(text, limit, since, until, self.language, pairs=lent, without=tuple(self.withdrawn), follow=read)
            async with self._slots:
                with in_force(self.privacy):
                    found = Hits.all_of(await self.timed(ask(where, asked)))
            self._withdraw(found.unreachable)
        except Unreachable as problem:
            self._withdraw({where.name: problem.message})
            found = Hits(failures=(str(problem),))
        except SourceError as problem:
            found = Hits(failures=(str(problem),))
        finally:
            self._lent -= lent
        sent, withheld = self.privacy.told()
        for name, words in sent:
            if words not in self.complaints:  # as a second step
                self.emit(events.Notice(f"{name} was also asked: {words}", "info"))
        for hit in found.hits:
            if hit.words.strip():
                self.found[hit.id] = hit
        self.budget.pairs(found.pairs)
        self.failures.extend(found.failures)
        self.complaints[text] = found.failures
        number, of = among.one_more() if among else (0, 0)
        self.emit(events.Searched(text, found.hits, self.clock() - begun, found.failures, number, of, withheld))
        return found.hits

    async def read(self, url: str) -> Page | None:
        """The page behind an address, or None when it cannot be read (which is reported)."""
        self.budget.page()
        self.emit(events.Reading(url))
        begun = self.clock()
        try:
            async with self._slots:
                page = await self.timed(self.kit.pages().read(url))
        except ReadError as problem:
            self.emit(events.PageFailed(url, problem.reason))
            return None
        self.privacy.read(page)
        self.emit(events.PageRead(url, page.title, len(page.passages), self.clock() - begun))
        return page

    async def generate(self, prompt: Prompt, *, role: str, model: Model | None = None) -> AsyncGenerator[str | Completion]:
        """Stream one model call; the last item is the completion."""
        call = ModelCall(role, model or self.kit.model(), prompt, self.clock())
        self.privacy.instructed(prompt)
        pieces = Pieces()
        async with self._slots:
            with self._reserved(call):
                stream = call.model.stream(call.prompt)
                try:
                    while isinstance(item := await self.timed(anext(stream, None)), str):
                        if piece := pieces.feed(item):
                            if call.exceeds(piece):
                                item = None
                                break
                            call.arrived.append(piece)
                            yield piece
                except BaseException as problem:
                    self._broken_off(call, problem)
                    raise
                else:  # before the stream is closed: whoever cancels that does not get the call for nothing
                    completion = self._ended(call, item)
                finally:
                    if close := getattr(stream, "aclose", None):  # asking for the protocol instead would cost more than the call
                        await close()
        if call.narrowed and completion.finish == "length":
            with self.until_spent():
                raise BudgetExhausted(call.narrowed)
        if rest := pieces.rest():
            yield rest
        yield completion

    async def complete(self, prompt: Prompt, *, role: str, model: Model | None = None) -> Completion:
        """One model call, whole."""
        last: str | Completion = ""
        async for item in self.generate(prompt, role=role, model=model):
            last = item
        assert isinstance(last, Completion)
        return last

    async def gather(self, jobs: Sequence[Awaitable[T]]) -> list[T]:
        """Run jobs together; the first error cancels the others, but a limit leaves those that it has let in to their end."""
        self._together += 1
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_unless_spent(job)) for job in jobs]
        except BaseExceptionGroup as several:  # callers handle single errors: a budget, a model
            raise several.exceptions[0] from None
        finally:
            self._together -= 1
            if self._cut_off and not self._together:
                self._report_cut_off()
        done = [task.result() for task in tasks]
        if problem := next((one for one in done if isinstance(one, BudgetExhausted)), None):
            raise problem
        return cast("list[T]", done)

    def part(self, made: Callable[[], T], without: str, level: Literal["info", "warning"] = "warning") -> T | None:
        """A part of the kit; None where it cannot be had, and what is done `without` it is told."""
        try:
            return made()
        except (WellreadError, ImportError) as problem:
            self.emit(events.Notice(f"{without}: {problem}", level))
            return None

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

    @contextmanager
    def until_spent(self) -> Generator[None]:
        """Work that ends where a budget does. The first limit that is reached is reported and kept in `spent`."""
        try:
            yield
        except BudgetExhausted as problem:
            if self.spent is None:
                self.spent = problem
                self.emit(events.Exhausted(problem.limit))

    @property
    def pairs_left(self) -> int:
        """Pairs of question and passage that the evaluator may still read at this effort."""
        return max(0, self.shares * ALLOWED[self.kit.effort].pairs - self.budget.pairs_read)

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

    async def answer(
        self,
        text: str,
        *,
        outcome: Outcome = "answered",
        reason: str | None = None,
        short: str | None = None,
        confidence: float | None = None,
        missing: Sequence[str] = (),
        nearest: tuple[Near, ...] = (),
        tries: tuple[str, ...] = (),
        asks: str | None = None,
        proof: Proof | None = None,
        checked: Sequence[Sentence] | None = None,
    ) -> Answer:
        """The answer, its sentences checked against the numbered passages. The check, and the `proof` where there is one, decide
        whether it is a whole one, answers a part, or only says what is missing: only then it has the `reason`. A text of parts
        that were `checked` is not read again. What is known when all work is done comes in the end, by `finished`."""
        text = inert(text, self.passages)
        spent = self.spent  # what a proof costs leaves the answer whole
        # Long answers on long passages take many milliseconds to check, and others share the loop.
        given = (text if checked is None else "", dict(self.passages), self.question, missing)
        judged, said = await self.aside(verdicts.judged, *given) if text or missing else ([], [])
        read = await self._reread(judged) if checked is None else [verdicts.Read(one) for one in checked]
        sentences = [one.sentence for one in read]
        missing = verdicts.missing(sentences, said)
        if outcome == "answered":
            outcome = verdicts.outcome(sentences, missing)
            if proof and outcome != "unsure":
                sentences = await proof(read)
                missing = verdicts.missing(sentences, missing)
                outcome = verdicts.outcome(sentences, missing)
        if self.broken and not text:
            outcome, reason = "failed", str(self.broken)
        elif spent and outcome in ("answered", "partial"):
            outcome, reason = "exhausted", str(spent)
        return Answer(
            question=self.question,
            text=text,
            outcome=outcome,
            strategy=self.strategy,
            reason=None if outcome in ("answered", "partial") else reason,
            model=self.model_name,
            short=short,
            confidence=confidence,
            missing=missing,
            sentences=tuple(sentences),
            passages=dict(self.passages),
            asks=asks,
            nearest=nearest,
            tries=tries,
        )

    def finished(self, answer: Answer, unforeseen: str | None = None) -> Answer:
        """The answer at the end of the run, with all that was numbered and used on the way."""
        return replace(
            answer,
            passages={**answer.passages, **self.passages},
            usage=self.budget.usage,
            seconds=self.budget.seconds,
            understood=self.understood,
            nearest=tuple(
                replace(one, number=number) for number, one in enumerate(answer.nearest, max(self.passages, default=0) + 1)
            ),
            notes=(*self.notes, *answer.notes, *dict.fromkeys(why for one in leaves(self.source) for why in one.unfinished)),
            unforeseen=unforeseen,
        )

    def _withdraw(self, unreachable: Mapping[str, str]) -> None:
        """Searches at the same time may fail together: the first to say so is reported."""
        for name, why in unreachable.items():
            if name not in self.withdrawn:
                self.withdrawn[name] = why
                self.emit(events.Notice(f"{name} cannot be reached and is not asked again: {why}"))

    async def _reread(self, judged: Sequence[Weighed]) -> Sequence[verdicts.Read]:
        """The closer reading. Without time or evaluator the rules' verdicts stand."""
        try:
            most = verdicts.MOST if ALLOWED[self.kit.effort].pairs and not self.spent else 0
            read, used = await self.timed(verdicts.reread(judged, lambda: trained(self.kit.answer_reader(), self.language), most))
        except WellreadError:
            return [verdicts.Read(one.sentence) for one in judged]
        self.budget.pairs(used)
        return read

    def _ended(self, call: ModelCall, completion: Completion | None) -> Completion:
        """Account for a call that came to its end; without a completion it counts as cut off."""
        if completion is None:
            return replace(self._count_cut_off(call), finish="length" if call.most else "end")
        self.budget.spend(completion)
        self.emit(call.event(completion, self.clock(), cut_off=False))
        return completion

    def _broken_off(self, call: ModelCall, problem: BaseException) -> None:
        """Account for a call that an error ended. One in place of a reply (a wrong key, an overload) costs nothing."""
        ended_here = not isinstance(problem, Exception) or isinstance(problem, BudgetExhausted | TimeoutError)
        known = (problem.input_tokens, problem.output_tokens) if isinstance(problem, ModelError) else (0, 0)
        if ended_here or call.arrived or any(known) or isinstance(problem, BrokenStream):
            self._count_cut_off(call, known, cancelled=ended_here)

    def _count_cut_off(self, call: ModelCall, known: tuple[int, int] = (0, 0), *, cancelled: bool = False) -> Completion:
        """Cancelled calls end in any order: they are reported when all that ran together have ended."""
        used = call.spent(known)
        self.budget.lose(used)
        if cancelled and self._together:
            self._cut_off.append((call, used))
        else:
            self.emit(call.event(used, self.clock(), cut_off=True))
        return used

    def _report_cut_off(self) -> None:
        """Chance ends calls that are cancelled together in any order; a replay must show the same one."""
        calls, self._cut_off = self._cut_off, []
        for call, used in sorted(calls, key=all_that_shows):
            self.emit(call.event(used, self.clock(), cut_off=True))

    def _reserved(self, call: ModelCall) -> AbstractContextManager[None, None]:
        """Reserve the tokens and cost of a call while it runs, where there are limits."""
        limits = self.budget.limits
        if limits.tokens is None and limits.cost is None:
            return self.budget.call(0)
        call.afford(self.budget)
        tokens_in, tokens_out = call.prompt_tokens(), call.prompt.max_tokens or 0
        cost = None if limits.cost is None else call.price(tokens_in, tokens_out)
        unpriced = f"the limit on cost does not hold for {call.model.name}: its price is unknown"
        if limits.cost is not None and cost is None and unpriced not in self.notes:
            self.notes.append(unpriced)
            self.emit(events.Notice(unpriced))
        return self.budget.call(tokens_in + tokens_out, cost or 0.0)


async def _unless_spent(job: Awaitable[T]) -> T | BudgetExhausted:
    try:
        return await job
    except BudgetExhausted as problem:
        return problem


def as_values(params: object) -> Mapping[str, object]:
    """A parameter set as plain values, for the `Started` event; specs in their public form."""
    return {name: with_texts(getattr(params, name), public) for name in getattr(params, "__dataclass_fields__", {})}
