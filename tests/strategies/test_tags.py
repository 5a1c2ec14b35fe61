"""Tags read tolerantly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.strategies import tags


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
    assert tags.blocks(text, "a") == found
    assert tags.last(text, "a") == (found[-1] if found else None)


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
    assert tags.query(text, "q") == query


def test_until_closed() -> None:
    assert tags.until_closed("<q>x</q> invented", "q") == "<q>x</q>"
    assert tags.until_closed("</q> <q>x</q> y", "q") == "</q> <q>x</q>"
    assert tags.until_closed("<q>x", "q") == "<q>x"


def test_without() -> None:
    assert tags.without("<plan>think</plan> <q>x</q> then <i>y", "q", "i") == "think then"
    assert "<think>" not in tags.without("<t<b>hink>", "q")  # what stands around a tag does not become one


@given(st.text(alphabet="<>/qa \n", max_size=60))
def test_nothing_fails(text: str) -> None:
    tags.blocks(text, "q")
    tags.query(text, "q")
    tags.without(text, "q", "a")
    assert text.startswith(tags.until_closed(text, "q"))
