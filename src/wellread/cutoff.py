"""Model calls that end without a completion: cancelled, out of time, broken off. Providers bill them all the same.

Nobody tells what such a call has used, so it is estimated: the prompt, and the words that had arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wellread.errors import BrokenStream, BudgetExhausted
from wellread.events import ModelCalled
from wellread.protocols import Model, Priced
from wellread.types import Completion, Prompt


@dataclass(frozen=True, slots=True)
class CutOff:
    """One such call; `spent` is what it has used as far as anyone here can know."""

    role: str
    model: str
    begun: float
    spent: Completion

    def event(self, now: float) -> ModelCalled:
        spent = self.spent
        return ModelCalled(
            self.role, self.model, spent.input_tokens, spent.output_tokens, spent.cost, now - self.begun, cut_off=True
        )


def spent(model: Model, prompt: Prompt, text: str) -> Completion:
    """What a call has used whose `text` had arrived. The price stays unknown where the model cannot tell it."""
    tokens_in = sum(model.count_tokens(message.text) for message in prompt.messages)
    tokens_out = model.count_tokens(text) if text else 0
    price = model.price(tokens_in, tokens_out) if isinstance(model, Priced) else None
    return Completion(text, input_tokens=tokens_in, output_tokens=tokens_out, cost=price)


def in_order(calls: Sequence[CutOff], now: float) -> list[ModelCalled]:
    """The events of calls that were cancelled together. Chance ends them in any order; a replay must show the same one."""
    return [call.event(now) for call in sorted(calls, key=_all_that_shows)]


def _all_that_shows(call: CutOff) -> tuple[float, str, str, int, int]:
    return call.begun, call.role, call.model, call.spent.input_tokens, call.spent.output_tokens


def ended_here(problem: BaseException) -> bool:
    """Whether the call was ended on this side: nobody waits any more, or the time is up."""
    return not isinstance(problem, Exception) or isinstance(problem, BudgetExhausted | TimeoutError)


def refused(problem: BaseException, text: str) -> bool:
    """An error in place of a reply (a wrong key, an overload, no connection) costs nothing."""
    return not text and not ended_here(problem) and not isinstance(problem, BrokenStream)
