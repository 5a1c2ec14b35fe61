"""A conversation in which a program answers the model's requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from wellread.events import Notice
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context
from wellread.types import Message

_LEAST_SPACE = 200  # tokens; what is shown in less than that says nothing

_FORGOTTEN = "(Earlier results are left out here for want of space; your notes on them are above and below.)"


class Talk(Protocol):
    """A conversation that can forget what it was shown."""

    def messages(self) -> tuple[Message, ...]: ...
    def forget(self) -> bool: ...


def make_room(run: Run, model: Model, talk: Talk, reply: int) -> bool:
    """Leave out the oldest results until the next step fits; False when it cannot fit."""
    kept_free = context.reserve(model, reply)
    while (space := context.room(model, talk.messages(), kept_free)) is not None and space < _LEAST_SPACE:
        if not talk.forget():
            return space > 0
        run.emit(Notice("the oldest results are left out: the model's window is full", "info"))
    return True


@dataclass(slots=True)
class Transcript:
    """What the model said and what it was shown, in order.

    A model that `continues` finds everything in its own unfinished reply and goes on from there; any
    other model gets what it is shown as the next turn.
    """

    opening: tuple[Message, ...]
    continues: bool = False
    _turns: list[tuple[Literal["said", "shown"], str]] = field(default_factory=list[tuple[Literal["said", "shown"], str]])

    def say(self, text: str) -> None:
        self._turns.append(("said", text))

    def show(self, text: str) -> None:
        self._turns.append(("shown", text))

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self._turns)

    def messages(self) -> tuple[Message, ...]:
        if self.continues:
            # No blank at the end: providers refuse to continue from one.
            return (*self.opening, Message("assistant", self.text.rstrip())) if self.text.strip() else self.opening
        turns: list[Message] = []
        for kind, text in self._turns:
            role = "assistant" if kind == "said" else "user"
            if turns and turns[-1].role == role:
                turns[-1] = Message(role, f"{turns[-1].text}\n{text}")
            elif text.strip() or role == "user":
                turns.append(Message(role, text))
        return (*self.opening, *turns)

    def forget(self) -> bool:
        """Leave out the oldest results; False when there are none left."""
        for index, (kind, text) in enumerate(self._turns):
            if kind == "shown" and len(text) > 2 * len(_FORGOTTEN):
                self._turns[index] = ("shown", _FORGOTTEN)
                return True
        return False
