"""robots.txt (RFC 9309): which paths of a site a program is asked to leave alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

PRODUCT = "wellread"
MAX_BYTES = 500 * 1024  # as much as the RFC asks parsers to read
_MAX_PATTERN = 1_000
_RUNS = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class Rules:
    """A site's rules for us: path patterns, and whether they allow; the longest one that fits decides."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allows(self, path: str) -> bool:
        """May this path, with its query, be read? Nothing said means yes; of equally long rules the kinder wins."""
        path = _normal(path or "/")
        if path == "/robots.txt":
            return True
        fitting = ((len(pattern), allow) for pattern, allow in self.rules if _fits(pattern, path))
        return max(fitting, default=(0, True))[1]


EVERYTHING = Rules()
NOTHING = Rules((("/", False),))


def parse(text: str) -> Rules:
    """The rules for us: all groups that name us, or else those for everybody."""
    groups = list(_groups(text.removeprefix("\ufeff")[:MAX_BYTES]))
    own = [rules for agents, rules in groups if PRODUCT in agents]
    general = [rules for agents, rules in groups if "*" in agents]
    return Rules(tuple(rule for rules in (own or general) for rule in rules))


def _groups(text: str) -> Iterator[tuple[frozenset[str], list[tuple[str, bool]]]]:
    agents: set[str] = set()
    rules: list[tuple[str, bool]] = []
    naming = False  # several user-agent lines in a row share the rules that follow
    for name, value in _lines(text):
        if name == "user-agent":
            if not naming:
                yield frozenset(agents), rules
                agents, rules = set(), []
            naming = True
            agents.add(re.split(r"[/\s]", value.lower(), maxsplit=1)[0])
        elif name in {"allow", "disallow"}:
            naming = False
            if value:  # an empty path asks for nothing
                rules.append((_RUNS.sub("*", _normal(value[:_MAX_PATTERN]))[:_MAX_PATTERN], name == "allow"))
    yield frozenset(agents), rules


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in re.split(r"[\r\n]+", text):
        name, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().lower(), value.strip()


@lru_cache(maxsize=4096)
def _normal(path: str) -> str:
    """One spelling for each path: `%7e`, `~` and `%7E` are the same."""
    return quote(unquote(path, errors="replace"), safe="/?&=+:;,@!~'()*$[]")


def _fits(pattern: str, path: str) -> bool:
    """`*` is anything, a final `$` the end. Greedy left to right, so no pattern takes more than linear time."""
    anchored = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    if anchored and not parts:
        return place == len(path)
    for part in parts[:-1] if anchored else parts:
        place = path.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return not anchored or (path.endswith(parts[-1]) and len(path) - len(parts[-1]) >= place)
