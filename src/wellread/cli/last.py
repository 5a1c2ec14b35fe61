"""What the last `ask`, `chat` or `search` in a terminal has shown, so that `open` knows what its numbers mean.

Kept in the user's state folder, for this user alone. Nothing depends on it: where it cannot be written, it is not kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wellread import codec
from wellread.core.private_files import replace_private
from wellread.errors import UsageError
from wellread.text.places import place
from wellread.types import Answer, Hit, Passage

_TEXT = 20_000  # characters of a passage that are kept


@dataclass(frozen=True, slots=True)
class Shown:
    """One numbered source as it was shown."""

    number: int
    place: str
    source: str
    document: str | None
    url: str | None
    page: int | None
    anchor: str
    quote: str
    text: str


@dataclass(frozen=True, slots=True)
class _Last:
    where: str
    shown: list[Shown]


def cited(answer: Answer) -> list[Shown]:
    """The sources of an answer under their numbers, each with the words that carry most, and what came near it under theirs."""
    best = {one.number: one for one in sorted(answer.citations, key=lambda one: one.support)}
    near = [_shown(one.number, one.passage, one.words) for one in answer.nearest]
    return [_shown(number, one.passage, one.quote) for number, one in sorted(best.items())] + near


def found(groups: Sequence[Sequence[Hit]]) -> list[Shown]:
    """The documents of a list of results under theirs, each at its best passage."""
    return [_shown(number, group[0], "") for number, group in enumerate(groups, 1)]


def _shown(number: int, of: Passage | Hit, quote: str) -> Shown:
    text = of.words if isinstance(of, Hit) else of.text
    return Shown(number, place(of), of.source, of.document, of.url, of.page, of.anchor, quote, text[:_TEXT])


def keep(shown: Sequence[Shown], environ: Mapping[str, str] = os.environ) -> None:
    """In place of what was kept before. Where the command ran is kept too: sources may be named from there."""
    path = _path(environ)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_private(path, codec.dumps(_Last(os.getcwd(), list(shown))).encode())


def load(environ: Mapping[str, str] = os.environ) -> tuple[Path, list[Shown]]:
    """Where the last command ran, and what it has shown; raises `UsageError` where there is none."""
    try:
        found = codec.loads(_Last, _path(environ).read_bytes())
        return Path(found.where), found.shown
    except FileNotFoundError:
        raise UsageError("nothing has been asked yet: wellread ask, or wellread search, then wellread open N") from None
    except (OSError, ValueError):
        raise UsageError("what was asked last cannot be read any more: ask again") from None


def _path(environ: Mapping[str, str]) -> Path:
    if named := environ.get("WELLREAD_STATE_DIR"):
        return Path(named) / "last.json"
    from platformdirs import user_state_path

    return user_state_path("wellread") / "last.json"
