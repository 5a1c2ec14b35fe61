"""Conversations kept in memory, for callers that keep none: each answer has a name that the next question can give."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from wellread.errors import UsageError
from wellread.protocols import Source
from wellread.server.follow_up import TURNS
from wellread.strategies.earlier import Earlier
from wellread.types import Answer

_KEPT = 1_000  # answers that can be followed up


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said up to an answer, and the passages that it was built on."""

    turns: tuple[tuple[str, str], ...] = ()
    earlier: Earlier = field(default_factory=Earlier)

    @property
    def sources(self) -> list[Source]:
        return [self.earlier] if self.earlier.kept else []


class Conversations:
    """The latest answers by their names, which nobody can guess."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Conversation] = OrderedDict()

    async def get(self, name: str | None, recall: Callable[[str], Awaitable[Conversation | None]]) -> Conversation:
        """The one that ends with this answer; `recall` is asked for what was kept elsewhere."""
        if name is None:
            return Conversation()
        found = self._kept.get(name) or await recall(name)
        if found is None:
            raise UsageError(f"there is no answer {name!r} to follow up on; the latest {_KEPT:,} are kept")
        return found

    def keep(self, name: str, before: Conversation, answer: Answer) -> None:
        """An answer that was given after this conversation."""
        earlier = Earlier(kept=dict(before.earlier.kept))
        earlier.remember(answer)
        turns = (*before.turns, (answer.question, answer.told))[-TURNS:] if answer.told else before.turns
        self._kept[name] = Conversation(turns, earlier)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
