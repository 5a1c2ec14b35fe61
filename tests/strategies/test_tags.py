"""Tags read tolerantly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.strategies import turns


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<a>x</a>", ["x"]),
        ("<a>x</a> and <A >y</ a>", ["x", "y"]),
        ("<a>x", ["x"]),
        ("x</a>", []),
        ("<a></a>", [""]),
        ("<a><a>x</a> y</a>", ["x y"]),
        ("<a><a>x</a>", ["x"]),
        ('<a kind="b">x</a>', ["x"]),
        ("<ab>x</ab>", []),
        ("", []),
    ],
)
def test_blocks(text: str, found: list[str]) -> None:
    assert turns.blocks(text, "a") == found
    assert turns.last(text, "a") == (found[-1] if found else None)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("<q>one</q>", "one"),
        ("<q>one <q>two</q>", "two"),
        ("<q>", ""),
        ("nothing", None),
        ("<q>\n\n'quoted words'\nsecond line</q>", "quoted words"),
        ("<q>with <b>tags</b> inside</q>", "with tags"),
        ("<q>" + "long " * 100 + "</q>", ("long " * 60).strip()),
    ],
)
def test_query(text: str, query: str | None) -> None:
    assert turns.query(text, "q") == query


def test_until_closed() -> None:
    assert turns.until_closed("<q>x</q> invented", "q") == "<q>x</q>"
    assert turns.until_closed("</q> <q>x</q> y", "q") == "</q> <q>x</q>"
    assert turns.until_closed("<q>x", "q") == "<q>x"


def test_without() -> None:
    assert turns.without("<plan>think</plan> <q>x</q> then <i>y", "q", "i") == "think then"
    assert "<think>" not in turns.without("<t<b>hink>", "q")  # what stands around a tag does not become one


@given(st.text(alphabet="<>/qa \n", max_size=60))
def test_nothing_fails(text: str) -> None:
    turns.blocks(text, "q")
    turns.query(text, "q")
    turns.without(text, "q", "a")
    assert text.startswith(turns.until_closed(text, "q"))
