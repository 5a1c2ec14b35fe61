"""Budget: hard limits on searches, tokens, seconds, dollars.

A search is counted before it starts. A model call is allowed what is left beside its prompt, holds that back while it
runs and is settled with what it used, or with an estimate when it was cut off: no limit is passed but by what a
provider counts otherwise. Reaching a limit raises `BudgetExhausted`; the answer is then made from what was found.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import fsum

from wellread.core.values import frozen
from wellread.errors import BudgetExhausted
from wellread.types import Completion, Usage


@frozen
class Limits:
    """None means no limit. Tokens are input and output together."""

    searches: int | None = None
    tokens: int | None = None
    seconds: float | None = 300.0
    cost: float | None = None


class _Reservation:
    """Reservation of a model call, held back while inside. Written out: `contextmanager` costs twice as much."""

    __slots__ = ("_held", "cost", "tokens")

    def __init__(self, tokens: int, cost: float, held: list[_Reservation]) -> None:
        self.tokens, self.cost, self._held = tokens, cost, held

    def __enter__(self) -> None:
        self._held.append(self)

    def __exit__(self, *_: object) -> None:
        self._held.remove(self)


class Budget:
    """The purse of one run. Not thread-safe: it lives on the run's event loop."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self.begun = clock()
        self.pairs_read = 0  # by the evaluator
        self._searches = self._pages = self._calls = self._tokens_in = self._tokens_out = 0
        self._all_priced = True
        self._reserved: list[_Reservation] = []
        self._paid = 0.0  # known prices of finished calls
        self._lost = 0.0  # and of those that were cut off
        self._losses: list[float] = []

    @property
    def usage(self) -> Usage:
        """Usage so far. An unknown price makes the whole cost unknown."""
        cost = self.known_cost if self._all_priced else None
        return Usage(self._searches, self._pages, self._calls, self._tokens_in, self._tokens_out, self.pairs_read, cost)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self.begun

    def seconds_left(self) -> float | None:
        """None without a limit; never below zero."""
        return None if self.limits.seconds is None else max(0.0, self.limits.seconds - self.seconds)

    def tokens_left(self) -> int | None:
        """Remaining tokens, neither spent nor reserved; None without a limit."""
        if self.limits.tokens is None:
            return None
        return max(0, self.limits.tokens - self._tokens_in - self._tokens_out - sum(r.tokens for r in self._reserved))

    def cost_left(self) -> float | None:
        """US dollars neither spent, as far as prices are known, nor reserved; None without a limit."""
        return None if self.limits.cost is None else self.limits.cost - self.known_cost - sum(r.cost for r in self._reserved)

    @property
    def known_cost(self) -> float:
        """US dollars spent, as far as prices are known; the limit goes by it, whether or not `usage.cost` is known."""
        return self._paid + self._lost

    def check(self) -> None:
        """Raise when a limit that stops a model call is reached."""
        self._check_time()
        if self.tokens_left() == 0:
            raise BudgetExhausted("tokens")
        if (cost := self.cost_left()) is not None and cost <= 0:
            raise BudgetExhausted("cost")

    def search(self) -> None:
        """Count a search that is about to start."""
        self._check_time()
        if self.limits.searches is not None and self._searches >= self.limits.searches:
            raise BudgetExhausted("searches")
        self._searches += 1

    def page(self) -> None:
        """Count a page that is about to be read."""
        self._check_time()
        self._pages += 1

    def pairs(self, count: int) -> None:
        """Count pairs that the evaluator has read."""
        self.pairs_read += count

    def call(self, tokens: int, cost: float = 0.0) -> AbstractContextManager[None, None]:
        """Hold `tokens` and `cost` back while a model call runs; `spend` or `lose` settles it."""
        self.check()
        return _Reservation(tokens, cost, self._reserved)

    def spend(self, completion: Completion) -> None:
        """Count a finished model call."""
        if completion.cost is not None:
            self._paid += completion.cost
        self._count(completion)

    def lose(self, spent: Completion) -> None:
        """Count a model call that was cut off. The sum is the same in whatever order parallel calls end."""
        if spent.cost is not None:
            self._losses.append(spent.cost)
            self._lost = fsum(self._losses)
        self._count(spent)

    def _count(self, completion: Completion) -> None:
        self._calls += 1
        self._tokens_in += completion.input_tokens
        self._tokens_out += completion.output_tokens
        self._all_priced = self._all_priced and completion.cost is not None

    def _check_time(self) -> None:
        if self.limits.seconds is not None and self.seconds >= self.limits.seconds:
            raise BudgetExhausted("seconds")
