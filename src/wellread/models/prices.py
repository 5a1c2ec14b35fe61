"""Prices of calls and context windows of models: facts from the tables that genai-prices carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tariff:
    """Where prices come from: a provider's list, a server's address, or the user. Unknown stays unknown."""

    model: str
    provider: str | None = None
    address: str | None = None
    input_price: float | None = None  # US dollars for a million tokens
    output_price: float | None = None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float | None:
        """US dollars, or None when the price is not known. Never a guess."""
        if self.input_price is not None and self.output_price is not None:
            return (input_tokens * self.input_price + output_tokens * self.output_price) / 1e6
        if self.provider is None and self.address is None:
            return None
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens)
        where: dict[str, Any] = {"provider_api_url": self.address} if self.address is not None else {"provider_id": self.provider}
        try:
            return float(calc_price(usage, self.model, **where).total_price)
        except (LookupError, ValueError):
            return None

    def window(self) -> int | None:
        """The model's context window in tokens, where the tables know it."""
        if self.provider is None and self.address is None:
            return None
        from genai_prices.data_snapshot import get_snapshot

        try:
            _, model = get_snapshot().find_provider_model(self.model, None, None if self.address else self.provider, self.address)
        except LookupError:
            return None
        return model.context_window


FREE = Tariff("", input_price=0.0, output_price=0.0)
