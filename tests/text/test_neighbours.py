"""One place in one document is one passage."""

from __future__ import annotations

import time
from dataclasses import replace

from wellread.text.neighbours import by_place
from wellread.text.split import Splitting, number_in_document, passages
from wellread.types import Block, Page, Passage


def part(document: str, number: int, heading: str = "Oil", page: int | None = None, text: str = "") -> Passage:
    words = text or f"{document} says {number}."
    return Passage(f"{document}#{number}", words, document, source="index:x", document=document, heading=heading, page=page)


def told(found: list[Passage]) -> list[str]:
    return [passage.text for passage in found]


def test_neighbours_are_one_in_the_order_of_the_document_where_the_best_stood() -> None:
    found = by_place([part("lamp", 4), part("stove", 7), part("lamp", 3), part("lamp", 5)])
    assert told(found) == ["lamp says 3.\n\nlamp says 4.\n\nlamp says 5.", "stove says 7."]
    assert found[0].id == "lamp#3"


def test_passages_of_a_document_stand_together() -> None:
    assert told(by_place([part("lamp", 9), part("stove", 7), part("lamp", 1)])) == [
        "lamp says 9.",
        "lamp says 1.",
        "stove says 7.",
    ]


def test_another_heading_or_page_is_another_place() -> None:
    by_heading = [part("lamp", 1), part("lamp", 2, heading="Wicks")]
    by_page = [part("lamp", 1, page=3), part("lamp", 2, page=4)]
    assert by_place(by_heading) == by_heading
    assert by_place(by_page) == by_page


def test_sources_and_single_passages_are_kept_apart() -> None:
    elsewhere = replace(part("lamp", 2), source="index:y")
    alone = [Passage("calculate:1+1", "2"), Passage("7", "Seven."), Passage("8", "Eight.")]
    assert by_place([part("lamp", 1), elsewhere, *alone]) == [part("lamp", 1), elsewhere, *alone]
    assert [number_in_document(one) for one in alone] == [None, None, None]


def test_a_number_that_no_document_reaches_is_none() -> None:
    """Ids come from clients and services too, and Python refuses to read more than 4,300 digits."""
    assert number_in_document(Passage("lamp#000000007", "")) == 7
    assert number_in_document(Passage("lamp#" + "1" * 5_000, "")) is None


def test_what_two_passages_share_is_said_once() -> None:
    text = " ".join(f"The lamp number {n} burns for {n} hours." for n in range(60))
    parts = passages(Page("file:///lamp", "Lamp", (text,), blocks=(Block("paragraph", text),)), "lamp", Splitting(60, 20))
    assert len(parts) > 3
    (whole,) = by_place(list(reversed(parts)))
    assert whole.text == text


def test_passages_without_end_are_joined_in_no_time() -> None:
    long = [part("lamp", number, text=f"{number}{'a' * 100_000}") for number in range(20)]
    begun = time.process_time()
    by_place(long)
    assert time.process_time() - begun < 1
