"""robots.txt as RFC 9309 reads it."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.net.robots import EVERYTHING, NOTHING, parse


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /a", "/ab", False),
        ("User-agent: *\nDisallow: /a/", "/a", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: /*?print", "/a?print=1", False),
        ("User-agent: *\nDisallow: /a*b*c$", "/axxbxxc", False),
        ("User-agent: *\nDisallow: /a*b*c$", "/axxcxxb", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /%7Ejoe", "/~joe/x", False),
        ("User-agent: *\nDisallow: /ü", "/%C3%BC", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent: WellRead\nDisallow: /", "/a", False),
        ("User-agent: wellread/1.0\nDisallow: /", "/a", False),
        ("User-agent: wellread\nAllow: /\n\nUser-agent: *\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: wellread\nDisallow: /b", "/a", True),
        ("User-agent: a\nUser-agent: wellread\nDisallow: /x", "/x", False),
        ("User-agent: wellread\nDisallow: /x\nUser-agent: wellread\nDisallow: /y", "/x", False),
        ("User-agent: wellread\nDisallow: /x\nUser-agent: wellread\nDisallow: /y", "/y", False),
        ("# note\nuser-agent : *  # all\r\ndisallow : /a # not this\r\n", "/a", False),
        ("User-agent: *\nCrawl-delay: 5\nSitemap: http://a/\nDisallow: /a", "/a", False),
        ("\ufeffUser-agent: *\nDisallow: /a", "/a", False),
        ("Disallow: /a", "/a", True),
        ("<html>not found</html>", "/a", True),
        ("User-agent: *\nDisallow: /a", "", True),
    ],
)
def test_rules(text: str, path: str, allowed: bool) -> None:
    assert parse(text).allows(path) is allowed


def test_the_two_ends() -> None:
    assert EVERYTHING.allows("/a")
    assert not NOTHING.allows("/a")


def test_of_a_long_path_only_the_beginning_is_remembered() -> None:
    tracemalloc.start()
    for number in range(20):
        parse(f"User-agent: *\nDisallow: /{number}" + "é" * 200_000)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000


def test_hostile_patterns_take_no_time() -> None:
    rules = parse("User-agent: *\n" + ("Disallow: /" + "*a" * 400 + "$\n") * 200)
    start = time.process_time()
    rules.allows("/" + "a" * 3000 + "b")
    assert time.process_time() - start < 2


@given(st.text(max_size=200), st.text(alphabet="/abc?*$%~ü", max_size=30))
def test_any_file_gives_an_answer(text: str, path: str) -> None:
    assert parse("User-agent: *\nDisallow: " + text).allows("/" + path) in {True, False}
