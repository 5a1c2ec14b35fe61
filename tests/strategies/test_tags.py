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
        ("<q>\n\n'quoted words'\n</q>", "quoted words"),
        ("<q>\nfirst line\nsecond line</q>", "first line second line"),
        ("<q>with <b>tags</b> inside</q>", "with <b>tags</b> inside"),
        ("<q>price < 5 and width > 3</q>", "price < 5 and width > 3"),
        ('<q>C++ std::vector<int> "push_back"</q>', 'C++ std::vector<int> "push_back"'),
        ('<q>"first phrase" "second phrase"</q>', '"first phrase" "second phrase"'),
        ("<q>" + "long " * 100 + "</q>", ("long " * 100).strip()),
        ("<q>'first line'\nsecond line", "first line"),
        ("<q>first</qq> and more", "first"),
        ("<q>" + "never closed " * 100, ""),
    ],
)
def test_query(text: str, query: str | None) -> None:
    assert turns.query(text, "q") == query


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ('"flow"', "flow"),
        ("“flow”", "flow"),
        ('author of "Hamlet"', 'author of "Hamlet"'),
        ('"Hamlet" author', '"Hamlet" author'),
        ("`a` or `b`", "`a` or `b`"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_marks_go_only_where_they_stand_around_all_of_it(text: str, bare: str) -> None:
    assert turns.unquoted(text) == bare


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
