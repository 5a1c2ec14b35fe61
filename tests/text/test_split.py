"""Blocks to passages that know their place."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from wellread.text.split import Splitting, count_tokens, passages, pieces
from wellread.types import Block, Page

PROSE = "The keeper wrote down the wind and the cloud each evening before he went to bed. "


def head(text: str, level: int = 1, page: int | None = None) -> Block:
    return Block("heading", text, level, page=page)


def body(text: str = PROSE, page: int | None = None, anchor: str = "") -> Block:
    return Block("paragraph", text, 0, anchor, page)


def test_a_passage_knows_its_headings_its_page_and_its_anchor() -> None:
    found = pieces(
        [
            head("Manual", page=1),
            head("Oil", 2, 1),
            body("Fill it.", 1, "oil"),
            body("Wait.", 2, "wait"),
            head("Wick", 2, 2),
            body("Trim it.", 2),
            head("Index", 1, 3),
            body("Oil, 1", 3),
        ],
        Splitting(),
    )
    assert [(one.heading, one.page, one.anchor) for one in found] == [
        ("Manual › Oil", 1, "oil"),
        ("Manual › Oil", 2, "wait"),
        ("Manual › Wick", 2, ""),
        ("Index", 3, ""),
    ]
    assert found[0].text == "# Manual\n\n## Oil\n\nFill it."


def test_a_heading_begins_a_passage_and_never_ends_one() -> None:
    long = [body(PROSE * 3) for _ in range(9)]
    found = pieces([*long, head("Next"), *long, head("Left over")], Splitting(100))
    assert all(not one.text.split("\n")[-1].startswith("#") for one in found[:-1])
    assert [one.text.startswith("# Next\n\nThe keeper") for one in found].count(True) == 1
    assert found[-1].text == "# Left over", "nothing is lost"
    assert all("# Next" not in one.text[1:] for one in found)


def test_lists_and_rows_keep_their_lines_and_code_is_cut_at_lines() -> None:
    items = [Block("item", f"lamp {n}", 1) for n in range(3)]
    rows = [Block("row", "| a | b |"), Block("row", "| c | d |")]
    assert pieces([*items, *rows], Splitting())[0].text == "- lamp 0\n- lamp 1\n- lamp 2\n\n| a | b |\n| c | d |"
    code = Block("code", "\n".join(f"    lamp.light({n})" for n in range(60)))
    found = pieces([code], Splitting(40))
    assert len(found) > 1
    assert all(line.startswith(("    lamp.light(", "```")) for one in found for line in one.text.split("\n"))


def test_whole_documents_stay_whole() -> None:
    found = pieces([head("One"), body(page=1), head("Two"), body(page=2)], Splitting(0))
    assert len(found) == 1
    assert found[0].page == 1


def test_a_page_without_blocks_is_cut_by_its_paragraphs() -> None:
    made = passages(Page("https://e.org", "T", ("One.", "Two.")), "name", Splitting())
    assert [(one.id, one.text, one.title, one.document, one.heading) for one in made] == [
        ("name#0", "One.\n\nTwo.", "T", "name", "")
    ]


KINDS = st.sampled_from(["heading", "paragraph", "item", "row", "code"])
BLOCKS = st.builds(
    Block, KINDS, st.text(st.sampled_from("ab .!\n東é"), max_size=120), st.integers(1, 3), st.just(""), st.integers(1, 3)
)


@given(st.lists(BLOCKS, max_size=8), st.integers(8, 40))
def test_nothing_is_lost_and_nothing_too_long(blocks: list[Block], tokens: int) -> None:
    found = pieces(blocks, Splitting(tokens))
    assert all(0 < count_tokens(one.text) <= tokens + 2 for one in found)  # the two fences of code
    letters = "".join(one.text for one in found).translate(str.maketrans("", "", " \n#-`"))
    assert letters == "".join(block.text for block in blocks).translate(str.maketrans("", "", " \n"))


def test_a_list_that_is_too_long_for_one_passage_is_cut_between_its_lines() -> None:
    items = [f"- Lamp {n} is lit at dusk.\n  It burns oil of its own." for n in range(30)]
    found = pieces([body("\n".join(items))], Splitting(60))
    assert len(found) > 1
    assert all(one.text.startswith("- Lamp") for one in found)
    assert "\n".join(one.text for one in found) == "\n".join(items)
