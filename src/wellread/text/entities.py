"""Entities of HTML as the signs that they stand for."""

from __future__ import annotations

import html
import re

_TOO_LONG = re.compile(r"&#(?:[xX][0-9a-fA-F]{8}[0-9a-fA-F]*+|[0-9]{8}[0-9]*+);?")  # Python refuses to read thousands of digits


def unescaped(text: str) -> str:
    """`&amp;`, `&#38;` and `&#x26;` as `&`; a number that no sign has as U+FFFD."""
    return html.unescape(_TOO_LONG.sub("\ufffd", text)) if "&" in text else text
