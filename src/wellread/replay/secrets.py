"""Keys stay out of recordings: whatever looks like one is covered before a line is written.

A cover is as long as what it hides, so that places in a text stay where they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST = 6  # characters; a shorter value would cover words of the text
_SHAPES = re.compile(
    r"(?P<user>(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@))"
    r"|(?P<bearer>(?<=[Bb]earer )[\w.~+/=-]{6,})"
    r"|(?P<known>\b(?:sk|tvly|xox[abprs]|ghp|hf)[-_][\w-]{12,})"
)
_OPTION = re.compile(
    r"(?P<name>[?&](?:api_?key|key|token|access_token|secret|password|auth)=)(?P<value>[^&\s\"]+)", re.IGNORECASE
)
COVER = "•"


class Covers:
    """Knows the secrets of an environment, and those that settings carry, and covers them."""

    def __init__(self, environ: Mapping[str, str] = os.environ, settings: Any = None) -> None:
        values = {value.strip() for name, value in environ.items() if _NAMES.search(name)} | set(_carried(settings))
        self._values = sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)

    def text(self, text: str) -> str:
        """Text from anywhere: only known secrets are covered, so that contents stay as they are."""
        for value in self._values:
            if value in text:
                text = text.replace(value, COVER * len(value))
        return text

    def line(self, data: Mapping[str, Any]) -> str:
        """A line of the file."""
        return self.text(json.dumps(data, ensure_ascii=False))

    def setting(self, value: Any) -> Any:
        """Specs, addresses and options of the user: also what has the look of a key is covered."""
        if isinstance(value, str):
            plain = _SHAPES.sub(lambda match: COVER * len(match[0]), self.text(value))
            return _OPTION.sub(lambda match: match["name"] + COVER * len(match["value"]), plain)
        if isinstance(value, Mapping):
            return {key: self.setting(item) for key, item in cast("Mapping[str, Any]", value).items()}
        if isinstance(value, list | tuple):
            return [self.setting(item) for item in cast("Sequence[Any]", value)]
        return value


def _carried(value: Any) -> Iterator[str]:
    """What has the look of a key in specs and options."""
    if isinstance(value, str):
        yield from (match[0] for match in _SHAPES.finditer(value))
        yield from (match["value"] for match in _OPTION.finditer(value))
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from _carried(item)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[Any]", value):
            yield from _carried(item)
