"""Token accounting: one call of a model while it runs, and what it has used where it does not come to its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from wellread import events
from wellread.budget import Budget
from wellread.errors import BudgetExhausted
from wellread.protocols import Model, Priced
from wellread.types import Completion, Prompt

LEAST_REPLY = 48  # tokens; with fewer left a model cannot say anything useful
_MANY = 1_000  # tokens by which a price is told


@dataclass(slots=True)
class ModelCall:
    """One call of a model while it runs."""

    role: str
    model: Model
    prompt: Prompt
    begun: float
    arrived: list[str] = field(default_factory=list)
    most: int | None = None  # tokens of the reply, where there are limits
    narrowed: str | None = None  # the limit that leaves the reply less than was asked for

    def afford(self, budget: Budget) -> None:
        """Allow the reply no more than the limits leave beside the prompt; raises where that is too little to say anything."""
        tokens, cost, asked = budget.tokens_left(), budget.cost_left(), self.prompt.max_tokens
        if tokens is None and cost is None:
            return
        needed = self.prompt_tokens()
        left = [] if tokens is None else [(tokens - needed, "tokens")]
        if cost is not None and (price := self.price(needed, 0)) is not None:
            each = ((self.price(needed, _MANY) or price) - price) / _MANY
            left.append((int((cost - price) / each) if each > 0 else _MANY * _MANY if cost >= price else 0, "cost"))
        most, limit = min(left, default=(_MANY * _MANY, ""))
        if most < min(LEAST_REPLY, asked or LEAST_REPLY):
            raise BudgetExhausted(limit)
        if limit and (asked is None or most < asked):
            self.prompt, self.narrowed = replace(self.prompt, max_tokens=most), limit
        self.most = self.prompt.max_tokens

    def exceeds(self, piece: str) -> bool:
        """Whether the reply is longer, with this piece of it, than the limits leave: a model need not keep to what it is told."""
        return self.most is not None and self.model.count_tokens("".join((*self.arrived, piece))) > self.most

    def spent(self, known: tuple[int, int] = (0, 0)) -> Completion:
        """Estimated usage of a call that broke off: the prompt, and the words that had arrived. The model may
        have `known` of more: what nobody was shown, and attempts before."""
        text = "".join(self.arrived)
        tokens_in = max(known[0], self.prompt_tokens())
        tokens_out = max(known[1], self.model.count_tokens(text) if text else 0)
        return Completion(text, input_tokens=tokens_in, output_tokens=tokens_out, cost=self.price(tokens_in, tokens_out))

    def prompt_tokens(self) -> int:
        prompt = self.prompt
        extras = [str(part) for part in (prompt.tools, prompt.schema) if part]
        calls = [str(call.arguments) for message in prompt.messages for call in message.tool_calls]
        return sum(map(self.model.count_tokens, (*(message.text for message in prompt.messages), *extras, *calls)))

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        return self.model.price(tokens_in, tokens_out) if isinstance(self.model, Priced) else None

    def event(self, used: Completion, now: float, *, cut_off: bool) -> events.ModelCalled:
        took = now - self.begun
        return events.ModelCalled(self.role, self.model.name, used.input_tokens, used.output_tokens, used.cost, took, cut_off)


def all_that_shows(ended: tuple[ModelCall, Completion]) -> tuple[float, str, str, int, int]:
    call, used = ended
    return call.begun, call.role, call.model.name, used.input_tokens, used.output_tokens
