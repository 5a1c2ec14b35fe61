"""The tables of names, made a range of hashes at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellread.index import keys

HASH = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 5), st.integers(2**64 - 6, 2**64 - 1))


def whole(hashes: list[int], firsts: list[int], counts: list[int]) -> list[tuple[int, int, int]]:
    return sorted(zip(hashes, firsts, counts, strict=True), key=lambda entry: entry[0])  # stable


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(HASH, HASH, HASH), max_size=60), st.integers(1, 25))
def test_made_in_parts_they_are_the_same(rows: list[tuple[int, int, int]], block: int) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "_BLOCK", block)
        folder = Path(name)
        np.array(rows, keys.ARRIVAL).tofile(folder / "hashes")
        keys.write_tables(folder, folder / "hashes", len(rows))
        ids = [row[0] for row in rows]
        assert np.fromfile(folder / keys.TABLES["id"], keys.ENTRY).tolist() == whole(ids, list(range(len(rows))), [1] * len(rows))
        for place, table in ((1, keys.TABLES["document"]), (2, keys.TABLES["title"])):
            column = [row[place] for row in rows]
            firsts = [i for i in range(len(rows)) if i == 0 or column[i] != column[i - 1]]
            counts = [end - first for first, end in zip(firsts, [*firsts[1:], len(rows)], strict=False)]
            expected = whole([column[first] for first in firsts], firsts, counts)
            assert np.fromfile(folder / table, keys.ENTRY).tolist() == expected


def test_a_column_is_read_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_BLOCK", 3)
    arrivals = np.array([(i, i * 2, i * 3) for i in range(10)], keys.ARRIVAL)
    arrivals.tofile(tmp_path / "hashes")
    assert keys.column(tmp_path / "hashes", "document", 10).tolist() == [i * 2 for i in range(10)]
    assert keys.column(tmp_path / "hashes", "id", 7).tolist() == list(range(7))
