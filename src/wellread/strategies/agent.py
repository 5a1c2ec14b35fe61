"""The agent loop: a model says what it wants, a program does it and shows what came of it, until there is enough.

One loop for all recipes in which the model acts. A recipe says how the model is asked (`prompt`), and reads and does what it asks
for (`take`): in words, as tags or labelled lines (`turns`), or as tool calls of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import ClassVar

from wellread.errors import ContextTooLong
from wellread.events import Notice
from wellread.protocols import Model
from wellread.run import Run
from wellread.strategies import context
from wellread.types import Completion, Message, Prompt, ToolCall

_LEAST_SPACE = 200  # tokens; what is shown in less than that says nothing
_FORGOTTEN = "(Earlier results are left out here for want of space; your notes on them are above and below.)"


@dataclass(slots=True)
class Talk:
    """The transcript of an agent: what the model said and was shown, in order; `watch` hears it as it grows.

    A model that `continues` finds everything in its own unfinished reply and goes on from there; any other gets what it is shown
    as the next turn, or as the answer to its tool call.
    """

    opening: tuple[Message, ...] = ()
    continues: bool = False
    watch: Callable[[str], object] | None = None
    _turns: list[Message] = field(default_factory=list[Message])

    def say(self, text: str, calls: tuple[ToolCall, ...] = ()) -> None:
        self._add(Message("assistant", text, tool_calls=calls))

    def show(self, texts: Sequence[str], calls: Sequence[ToolCall] = ()) -> None:
        """Show the results of a turn. Every call of a tool gets an answer, as providers demand."""
        if not calls:
            self._add(Message("user", "\n".join(texts)))
        for call, text in zip(calls, texts, strict=False):
            self._add(Message("tool", text, tool_call_id=call.id, tool_name=call.name))

    @property
    def text(self) -> str:
        return "\n".join(map(_written, self._turns))

    def messages(self) -> tuple[Message, ...]:
        if self.continues:
            # No blank at the end: providers refuse to continue from one.
            return (*self.opening, Message("assistant", self.text.rstrip())) if self.text.strip() else self.opening
        turns: list[Message] = []
        for turn in self._turns:
            if turns and turn.role == turns[-1].role != "tool" and not (turn.tool_calls or turns[-1].tool_calls):
                turns[-1] = replace(turn, text=f"{turns[-1].text}\n{turn.text}")
            elif turn.text.strip() or turn.tool_calls or turn.role != "assistant":
                turns.append(turn)
        return (*self.opening, *turns)

    def forget(self) -> bool:
        """Leave out the oldest results; False when there are none left."""
        for index, turn in enumerate(self._turns):
            if turn.role != "assistant" and len(turn.text) > 2 * len(_FORGOTTEN):
                self._turns[index] = replace(turn, text=_FORGOTTEN)
                return True
        return False

    def _add(self, turn: Message) -> None:
        if self.watch is not None:
            self.watch(("\n" if self._turns else "") + _written(turn))
        self._turns.append(turn)


def _written(turn: Message) -> str:
    return turn.text + "".join(
        f"\n<{call.name}>{' '.join(map(str, call.arguments.values()))}</{call.name}>" for call in turn.tool_calls
    )


@dataclass(slots=True)
class Agent(ABC):
    """A model at work. Mutable and private to one run."""

    run: Run
    model: Model
    talk: Talk
    role: ClassVar[str]

    @abstractmethod
    async def prompt(self) -> Prompt | None:
        """How the model is asked for its next turn, the messages apart; None when it is not asked any more."""

    @abstractmethod
    async def take(self, completion: Completion) -> bool:
        """Do what a turn asks for and show what came of it; False when that was the last one."""

    async def hear(self, text: str) -> None:
        """Take notice of what has come of a turn so far."""
        del text

    async def work(self) -> None:
        """The loop."""
        while (prompt := await self.prompt()) is not None and self._make_room(prompt):
            if not await self.take(await self._turn(prompt)):
                return

    def space(self, reply: int) -> int | None:
        """Tokens that what is shown next may take."""
        return context.room(self.model, self.talk.messages(), context.reserve(self.model, reply))

    def _make_room(self, prompt: Prompt) -> bool:
        """Leave out the oldest results until the next turn fits; False when it cannot fit."""
        while (space := self.space(prompt.max_tokens or 0)) is not None and space < _LEAST_SPACE:
            if not self._forget():
                return space > 0
        return True

    async def _turn(self, prompt: Prompt) -> Completion:
        """The model's next words. Where its window turns out smaller than known, the oldest results go."""
        while True:
            heard, last = "", Completion("")
            asked = replace(prompt, messages=self.talk.messages())
            try:
                async with aclosing(self.run.generate(asked, role=self.role, model=self.model)) as words:
                    async for item in words:
                        if isinstance(item, Completion):
                            last = item
                        else:
                            heard += item
                            await self.hear(heard)
                return last
            except ContextTooLong:
                if not self._forget():
                    raise

    def _forget(self) -> bool:
        forgotten = self.talk.forget()
        if forgotten:
            self.run.emit(Notice("the oldest results are left out: the model's window is full", "info"))
        return forgotten
