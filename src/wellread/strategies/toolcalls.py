"""A conversation with a model that has tool calls of its own; its one tool is the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wellread.types import Completion, Message, Tool, ToolCall

_FORGOTTEN = "(Left out for want of space.)"


@dataclass(slots=True)
class Conversation:
    """The messages so far. Every call of a tool gets an answer, as providers demand."""

    opening: tuple[Message, ...]
    question: str
    hint: str
    _turns: list[Message] = field(default_factory=list[Message])

    @property
    def tools(self) -> tuple[Tool, ...]:
        schema = {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "a short query for one thing"}},
            "required": ["query"],
        }
        return (Tool("search", f"Search for pages. {self.hint}".strip(), schema),)

    @property
    def text(self) -> str:
        calls = {id(turn): "".join(f"\n<search>{_query(call)}</search>" for call in turn.tool_calls) for turn in self._turns}
        return "\n".join(turn.text + calls[id(turn)] for turn in self._turns)

    def messages(self) -> tuple[Message, ...]:
        return (*self.opening, *self._turns)

    def say(self, completion: Completion) -> None:
        self._turns.append(Message("assistant", completion.text, tool_calls=completion.tool_calls))

    def show(self, calls: Sequence[ToolCall], texts: Sequence[str]) -> None:
        for call, text in zip(calls, texts, strict=True):
            self._turns.append(Message("tool", text, tool_call_id=call.id, tool_name=call.name))

    def add(self, text: str) -> None:
        self._turns.append(Message("user", text))

    def query(self, call: ToolCall) -> str | None:
        """What a call asks for; None when it asks for another tool or for nothing."""
        return (_query(call) or None) if call.name == "search" else None

    def forget(self) -> bool:
        """Leave out the oldest results; False when there are none left."""
        for index, turn in enumerate(self._turns):
            if turn.role in ("tool", "user") and len(turn.text) > 4 * len(_FORGOTTEN):
                self._turns[index] = Message(turn.role, _FORGOTTEN, (), turn.tool_call_id, turn.tool_name)
                return True
        return False


def _query(call: ToolCall) -> str:
    value = call.arguments.get("query", "")
    return " ".join(value.split())[:300] if isinstance(value, str) else ""
