"""Texts and files that nobody thought of, for as long as there is time.

WELLREAD_FUZZ_SECONDS=600 for the long form; WELLREAD_FUZZ_SEED=n for other texts than those of the short one.
"""

from __future__ import annotations

import io
import os
import time
import zipfile
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

SECONDS = float(os.environ.get("WELLREAD_FUZZ_SECONDS", "2"))
SEED = int(os.environ.get("WELLREAD_FUZZ_SEED", "0"))
TIMEOUT = int(SECONDS) * 3 + 300

Edits = list[tuple[float, str, bytes]]
_HOW = ["set", "cut", "add", "flip", "swap", "again", "move"]
EDITS: st.SearchStrategy[Edits] = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(_HOW), st.binary(max_size=6)), min_size=1, max_size=8
)


def fuzz(texts: st.SearchStrategy[Any], check: Callable[[Any], object]) -> None:
    """For as long as there is time; the short form sees the same texts each time."""

    def one(text: Any) -> None:
        check(text)

    until, number = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        quiet = settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        seed(SEED * 1_000_000 + number)(quiet(given(texts)(one)))()
        number += 1


def edited(data: bytes, edits: Edits) -> bytes:
    made = bytearray(data)
    for where, how, new in edits:
        at = int(where * len(made))
        part = made[at : at + 40]
        if how == "cut":
            del made[at : at + 1 + len(new) * 7]
        elif how == "add":
            made[at:at] = new * (1 + len(new))
        elif how == "flip" and at < len(made):
            made[at] ^= 1 << len(new)
        elif how == "set":
            made[at : at + len(new)] = new
        elif how == "swap":
            made[at : at + 40] = part[::-1]
        elif how == "again":
            made[at:at] = part * (1 + sum(new))
        elif how == "move":
            del made[at : at + 40]
            place = int(sum(new) / (1 + 255 * len(new)) * len(made))
            made[place:place] = part
    return bytes(made)


def repacked(packed: bytes, which: float, edits: Edits) -> bytes:
    """An archive that is sound, with one of its members edited: damage to the archive itself is seen before anything is read."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = names[min(int(which * len(names)), len(names) - 1)]
        for name in names:
            body = old.read(name)
            new.writestr(name, edited(body, edits) if name == chosen else body)
    return made.getvalue()
