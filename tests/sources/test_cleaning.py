"""Markup, dates, addresses: what is cleaned before anyone sees it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.net.address import canonical
from wellread.net.payload import Payload
from wellread.sources.datasette import matching
from wellread.sources.hits import best_first, hit, lines, plain, web_address, without_wikitext
from wellread.sources.mediawiki import from_extract, from_html, is_disambiguation
from wellread.sources.service import RecordOptions, keywords


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<ul><li>One &amp; two</li><li>Three</li></ul>", "One & two Three"),
        ("a<br>b<script>alert(1)</script><style>p{}</style>", "a b"),
        ("AT&amp;T, 3 < 4 and 5 > 2", "AT&T, 3 < 4 and 5 > 2"),
        ("co\u00adop\u200berate\u202e \x00now\x1b[31m", "cooperate now [31m"),
        ("<b>un</b>broken", "unbroken"),
        ("<p unclosed", ""),
        (f"a &#{'9' * 5000}; b", "a \ufffd b"),
        (f"<b>a</b> &#x{'f' * 5000}; b", "a \ufffd b"),
        ("", ""),
    ],
)
def test_plain_words(raw: str, clean: str) -> None:
    assert plain(raw) == clean


@given(st.text(max_size=200))
def test_no_text_breaks_the_cleaning(raw: str) -> None:
    for clean in (plain(raw), lines(raw), lines(f"<div>{raw}</div>")):
        assert "\x00" not in clean
        assert "\u202e" not in clean
    assert "\n" not in plain(raw)


def test_wikitext_of_snippets() -> None:
    assert without_wikitext("'''Bold''' [[Page|link]] [[Other]] {{cite}} == Head ==") == "Bold link Other Head"


def test_lines_keep_blocks_apart() -> None:
    assert lines("<p>One.</p><p>Two.</p>") == "One.\nTwo."


@pytest.mark.parametrize(
    "same",
    [
        "http://www.example.org/a/?b=2&a=1#part",
        "https://example.org:443/a?a=1&b=2&utm_source=x&fbclid=y",
        "HTTPS://EXAMPLE.ORG/a/index.html?a=1&b=2",
        "https://m.example.org/%61?a=1&b=2",
    ],
)
def test_addresses_of_one_page_are_equal(same: str) -> None:
    assert canonical(same) == canonical("https://example.org/a?a=1&b=2")


def test_addresses_of_other_pages_are_not() -> None:
    different = ["https://example.org/a", "https://example.org/A", "https://example.org/a?p=1", "https://example.org:8080/a"]
    assert len({canonical(url) for url in [*different, "https://sub.example.org/a", "not an address", "http://[::1"]}) == 7
    assert canonical("https://en.m.wikipedia.org/wiki/Caf%C3%A9") == canonical("https://en.wikipedia.org/wiki/Café")


@given(st.text(max_size=60))
def test_any_text_has_a_canonical_form_that_stays(raw: str) -> None:
    assert isinstance(canonical(f"https://{raw}"), str)
    assert isinstance(canonical(raw), str)


def test_only_web_addresses_pass() -> None:
    assert web_address(" https://example.org/x ") == "https://example.org/x"
    for wrong in (
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//x.org",
        "https://",
        "https://x.org/\x00",
        "",
    ):
        assert web_address(wrong) is None


def test_a_hit_needs_words_and_a_place() -> None:
    assert hit(title="", url="https://e.org") is None
    assert hit(title="T", url="javascript:x") is None
    made = hit(title="", url="https://e.org", snippet="words", text="")
    assert made is not None
    assert (made.title, made.text) == ("https://e.org", "")
    assert [found.score for found in best_first([made, replace(made, id="2")], "s")] == [1.0, 0.5]


def test_scores_that_contradict_the_order_give_way() -> None:
    made = [hit(title="T", url=f"https://e.org/{n}", score=n) for n in (1, 3, 2)]
    assert [(found.url, round(found.score, 2)) for found in best_first([*made, None, made[0]], "s")] == [
        ("https://e.org/1", 1.0),
        ("https://e.org/3", 0.5),
        ("https://e.org/2", 0.33),
    ]


def test_key_words_and_fts_queries() -> None:
    assert keywords("Who was the best player of the 2009 Nuggets?") == ["best", "player", "2009", "nuggets"]
    assert keywords("who is the") == ["who", "is", "the"]
    assert matching('the "cat" OR hat*') == '"cat" "hat"'
    assert matching("cat hat", " OR ") == '"cat" OR "hat"'
    assert matching("*** ???") == ""


def test_records_are_read_by_customary_names_or_as_told() -> None:
    row = Payload({"Title": "T", "body": "B", "Link": "https://e.org", "created_at": "2023-01-02", "x": {"y": "deep"}})
    guess = RecordOptions()
    assert (guess.said("title", row), guess.text_of(row), guess.said("url", row), guess.said("date", row)) == (
        "T",
        "B",
        "https://e.org",
        "2023-01-02",
    )
    assert RecordOptions(text="x.y").text_of(row) == "deep"
    assert guess.text_of(Payload({"name": "N", "colour": "red", "n": 3})) == "colour: red"


def test_extracts_become_sections_and_empty_ones_go() -> None:
    raw = "Intro.\n\n\n== One ==\nText.\n\n\n=== Deep ===\nMore.\n\n\n== See also ==\n\n\n== References ==\n"
    assert from_extract(raw) == "Intro.\n\n## One\nText.\n\n### Deep\nMore."
    assert from_extract("== Only ==") == ""
    assert from_extract("== A ==\n\n=== B ===\nText.") == "## A\n\n### B\nText."


def test_parsed_pages_become_sections_too() -> None:
    raw = (
        '<div class="mw-parser-output"><p>Intro<sup class="reference">[1]</sup>.</p><div class="mw-heading"><h2>One</h2>'
        '<span class="mw-editsection">[edit]</span></div><ul><li>a</li><li>b</li></ul>'
        "<table><tr><th>k</th><td>v</td></tr></table>"
        '<h2>Notes</h2><div class="navbox">links</div></div>'
    )
    assert from_html(raw) == "Intro.\n\n## One\n\n- a\n- b\n\n| k | v |"


def test_pages_of_meanings_are_seen() -> None:
    assert is_disambiguation("Mercury (disambiguation)", "")
    assert is_disambiguation("Mercury", "Mercury most commonly refers to planets.\nMercury may also refer to:\nMercury (planet)")
    assert not is_disambiguation("Mercury", "Mercury is a planet. Its name can refer to a god, and this goes on and on as prose.")


ANY = st.recursive(
    st.none() | st.text(max_size=5) | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(ANY)
def test_payloads_never_raise(value: object) -> None:
    payload = Payload(value)
    assert payload.text("no such key", 0, "b") == ""
    assert all(abs(number) < float("inf") for item in payload.items() if (number := item.number()) is not None)
    assert len(payload.items()) == (len(value) if isinstance(value, list | dict) else 0)
    assert payload.names() == (list(value) if isinstance(value, dict) else [])
