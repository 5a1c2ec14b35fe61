"""Regular expressions compiled at their first use: `from wellread.text import patterns as re`.

Of the two hundred that an answer passes by, forty are used for it; compiling them all took a tenth of a cold start.
"""

from __future__ import annotations

import re
from re import DOTALL, IGNORECASE, UNICODE, I, Match, Pattern, escape, findall, fullmatch, search, split, sub
from typing import Any, cast

__all__ = ["DOTALL", "IGNORECASE", "UNICODE", "I", "Match", "Pattern", "compile"]
__all__ += ["escape", "findall", "fullmatch", "search", "split", "sub"]


class _Lazy:
    """Stands for a pattern; what was asked for once is an attribute of its own afterwards, as quick as the pattern's."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._made_of = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._made_of), name)
        setattr(self, name, found)
        return found


def compile(pattern: str, flags: int = 0) -> Pattern[str]:
    """As `re.compile`, later."""
    return cast("Pattern[str]", _Lazy(pattern, flags))
