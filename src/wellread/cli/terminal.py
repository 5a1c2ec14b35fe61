"""Terminal output without escape sequences. Its words come from models, pages, names of files and files of others, and a
terminal obeys what it is told: no sign that would move its cursor, colour it, turn the writing round or break a line gets
through."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from contextlib import suppress
from typing import TextIO, TypeVar

from wellread.core.unicode_safety import with_texts

T = TypeVar("T")
# C0 without tab and line feed, DEL and C1, separators of lines and paragraphs, turns of the direction of writing
_STEERING = [*range(9), *range(11, 32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = dict.fromkeys(_STEERING, "\N{REPLACEMENT CHARACTER}")
_PATTERN = re.compile("[" + "".join(map(chr, _STEERING)) + "]")


def clean(value: T) -> T:
    """A text, or all texts of a value, sign for sign: places in them stay where they are."""
    return with_texts(value, lambda text: text.translate(_SHOWN))


def json_line(value: object) -> str:
    """JSON in one line, the same value with such signs spelled out."""
    return _PATTERN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def say(text: str = "") -> None:
    """A line on stdout."""
    print(_wrapped(clean(text), sys.stdout))  # noqa: T201


def say_json(value: object) -> None:
    """A value as one line of JSON on stdout, at once."""
    print(json_line(value), flush=True)  # noqa: T201


def tell(as_json: bool, facts: object, words: str) -> None:
    """The outcome of a command: its facts as JSON, or words on it."""
    say_json(facts) if as_json else say(words)


def note(text: str) -> None:
    """A line on stderr. Nothing depends on it: a reader who has left it is not missed."""
    with suppress(OSError):
        print(_wrapped(clean(text), sys.stderr), file=sys.stderr, flush=True)  # noqa: T201


def _wrapped(text: str, stream: TextIO) -> str:
    """Lines that a terminal would break within a word, broken between two; into files and pipes they go as they are."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    how = textwrap.TextWrapper(width, expand_tabs=False, replace_whitespace=False, break_long_words=False, break_on_hyphens=False)
    rows: list[str] = []
    for line in text.split("\n"):
        how.subsequent_indent = line[: len(line) - len(line.lstrip())]
        rows += how.wrap(line) if len(line) > width else [line]
    return "\n".join(rows)
