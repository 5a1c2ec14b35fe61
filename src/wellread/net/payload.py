"""Parsing foreign JSON and XML without trusting its shape: a missing or mistyped field is empty, never a crash."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

MOST_VALUES = 500_000  # in one answer; reading a million small ones stops everything else for a quarter of a second
_DEEPEST_XML, _LONGEST_TEXT = 40, 1_000_000
_LONGEST_NUMBER = 40  # digits; longer ones are read as what has no end


class Payload:
    """A JSON value from a service. Every accessor has a harmless answer for what is not there."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    @classmethod
    def parse(cls, body: bytes, most: int = MOST_VALUES) -> Payload:
        """Raises `ValueError` for anything that is not JSON, or is more of it than anybody has to say."""
        if sum(map(body.count, (b",", b"[", b"{", b'":'))) > most:
            raise ValueError("too many values")
        try:
            return cls(json.loads(body, parse_int=lambda digits: (int if len(digits) <= _LONGEST_NUMBER else float)(digits)))
        except RecursionError:
            raise ValueError("nested too deeply") from None

    @classmethod
    def parse_xml(cls, body: bytes) -> Payload:
        """XML as such a value: an element is an object with its children by name (a list each), `@name` its attributes, `#` all
        of its text. Raises `ValueError` for anything else; no entity or file that it names is fetched."""
        from lxml import etree  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]

        xml = cast("Any", etree)
        try:
            return cls(_element(xml.fromstring(body, xml.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))))
        except (xml.XMLSyntaxError, ValueError, RecursionError) as problem:
            raise ValueError(f"no XML: {problem}") from None

    def at(self, *path: str | int) -> Payload:
        """The value at a path of keys and positions; where a key is asked of a list, its first element is meant."""
        here = self.value
        for step in path:
            if isinstance(here, list) and here and isinstance(step, str):
                here = cast("list[object]", here)[0]
            if isinstance(here, Mapping) and step in here:
                here = cast("Mapping[object, object]", here)[step]
            elif isinstance(here, list) and isinstance(step, int):
                here = next(iter(cast("list[object]", here)[step : step + 1]), None)
            else:
                return Payload(None)
        return Payload(here)

    def text(self, *path: str | int) -> str:
        """Text at a path, of a list its first; numbers are written out, everything else is empty."""
        value = self.at(*path).value
        if isinstance(value, list):
            value = cast("list[object]", value)[0] if value else None
        if isinstance(value, Mapping):  # an element of XML
            value = cast("Mapping[object, object]", value).get("#")
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


def _element(node: Any, depth: int = 0) -> dict[str, Any]:
    if depth > _DEEPEST_XML:
        raise ValueError("nested too deeply")
    found: dict[str, Any] = {f"@{name.rpartition('}')[2]}": str(value) for name, value in node.attrib.items()}
    found["#"] = "".join(node.itertext()).strip()[:_LONGEST_TEXT]
    for child in node.iterchildren("*"):
        found.setdefault(child.tag.rpartition("}")[2], []).append(_element(child, depth + 1))
    return found


# Where services write what went wrong, the most telling first: MediaWiki's `info`, Elasticsearch's `root_cause`,
# News API's `message`, Slack's `error`, Brave's and FastAPI's `detail` …, alone or one within the other.
_WORDS = ("root_cause", "info", "message", "error_message", "error", "detail", "reason", "msg", "title")
_DEEPEST = 5


def complaint(payload: Payload, depth: int = _DEEPEST) -> str:
    """The error message in a service's JSON, wherever it writes that; empty if nowhere we know."""
    if isinstance(payload.value, list):
        payload = payload.at(0)
    if isinstance(payload.value, str) or not depth:
        return payload.text().strip()
    if not isinstance(payload.value, Mapping):
        return ""
    return next((said for name in _WORDS if name in payload.value and (said := complaint(payload.at(name), depth - 1))), "")


_KEY = re.compile(r"\b(?:sk|pk|rk|key|api)-[\w*.-]{6,}|(?<=Bearer )\S+", re.IGNORECASE)
_LONGEST = 300


def told(words: str, secrets: Iterable[str]) -> str:
    """Foreign words as a person may see them: one short printable line without the secrets, nor what looks like a key."""
    for secret in filter(None, secrets):
        words = words.replace(secret, "***")
    words = _KEY.sub("***", words[: 10 * _LONGEST])
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
