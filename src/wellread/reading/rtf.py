"""Rich text (RTF), by striprtf."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from wellread.errors import ReadError
from wellread.reading.allowance import OWN_FILE, Allowance
from wellread.reading.plain_text import cleaned
from wellread.types import Block, Page

_NO_SIGN = re.compile(r"\\u-?[0-9]{6,}")  # the number of a sign has sixteen bits


def read_rtf(body: bytes, url: str, name: str, allowance: Allowance = OWN_FILE) -> Page:
    striprtf: Any = import_module("striprtf.striprtf")  # it has no types
    try:
        known = _NO_SIGN.sub(r"\\u65533", body.decode("latin-1"))
        text = cleaned(str(striprtf.rtf_to_text(known, encoding="cp1252", errors="replace")))
    except (ValueError, LookupError, IndexError, TypeError) as error:
        raise ReadError(url, "the RTF is broken") from error
    blocks = tuple(Block("paragraph", " ".join(line.split())) for line in text.split("\n") if line.strip())
    first = blocks[0].text if blocks else ""
    return Page(url, first if 0 < len(first) <= 100 else name, (), kind="rtf", blocks=blocks)
