"""What a reader of a page cannot see, and so was not written for readers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wellread.reading.hints import HIDDEN_CLASSES

_INLINE_WITH_HINTS = frozenset({"span", "time", "small", "sup", "a", "em", "i", "b", "strong", "cite"})
_ROOTS = frozenset({"html", "body", "main", "article"})  # pages hide these until a script has run
_HIDING_STYLE = re.compile(r"display:none|visibility:hidden|font-size:0(?![.\d])|(?:left|top|text-indent):-\d{4,}", re.IGNORECASE)


def is_hidden(tag: str, attributes: Mapping[str, str]) -> bool:
    """Hidden from a reader by attribute, style or a class that means so everywhere."""
    if not attributes or tag in _ROOTS:
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    style = attributes.get("style")
    if style and _HIDING_STYLE.search(style.replace(" ", "")):
        return True
    names = attributes.get("class")
    if not names or tag not in _INLINE_WITH_HINTS:
        return False
    return not HIDDEN_CLASSES.isdisjoint(names.lower().split())
