from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wellread.models.reply import Reply, Thinking


def words(text: str, size: int = 1, *, begun: bool = False) -> str:
    """What a reader of the completion sees when the text comes in pieces of `size`."""
    reply = Reply(thinks=begun)
    for start in range(0, len(text), size):
        reply.feed(text[start : start + size])
    reply.finish()
    return reply.text


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 1000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>hm</think>Paris", "Paris"),
        ("<think>\nhm\n</think>\n\nParis", "Paris"),
        ("<THINK>hm</Think>Paris", "Paris"),
        ("<thinking>hm</thinking> Paris.", "Paris."),
        ("<reasoning>hm</reasoning>Paris", "Paris"),
        ("<thought>hm</thought>Paris", "Paris"),
        ("[THINK]hm[/THINK]Paris", "Paris"),
        ("◁think▷hm◁/think▷Paris", "Paris"),
        ("<|begin_of_thought|>hm<|end_of_thought|>Paris", "Paris"),
        ("<seed:think>hm</seed:think>Paris", "Paris"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Paris<|return|>", "Paris"),
        ("<|channel|>analysis<|message|>hm<|channel|>final<|message|>Paris", "Paris"),
        ("<|channel|>commentary to=functions.search <|message|>{}<|call|>Paris", "Paris"),
        ("<|channel|>final<|message|>Paris<|end|>", "Paris"),
        ("One <think>a</think>two <think>b</think>three", "One two three"),
        ("Paris <think>and now it goes on and never ends", "Paris "),
        ("<think>never ends, <b>not</b> even here", ""),
        ("hm, so</think>Paris", "Paris"),
        ("hm <think>more</think> still</think>\nParis", "Paris"),
        ("Paris</think>", "Paris"),
        ("Paris</think>\n", "Paris\n"),
        ("The `<think>` tag is a mark.", "The `<think>` tag is a mark."),
        ("if a < b and <thing> then", "if a < b and <thing> then"),
        ("a <thin", "a <thin"),
        ("İstanbul <think>İ</think>İzmir", "İstanbul İzmir"),
        ("", ""),
    ],
)
def test_thinking_is_taken_out_however_it_is_split(text: str, expected: str, size: int) -> None:
    assert words(text, size) == expected


@given(st.text("<think>/ ab\n`|", max_size=60), st.lists(st.integers(1, 9), max_size=30))
@example("`<think>x", [1])
@example("</think></think>a", [2, 2])
def test_the_pieces_do_not_matter(text: str, sizes: list[int]) -> None:
    reply, place = Reply(), 0
    for size in sizes:
        reply.feed(text[place : place + size])
        place += size
    reply.feed(text[place:])
    reply.finish()
    assert reply.text == words(text, 1000)


@given(st.text("ab ", max_size=10), st.text("ab<\n ", max_size=20), st.text("cd ", min_size=1, max_size=10))
def test_no_thought_ever_shows(before: str, thought: str, after: str) -> None:
    shown = Thinking()
    pieces = [shown.feed(char) for char in f"{before}<think>{thought}</think>{after}"]
    assert ("".join(pieces) + shown.finish()).replace(" ", "") == (before + after).replace(" ", "")


def test_a_reply_that_begins_inside_the_thinking_is_held_until_its_end() -> None:
    reply = Reply(thinks=True)
    assert reply.feed("Well, the user wants a capital, and so on and so forth. ") == ""
    assert reply.feed("So</think>\n\nParis") == "Paris"
    assert reply.text == "Paris"


def test_a_reply_that_was_expected_to_think_and_did_not_is_an_answer() -> None:
    reply = Reply(thinks=True)
    assert reply.feed("Paris is the capital of France, and has been for a long time.") == ""
    assert reply.finish() == "Paris is the capital of France, and has been for a long time."


def test_thinking_sent_apart_ends_the_holding_back() -> None:
    reply = Reply(thinks=True)
    reply.thinking_apart()
    assert reply.feed("Paris") == "Paris"


def test_a_stop_sequence_inside_the_thinking_does_not_count() -> None:
    reply = Reply(["PAUSE"])
    shown = reply.feed("<think>then I PAUSE</think>Action PAU") + reply.feed("SE more")
    assert (shown, reply.text, reply.stopped_at) == ("Action ", "Action ", "PAUSE")


def test_a_lone_end_mark_replaces_what_came_before() -> None:
    reply = Reply()
    assert reply.feed("I think so") == "I think so"
    assert reply.feed("</think>Paris") == "Paris"
    assert (reply.text, reply.thought_unmarked) == ("Paris", True)
