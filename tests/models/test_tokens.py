from __future__ import annotations

import re
import string

from hypothesis import example, given
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


def _as_it_is_meant(text: str) -> int:
    words = re.findall(r"[A-Za-z]{1,4}", text) + re.findall(r"[ \t]{4,}", text) + re.findall(r"[0-9]+", text)
    signs = [sign for sign in text if sign in string.digits + string.punctuation + "\n"]
    beyond = "".join(sign for sign in text if not sign.isascii()).encode("utf-8", "surrogatepass")
    return len(words) + len(signs) + len(beyond) - len(re.findall(r"[\u0370-\u052f\u2e80-\u9fff]", text))


@given(
    st.text(
        st.sampled_from("aZ09 \t\n.é漢\ud800\U0001f600\u036f\u0370\u03ff\u0400\u052f\u0530\u2e7f\u2e80\u9fff\ua000"), max_size=40
    )
)
@example("".join(map(chr, range(0x0340, 0x0540))))
@example("".join(map(chr, range(0x2E00, 0xA100))))
@example("aaaaa    aaaa 12 3\t\t\t\t\t")
def test_it_is_what_plain_patterns_would_count(text: str) -> None:
    assert estimate(text) == _as_it_is_meant(text)
