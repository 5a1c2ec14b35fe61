from __future__ import annotations

import pytest

from wellread.budget import Budget, Limits
from wellread.errors import BudgetExhausted
from wellread.types import Completion


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_searches_are_counted_before_they_start() -> None:
    budget = Budget(Limits(searches=2), Clock())
    budget.search()
    budget.search()
    with pytest.raises(BudgetExhausted) as caught:
        budget.search()
    assert caught.value.limit == "searches"
    assert budget.usage.searches == 2


def test_time_runs_out_for_everything() -> None:
    clock = Clock()
    budget = Budget(Limits(seconds=1.0), clock)
    budget.page()
    clock.now = 1.0
    for spend in (budget.search, budget.page, budget.check):
        with pytest.raises(BudgetExhausted, match="seconds"):
            spend()
    assert budget.seconds_left() == 0


def test_parallel_calls_reserve_what_they_may_use() -> None:
    budget = Budget(Limits(tokens=100), Clock())
    with budget.call(60), budget.call(60), pytest.raises(BudgetExhausted, match="tokens"), budget.call(1):
        pytest.fail("a third call was let in")
    with budget.call(10):  # what was reserved and not spent is free again
        budget.spend(Completion("", input_tokens=70, output_tokens=40))
    with pytest.raises(BudgetExhausted, match="tokens"):
        budget.check()


def test_cost_stops_calls() -> None:
    budget = Budget(Limits(cost=0.01), Clock())
    with budget.call(0, cost=0.02), pytest.raises(BudgetExhausted, match="cost"), budget.call(0):
        pytest.fail("a call was let in")
    budget.spend(Completion("", cost=0.01))
    with pytest.raises(BudgetExhausted, match="cost"):
        budget.check()


def test_one_unknown_price_makes_the_cost_unknown() -> None:
    budget = Budget(Limits(), Clock())
    budget.spend(Completion("", cost=0.5))
    assert budget.usage.cost == 0.5
    budget.spend(Completion("", cost=None))
    budget.spend(Completion("", cost=0.5))
    assert budget.usage.cost is None
    assert budget.usage.model_calls == 3


def test_without_limits_nothing_stops() -> None:
    budget = Budget(Limits(seconds=None), Clock())
    for _ in range(1000):
        budget.search()
    budget.check()
    assert budget.seconds_left() is None
    assert budget.tokens_left() is None
