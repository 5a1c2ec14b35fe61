"""Marks of sentences that are not carried: where they stand, and that they leave with the answer by every door."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt

from wellread.answer_json import AnswerJson
from wellread.citations.check import check
from wellread.cli.opening import cited
from wellread.present.html import answer_html
from wellread.present.markdown import markdown
from wellread.present.marks import MARK, marked, unmarked
from wellread.present.sections import bracketed, differing, sections, shown
from wellread.server import openai_format
from wellread.types import Answer, Passage

PASSAGES = {1: Passage("p", "Saturn has 146 moons.", title="Saturn")}
CODE = "Run this:\n\n```python\nprint(99)\n```\n\nSaturn has 146 moons [1]."
OPEN = "Run this:\n\n```python\nprint(99)"


def answer(text: str) -> Answer:
    return Answer("?", text, "answered", "guided", sentences=tuple(check(text, PASSAGES)), passages=PASSAGES)


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        OPEN,
        "- One:\n  ~~~\n  x = 99\n  ~~~\n- Saturn has 146 moons [1].",
        "| Planet | Moons |\n|---|---|\n| Saturn | 147 |\n| Mars | 99 |\nSaturn has 146 moons [1].",
        "Planet | Moons\n---|---\nSaturn | 147",
        "So:\n\n$$\nx = 99.\n$$\n\nEnd.",
        "So \\[\nx = 99.\n\\] it is.",
        "Below:\n\n    let x = 99\n    let y = 98\n\nSaturn has 146 moons [1].",
        "Use `a. B 99` there. See [Mars. 99 moons](https://example.org/a). It costs $5 or $6 in 1999.",
    ],
)
def test_a_mark_stands_in_no_code_table_formula_or_link(text: str) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    found = sections(AnswerJson.of(answer(text))).marked()
    tokens = parser.parse(found)
    inside = [one for one in tokens if one.type in ("fence", "code_block")]
    cells = [after for one, after in pairwise(tokens) if one.type in ("td_open", "th_open")]
    spans = [child for one in tokens for child in one.children or () if child.type == "code_inline"]
    assert MARK in found
    assert not any(MARK in one.content for one in (*inside, *cells, *spans))
    assert all(MARK not in part.rpartition("$$")[2] for part in found.split("$$")[1:2])
    assert unmarked(found).split() == text.split() or text == OPEN


def test_each_sentence_that_is_not_carried_has_its_mark() -> None:
    text = "Saturn has 146 moons [1]. It has 147 moons [1]. Mars has 3 [1]."
    assert sections(AnswerJson.of(answer(text))).marked() == "Saturn has 146 moons [1]. It has 147 moons [1]. ⚠ Mars has 3 [1]. ⚠"


@pytest.mark.parametrize(
    ("sentence", "quote"),
    [
        ("Titan was found by Christiaan Huygens in »1656«.", "On »25« March »1655« the Dutchman Christiaan Huygens found Titan."),
        ("The largest moon of Jupiter is »Io«.", "»Ganymede« is the largest moon of Jupiter."),
        ("»Google« was acquired by »YouTube« in 2006.", "In 2006, »YouTube« was acquired by »Google« for 1.65 billion dollars."),
        ("The bridge was »not« opened in 1932.", "The bridge was opened on 19 March 1932."),
        ("It weighs 1,200 »kilograms«.", "It weighs 1200 »pounds«."),
        ("It »likes cheese«.", ""),
    ],
)
def test_what_differs_is_marked_in_the_sentence_and_in_its_source(sentence: str, quote: str) -> None:
    ours, theirs = (re.sub("[»«]", "", text) for text in (sentence, quote))
    left, right = differing(ours, theirs)
    assert (bracketed(ours, left), bracketed(theirs, right)) == (sentence, quote)


def test_a_mark_leads_to_its_sentence_beside_the_source() -> None:
    given = answer("Saturn has 146 moons [1]. It has 147 moons [1]. Saturn has 148 moons [1].")
    assert [(one.number, one.sentence, one.cited and one.cited.quote) for one in sections(AnswerJson.of(given)).doubts] == [
        (1, "It has 147 moons.", "Saturn has 146 moons."),
        (2, "Saturn has 148 moons.", "Saturn has 146 moons."),
    ]
    assert re.findall(r'class="cite mark" href="#doubt-(\d)"', answer_html(AnswerJson.of(given))) == ["1", "2"]
    (source,) = cited(given)
    assert source.doubts[0] == ("It has »147« moons.", "Saturn has »146« moons.")


def test_marks_leave_by_every_door_and_can_be_refused() -> None:
    given = answer("Saturn has 146 moons [1]. It has 147 moons [1].")
    body, meaning = AnswerJson.of(given), "⚠ 2 of 2 sentences checked; 1 not carried by the cited sources"
    for told in (str(given), markdown(body), openai_format.spoken(body) + openai_format.sources(body)):
        assert "146 moons [1]. It has 147 moons [1]. ⚠" in told
        assert told.endswith(meaning)
    assert sections(body).quoting_legend() == f"{meaning}: “It has 147 moons [1].”"  # of a text that was streamed
    clean = shown(body, "none")
    assert MARK not in markdown(clean) + openai_format.spoken(clean) + openai_format.sources(clean)
    (turn,) = openai_format.conversation(
        [
            openai_format.Message(role="user", content="?"),
            openai_format.Message(role="assistant", content=markdown(body)),
            openai_format.Message(role="user", content="And?"),
        ]
    )[1]
    assert MARK not in turn[1]


def test_a_code_block_ends_where_it_ended_though_it_is_marked() -> None:
    html = answer_html(AnswerJson.of(answer(CODE)))
    assert html.index("</pre>") < html.index('class="cite mark"') < html.index("146 moons")


@pytest.mark.no_cover
def test_hostile_text_is_marked_in_linear_time() -> None:
    for text in ("`" * 50_000, "`a`` " * 10_000, "[" * 50_000, "$a " * 20_000, "|-\n" * 20_000, "```\n" * 20_001):
        assert MARK in marked(text, [(len(text) // 2, MARK), (len(text), MARK)])


def test_an_answer_that_is_carried_has_none() -> None:
    given = answer("Saturn has 146 moons [1].")
    assert sections(AnswerJson.of(given)).marked() == given.text
    assert sections(AnswerJson.of(given)).checked == "1 of 1 sentence checked; all carried"
