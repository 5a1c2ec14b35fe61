"""Reading foreign JSON without trusting its shape: a missing or mistyped field is empty, never a crash."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast


class Payload:
    """A JSON value from a service. Every accessor has a harmless answer for what is not there."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    @classmethod
    def parse(cls, body: bytes) -> Payload:
        """Raises `ValueError` for anything that is not JSON."""
        try:
            return cls(json.loads(body))
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def at(self, *path: str | int) -> Payload:
        """The value at a path of keys and positions."""
        here = self.value
        for step in path:
            if isinstance(here, Mapping) and step in here:
                here = cast("Mapping[object, object]", here)[step]
            elif isinstance(here, list) and isinstance(step, int):
                here = next(iter(cast("list[object]", here)[step : step + 1]), None)
            else:
                return Payload(None)
        return Payload(here)

    def text(self, *path: str | int) -> str:
        """Text at a path; numbers are written out, everything else is empty."""
        value = self.at(*path).value
        if isinstance(value, str):
            return value
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""

    def number(self, *path: str | int) -> float | None:
        """A finite number at a path, also when it comes as text."""
        try:
            number = float(self.text(*path))
        except ValueError:
            return None
        return number if abs(number) < float("inf") else None

    def items(self, *path: str | int) -> list[Payload]:
        """The elements of a list at a path, or the values of an object there."""
        value = self.at(*path).value
        if isinstance(value, Mapping):
            value = list(cast("Mapping[object, object]", value).values())
        return [Payload(item) for item in cast("list[object]", value)] if isinstance(value, list) else []

    def names(self, *path: str | int) -> list[str]:
        """The keys of an object at a path."""
        value = self.at(*path).value
        return [str(key) for key in cast("Mapping[object, object]", value)] if isinstance(value, Mapping) else []

    def __iter__(self) -> Iterator[Payload]:
        return iter(self.items())

    def __bool__(self) -> bool:
        return bool(self.value)


_MESSAGES: tuple[tuple[str | int, ...], ...] = (
    ("error", "info"),  # MediaWiki
    ("error", "root_cause", 0, "reason"),  # Elasticsearch
    ("error", "reason"),
    ("error", "detail"),  # Brave
    ("error", "message"),
    ("detail", "error"),  # Tavily
    ("detail", 0, "msg"),
    ("message",),  # News API
    ("error",),  # Slack, Datasette
    ("detail",),
    ("title",),
)


def complaint(payload: Payload) -> str:
    """What a service says went wrong, wherever it writes that; empty if nowhere we know."""
    return next((text for path in _MESSAGES if (text := payload.text(*path).strip())), "")
