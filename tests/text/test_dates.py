"""Dates as pages and services write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.text.dates import iso_date


@pytest.mark.parametrize(
    ("raw", "iso"),
    [
        ("2023-06-12", "2023-06-12"),
        ("2023-06-12T10:00:00Z", "2023-06-12T10:00:00Z"),
        ("2023-06-12T10:00:00.123+02:00", "2023-06-12T10:00:00+02:00"),
        ("2023-06-12 10:00", "2023-06-12T10:00:00"),
        ("1685600000.000100", "2023-06-01T06:13:20Z"),
        ("Thu, 01 Jun 2023 08:00:00 GMT", "2023-06-01T08:00:00Z"),
        ("June 1, 2023", "2023-06-01"),
        ("1. Juni 2023", "2023-06-01"),
        ("1er juin 2023", "2023-06-01"),
        ("1 de junio de 2023", "2023-06-01"),
        ("2023", "2023"),
        ("2023-13-45", None),
        ("1601-01-01", None),  # where some programs begin to count
        ("3021-01-01", None),
        ("3 days ago", None),
        ("", None),
    ],
)
def test_dates(raw: str, iso: str | None) -> None:
    assert iso_date(raw) == iso


def test_a_record_may_be_old() -> None:
    assert iso_date("1856-05-02", earliest=1) == "1856-05-02"


@given(st.text(max_size=80))
def test_no_text_breaks_it(raw: str) -> None:
    assert isinstance(iso_date(raw), str | None)
