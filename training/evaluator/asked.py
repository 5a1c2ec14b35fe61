"""Held-out questions on manuals: written by hand, with checksums of the words that answer them in place of the words."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

ASKED = Path(__file__).with_name("held_out.jsonl")
_WORD = re.compile(r"\w+")
_SIZE = 6  # hexadecimal digits of a checksum


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; `runs` are the checksums of the words that answer it, none where nothing does."""

    package: str
    text: str
    answer: str  # the words asked for, yes, no, or nothing
    runs: frozenset[str]


def runs(text: str) -> list[str]:
    """A checksum for every three words."""
    said = _WORD.findall(text.lower())
    return [f"{crc32(' '.join(said[at : at + 3]).encode()) & 0xFFFFFF:06x}" for at in range(max(1, len(said) - 2))]


def questions(part: str) -> list[Asked]:
    """The questions of a part, in an order that has nothing to do with their packages."""
    rows = [json.loads(line) for line in ASKED.read_text(encoding="utf-8").splitlines()]
    found: list[Asked] = []
    for row in (row for row in rows if row["part"] == part):
        sums = row.get("runs", "")
        named = frozenset(sums[at : at + _SIZE] for at in range(0, len(sums), _SIZE))
        found.append(Asked(row["package"], row["question"], row.get("answer", ""), named))
    random.Random(1).shuffle(found)
    return found
