"""What a reader of a page cannot see, and so was not written for readers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wellread.reading.hints import ASIDE_CLASSES, HIDDEN_CLASSES

_INLINE_WITH_HINTS = frozenset({"span", "time", "small", "sup", "a", "em", "i", "b", "strong", "cite"})
_ROOTS = frozenset({"html", "body", "main", "article"})  # pages hide these until a script has run
_HIDING_STYLE = re.compile(r"display:none|visibility:hidden|font-size:0(?![.\d])|(?:left|top|text-indent):-\d{4,}", re.IGNORECASE)


def is_hidden(tag: str, attributes: Mapping[str, str], *, asides: bool) -> bool:
    """Hidden from a reader by attribute, style or a class that means so everywhere; `asides` count as hidden, or not."""
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
    classes = frozenset(names.lower().split())
    if not HIDDEN_CLASSES.isdisjoint(classes):
        return True
    return asides and (not ASIDE_CLASSES.isdisjoint(classes) or (tag == "sup" and "reference" in classes))
