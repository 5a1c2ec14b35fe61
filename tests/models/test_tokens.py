from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wellread.models.tokens import estimate


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_never_takes_fewer_tokens(a: str, b: str) -> None:
    assert 0 <= estimate(a) <= estimate(a + b)


def test_ordinary_prose_is_not_counted_much_too_high() -> None:
    prose = "The river rises in the mountains and flows through seven countries before it reaches the sea. " * 20
    assert len(prose.split()) * 1.1 < estimate(prose) < len(prose.split()) * 2


def test_numbers_and_other_scripts_are_dear() -> None:
    assert estimate("1234567890") >= 10
    assert estimate("日本の首都は東京です") >= 10
    assert estimate("ประเทศไทย") >= 9
