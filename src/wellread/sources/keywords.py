"""The words of a question that a search engine can use."""

from __future__ import annotations

import re

from wellread.text.lexicon import STOPWORDS

_WORD = re.compile(r"\w++(?:[.'’\-]\w++)*+")  # without a way back, which would be remembered for each of a million parts
_EMPTY = STOPWORDS | {"tell", "please", "give", "know", "explain", "describe", "find"}


def keywords(text: str) -> list[str]:
    """Lower-case words without the empty ones, each once, in order; all words if nothing else is left."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))
    return [word for word in words if word not in _EMPTY] or words


def match_all(text: str) -> str:
    """A query for SQLite's full-text search: every word literal, all of them needed."""
    return " ".join(f'"{word}"' for word in keywords(text))


def match_any(text: str) -> str:
    """The same, where one word is enough."""
    return " OR ".join(f'"{word}"' for word in keywords(text))
