"""Sentence boundaries in prose and Markdown."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.timing import seconds

from wellread.text.markers import links, markers, strip_markers
from wellread.text.sentences import paragraphs, sentences, statements


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


# One string per sentence: they are joined with a blank and must come apart again.
PROSE = [
    ["Galileo found four moons.", "He saw them in 1610."],
    ["Dr. Curie met Prof. Langevin in St. Petersburg.", "They talked."],
    ["J. S. Bach wrote it.", "C. P. E. Bach did not."],
    ["George W. Bush met Tony Blair.", "Nothing came of it."],
    ["The U.S. Senate voted.", "The vote was close."],
    ["He moved to the U.S.", "The year was 1905."],
    ["It opens at 9 a.m. Monday to Friday.", "It closes at 5 p.m.", "The shop is small."],
    ["Some animals, e.g. Bengal tigers, swim.", "Others, i.e. cats, do not."],
    ["Pi is about 3.14, and e is 2.718.", "Both are irrational."],
    ["It costs $1,299.99.", "That is a lot."],
    ["See No. 5 and Fig. 3 on p. 12.", "He said no.", "Then he left."],
    ["It began on Sept. 3, 1939.", "It ended in 1945."],
    ["Wait ... what is this?", "A test!"],
    ["He paused…", "Then he spoke."],
    ["“It moves.”", "He whispered it."],
    ['He said, "It moves." and smiled.', "Nobody heard."],
    ["(It was late.)", "They slept."],
    ["Is it true?!", "Yes."],
    ["Visit https://example.org/a.b?c=d.e for more.", "Or www.example.com."],
    ["Acme Inc. makes anvils.", "Globex Corp. buys them.", "It pays well."],
    ["Yang et al. showed it.", "Others confirmed it."],
    ["Brown v. Board of Education came in 1954.", "Henry V.", "The play is old."],
    ["The file is main.py.", "Run it."],
    ["Er kam am 3. Oktober 1990.", "Im 19. Jahrhundert war das anders."],
    ["Es gibt viele, z.B. Berlin.", "Das ist so."],
    ["¿Dónde está?", "¡Aquí!", "Está en Perú."],
    ["क्या यह सच है?", "यह सच है।", "हाँ।"],
    ["هل هذا صحيح؟", "نعم."],
    ["Это Москва.", "Она большая."],
]


@pytest.mark.parametrize("parts", PROSE, ids=lambda parts: parts[0][:30])
def test_prose(parts: list[str]) -> None:
    assert split(" ".join(parts)) == parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("伽利略发现了卫星。它们很大！真的吗？是的。", ["伽利略发现了卫星。", "它们很大！", "真的吗？", "是的。"]),
        ("「そうだ。」と言った。次の文。", ["「そうだ。」と言った。", "次の文。"]),
        ("木星很大。[1]土星也是。【2】完。", ["木星很大。[1]", "土星也是。【2】", "完。"]),
        ("यह एक है।यह दो है।", ["यह एक है।", "यह दो है।"]),
    ],
)
def test_scripts_without_blanks(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was in 1610. [2] Next.", ["It was in 1610. [2]", "Next."]),
        ("It was in 1610 [2]. Next.", ["It was in 1610 [2].", "Next."]),
        ("It was in 1610.[2] Next.", ["It was in 1610.[2]", "Next."]),
        ("It was in 1610.[2]Next.", ["It was in 1610.[2]", "Next."]),
        ("So. [1][2] [3] And so.", ["So. [1][2] [3]", "And so."]),
        ("So. [1, 2] And [1-3]. Yes 【4】. No", ["So. [1, 2]", "And [1-3].", "Yes 【4】.", "No"]),
        ("So [1].[2]. And so.", ["So [1].[2].", "And so."]),
        ("It was found. [2] reports that it was.", ["It was found.", "[2] reports that it was."]),
        ("By Acme Inc. [1] Globex followed.", ["By Acme Inc. [1]", "Globex followed."]),
        ("One.\n\n[1]\n\nTwo.", ["One.\n\n[1]", "Two."]),
        ("One. ([Wiki](https://a.org/b)) Two.", ["One. ([Wiki](https://a.org/b))", "Two."]),
        ("One. [Two](https://a.org/b) is here.", ["One.", "[Two](https://a.org/b) is here."]),
        ("One. [Wiki](https://a.org/b)", ["One. [Wiki](https://a.org/b)"]),
        ("See [Galileo. A life](https://a.org/G._(x)). Next.", ["See [Galileo. A life](https://a.org/G._(x)).", "Next."]),
        ('"It moves." [1] Then.', ['"It moves." [1]', "Then."]),
        ("**It moves.** [1] Then.", ["**It moves.** [1]", "Then."]),
    ],
)
def test_markers_stay_with_their_sentence(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_markdown_blocks() -> None:
    text = (
        "# The moons\nText one. Text two\ngoes on here.\n- first item [1]\n- second. More.\n\n"
        "| name | size |\n|---|---|\n| Io. A | 2 |\n1. One thing.\n2. Another.\n\n"
        "```\ncode. Here\n\nand here\n```\n**Result**\nAfter.\n> Quoted and\n> going on. Done.\n***\nLast"
    )
    assert split(text) == [
        "# The moons",
        "Text one.",
        "Text two\ngoes on here.",
        "- first item [1]",
        "- second.",
        "More.",
        "| name | size |",
        "|---|---|",
        "| Io. A | 2 |",
        "1. One thing.",
        "2. Another.",
        "```\ncode. Here\n\nand here\n```",
        "**Result**",
        "After.",
        "> Quoted and\n> going on.",
        "Done.",
        "***",
        "Last",
    ]


def test_a_wrapped_line_may_start_with_a_number() -> None:
    assert split("The answer is\n42. That is all.") == ["The answer is\n42.", "That is all."]


def test_paragraphs_keep_their_sentences_together() -> None:
    assert [len(block) for block in paragraphs("One. Two.\n\nThree.\n- four\n- five. Six.")] == [2, 1, 1, 2]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\r\n", "\u3000\u2028"])
def test_nothing_has_no_sentences(text: str) -> None:
    assert sentences(text) == []


PIECES = [
    ". ",
    "! ",
    "…",
    "。",
    "؟ ",
    "।",
    "[1]",
    "[1, 2]",
    "[1-3]",
    "【2】",
    " [99] ",
    "[a](https://e.org/x_(y))",
    "([b](u))",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "# ",
    "> ",
    "```",
    "`",
    "**",
    '"',
    "”",
    ")",
    "(",
    "Dr. ",
    "e.g. ",
    "U.S. ",
    "3.14",
    "J. ",
    "https://a.b/c.d ",
]
NASTY = st.lists(st.sampled_from([*PIECES, "| "]) | st.text(max_size=8), max_size=40).map("".join)


@given(NASTY)
@example("a.[1]b. ")
def test_spans_are_ordered_apart_and_cover_all_but_blanks(text: str) -> None:
    position = 0
    for start, end in sentences(text):
        assert position <= start < end <= len(text)
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@given(NASTY)
@example("[1]([a](u))")
def test_markers_and_links_are_ordered_and_apart(text: str) -> None:
    position = 0
    for found in sorted([(m.start, m.end) for m in markers(text)] + [(link.start, link.end) for link in links(text)]):
        assert position <= found[0] < found[1]
        position = found[1]


@given(st.lists(st.sampled_from([sentence for parts in PROSE[:5] for sentence in parts]), min_size=1, max_size=8), st.data())
def test_plain_sentences_with_markers_come_apart_again(parts: list[str], data: st.DataObject) -> None:
    marked = [part + data.draw(st.sampled_from(["", " [1]", "[2][3]", " [1, 2] [4]", " [1-3]", " 【7】"])) for part in parts]
    assert split(" ".join(marked)) == marked


WORST = [
    ".",
    "[1]",
    ". [1",
    "`",
    "[a](",
    "(",
    "\n",
    "* ",
    "a.",
    ". ",
    "**",
    "[1](x",
    '."',
    "1-",
    "[1,",
    "> ",
    "|",
    " ",
    "A. ",
    ".[1]",
    ".[1] ",
    "x\n2. y\n",
    "[",
    "![",
    "- ",
    "[1]\n\n",
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", WORST)
@pytest.mark.no_cover
def test_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    def took(length: int, enough: float = 0.0) -> float:
        text = piece * (length // len(piece)) + "x"
        return seconds(lambda: sentences(text), enough=enough)

    took(1_000)
    # ten times the text: linear is ten times the time, quadratic a hundred
    limit = 40 * took(5_000) + 0.05
    assert took(50_000, limit) <= limit


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a [1] b [2][3]", [(1,), (2,), (3,)]),
        ("[1, 2] [1,2;4] [1-3] [1–3, 7]", [(1, 2), (1, 2, 4), (1, 2, 3), (1, 2, 3, 7)]),
        ("【1】 【2†source】 ［3］ [[4]] [^5] [Source 6]", [(1,), (2,), (3,), (4,), (5,), (6,)]),
        ("[1](https://a.org)", [(1,)]),
        ("[1990] [a] [] [1 2 3", []),
        ("[3-1] [1-900]", []),
        ("`x[1]` and ```\ny[2]\n``` and z[3]", [(3,)]),
        ("[١]", [(1,)]),
    ],
)
def test_markers(text: str, numbers: list[tuple[int, ...]]) -> None:
    found = markers(text)
    assert [marker.numbers for marker in found] == numbers
    assert all(text[marker.start] in "[【［" for marker in found)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Io is a moon [1].", "Io is a moon."),
        ("Io is a moon. [1][2] Yes [3, 4].", "Io is a moon. Yes."),
        ("[1] Io", "Io"),
        ("See [Io](https://a.org).", "See [Io](https://a.org)."),
        ("Io [1](https://a.org).", "Io."),
        ("In [1990] it was", "In [1990] it was"),
        ("", ""),
    ],
)
def test_strip_markers(text: str, bare: str) -> None:
    assert strip_markers(text) == bare


@given(NASTY)
def test_stripping_markers_leaves_none_that_were_there(text: str) -> None:
    bare = strip_markers(text)
    assert len(bare) <= len(text)
    if not markers(text):
        assert bare == text


def test_links_show_text_and_address() -> None:
    found = links('See [Io](https://a.org/Io_(moon)) and ![image](x.png) and [2](https://b.org) and [E](<c> "t").')
    assert [(link.text, link.url) for link in found] == [("Io", "https://a.org/Io_(moon)"), ("E", "c")]


def test_headings_questions_and_lines_of_contents_tell_nothing() -> None:
    text = "## How to pair\n\nHow is it paired?\n\nHold the button. The light blinks.\n\nPairing ........ 12\n\n- Press OK."
    told = [text[start:end].strip() for start, end in statements(text)]
    assert told == ["Hold the button.", "The light blinks.", "- Press OK."]
    assert not statements("### 4.7. When I paste from afar, it wraps the lines. What gives?"), "the whole of a heading"
