from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_the_limit_on_cost_goes_by_what_is_known() -> None:
    budget = Budget(Limits(cost=0.01), Clock())
    budget.spend(Completion("", cost=0.006))
    budget.spend(Completion("", cost=None))
    budget.check()
    budget.lose(Completion("", cost=None))
    budget.lose(Completion("", cost=0.004))
    assert budget.usage.cost is None
    assert budget.known_cost == 0.01
    with pytest.raises(BudgetExhausted, match="cost"):
        budget.check()


def test_calls_that_were_cut_off_are_spent() -> None:
    budget = Budget(Limits(tokens=100), Clock())
    with budget.call(100):
        budget.lose(Completion("some words", input_tokens=90, output_tokens=10))
    assert (budget.usage.model_calls, budget.usage.input_tokens, budget.usage.output_tokens) == (1, 90, 10)
    with pytest.raises(BudgetExhausted, match="tokens"):
        budget.check()


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 10)), min_size=2, max_size=12), st.randoms())
def test_parallel_calls_that_are_cut_off_cost_the_same_in_any_order(calls: list[tuple[bool, float]], chance: Random) -> None:
    """Bit for bit; finished calls keep their own order."""

    def cost(order: list[tuple[bool, float]]) -> float | None:
        budget = Budget(Limits(), Clock())
        for finished, price in order:
            (budget.spend if finished else budget.lose)(Completion("", cost=price))
        return budget.usage.cost

    losses = [call for call in calls if not call[0]]
    chance.shuffle(losses)
    shuffled = [call if call[0] else losses.pop() for call in calls]
    assert cost(calls) == cost(shuffled)


def test_without_limits_nothing_stops() -> None:
    budget = Budget(Limits(seconds=None), Clock())
    for _ in range(1000):
        budget.search()
    budget.check()
    assert budget.seconds_left() is None
    assert budget.tokens_left() is None
