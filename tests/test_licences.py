"""Whoever installs this gets the packages of others too: all of them free, all of them named."""

from __future__ import annotations

import re

from scripts.licences import FREE, TABLE, packages, table


def test_the_table_is_up_to_date() -> None:
    assert TABLE.read_text(encoding="utf-8") == table(), "run: python scripts/licences.py"


def test_every_licence_is_one_that_lets_others_use_it() -> None:
    rows = dict(re.findall(r"^\| (\S+) \| (.+) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)[1:])
    assert sorted(rows) == packages()
    for name, licence in rows.items():
        names = re.split(r" AND ", licence)
        assert all(any(one in FREE for one in choice.split(" OR ")) for choice in names), f"{name}: {licence}"
