"""Where a replayed run leaves its recording, in words and as a diff."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import Any

from wellread.codec import Json
from wellread.errors import ReplayMismatch

_AROUND = 30  # characters shown on each side of the first difference


def of_call(number: int, recorded: tuple[str, str, Json] | None, asked: tuple[str, str, Json]) -> ReplayMismatch:
    """A call that is not in the recording; `recorded` is the one that stands in its place there."""
    part, method, request = asked
    what = f"call {number} ({part}, {method})"
    if recorded is None:
        return ReplayMismatch(f"{what} is not in the recording: nothing like it is left there", _pretty(request))
    if recorded[:2] != asked[:2]:
        instead = f"{recorded[0]}, {recorded[1]}"
        return ReplayMismatch(f"{what} is not in the recording, which has ({instead}) there", _diff(recorded[2], request))
    place, old, new = first_difference(recorded[2], request)
    words = f"{what} departs from the recording at {place}: {old!r} was asked, now it is {new!r}"
    return ReplayMismatch(words, _diff(recorded[2], request))


def of_event(number: int, recorded: Json | None, seen: Json | None) -> ReplayMismatch:
    """An event that is not the one in the recording."""
    if recorded is None or seen is None:
        name = (seen or recorded or {}).get("event", "?")
        where = "is new: the recording has no such event" if recorded is None else "is missing: the run ended before it"
        return ReplayMismatch(f"event {number} ({name}) {where}", _diff(recorded or {}, seen or {}))
    place, old, new = first_difference(recorded, seen)
    return ReplayMismatch(
        f"event {number} ({seen['event']}) departs from the recording at {place}: {old!r} was reported, now it is {new!r}",
        _diff(recorded, seen),
    )


def first_difference(old: Any, new: Any, place: str = "") -> tuple[str, str, str]:
    """The path to the first difference, and both sides around it."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:  # pyright: ignore[reportUnknownVariableType]
            if old.get(key) != new.get(key):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
                return first_difference(old.get(key), new.get(key), f"{place}.{key}" if place else str(key))  # pyright: ignore
    if isinstance(old, list) and isinstance(new, list):
        for index, (one, other) in enumerate(zip(old, new, strict=False)):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if one != other:
                return first_difference(one, other, f"{place}[{index}]")
        return f"the length of {place}", str(len(old)), str(len(new))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(old, str) and isinstance(new, str):
        at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        return f"{place}, character {at + 1}", _around(old, at), _around(new, at)
    return place or "the whole", _short(old), _short(new)


def _around(text: str, at: int) -> str:
    start = max(0, at - _AROUND)
    end = at + _AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 2 * _AROUND else text[: 2 * _AROUND] + "…"


def _diff(old: Json, new: Json) -> str:
    return "\n".join(difflib.unified_diff(_lines(old), _lines(new), "recorded", "now", lineterm="", n=2))


def _pretty(value: Json) -> str:
    return "\n".join(_lines(value))


def _lines(value: Any, place: str = "") -> Sequence[str]:
    """One line for each value, texts with their own line breaks, so that a diff shows the words that changed."""
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in _lines(item, f"{place}.{key}" if place else str(key))]  # pyright: ignore
    if isinstance(value, list):
        return [line for index, item in enumerate(value) for line in _lines(item, f"{place}[{index}]")]  # pyright: ignore
    if isinstance(value, str) and "\n" in value:
        return [f"{place}:", *(f"    {line}" for line in value.split("\n"))]
    return [f"{place}: {value if isinstance(value, str) else json.dumps(value)}"]
