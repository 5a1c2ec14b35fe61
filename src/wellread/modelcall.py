"""One call of a model while it runs, and what it has used where it does not come to its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from wellread import events
from wellread.protocols import Model, Priced
from wellread.types import Completion, Prompt


@dataclass(slots=True)
class ModelCall:
    """One call of a model while it runs."""

    role: str
    model: Model
    prompt: Prompt
    begun: float
    arrived: list[str] = field(default_factory=list[str])

    def spent(self, known: tuple[int, int] = (0, 0)) -> Completion:
        """What it has used as far as anyone here can know: the prompt, and the words that had arrived. The model may
        have `known` of more: what nobody was shown, and attempts before."""
        text = "".join(self.arrived)
        tokens_in = max(known[0], self.prompt_tokens())
        tokens_out = max(known[1], self.model.count_tokens(text) if text else 0)
        return Completion(text, input_tokens=tokens_in, output_tokens=tokens_out, cost=self.price(tokens_in, tokens_out))

    def prompt_tokens(self) -> int:
        return sum(self.model.count_tokens(message.text) for message in self.prompt.messages)

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        return self.model.price(tokens_in, tokens_out) if isinstance(self.model, Priced) else None

    def event(self, used: Completion, now: float, *, cut_off: bool) -> events.ModelCalled:
        took = now - self.begun
        return events.ModelCalled(self.role, self.model.name, used.input_tokens, used.output_tokens, used.cost, took, cut_off)


def all_that_shows(ended: tuple[ModelCall, Completion]) -> tuple[float, str, str, int, int]:
    call, used = ended
    return call.begun, call.role, call.model.name, used.input_tokens, used.output_tokens
