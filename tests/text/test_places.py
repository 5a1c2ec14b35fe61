"""A place in words, the same everywhere."""

from __future__ import annotations

import pytest

from wellread.answer_json import AnswerJson
from wellread.events import answer_json, hit_json
from wellread.present.markdown import source_lines
from wellread.present.sections import sections
from wellread.text.places import about, place
from wellread.types import Answer, Citation, Hit, Passage, Sentence

FILE = Passage(
    "R-FAQ.pdf#9", "The name.", "R FAQ", "file:///home/ada/R-FAQ.pdf", "index:idx", document="R-FAQ.pdf",
    heading="2 R Basics › Why is R named R?", page=14,
)  # fmt: skip
WEB = Passage("u", "x", "Oil", "https://a.example/oil", "wikipedia", heading="Lamps › Wicks", anchor="wicks")
LIBRARY = Passage("titan#0", "x", "Titan (moon)", None, "library", document="titan")


@pytest.mark.parametrize(
    ("passage", "words"),
    [
        (FILE, "R-FAQ.pdf, page 14, “Why is R named R?”"),
        (WEB, "Oil, “Wicks” (https://a.example/oil)"),
        (LIBRARY, "Titan (moon) (library)"),
        (Passage("x", "y", url="file:///a/b.txt", document="b.txt", heading="b"), "b.txt, “b”"),
        (Passage("x", "y", "Bread", url="file:///a/b.md", document="sub/b.md", heading="Bread"), "sub/b.md"),
        (Passage("x", "y", source="calculation"), "calculation"),
        (Passage("x", "y", "T", heading="x" * 300), f"T, “{'x' * 119}…”"),
    ],
)
def test_a_place_in_words(passage: Passage, words: str) -> None:
    assert place(passage) == words


def test_citations_and_hits_say_it_in_json_and_markdown() -> None:
    citation = Citation(1, FILE, 0, 9, 1.0)
    answer = Answer("q", "It. [1]", "answered", "quote", sentences=(Sentence("It.", 0, 3, "carried", (citation,)),))
    body = answer_json(answer)
    (said,) = body["citations"]  # type: ignore[misc]
    assert (said["document"], said["heading"], said["page"]) == ("R-FAQ.pdf", FILE.heading, 14)
    assert said["place"] == place(FILE)
    assert source_lines(sections(AnswerJson.of(answer))) == ["- [1] R-FAQ.pdf, page 14, “Why is R named R?”: “The name.”"]
    shown = hit_json(Hit.of(WEB, 1.0))
    assert (shown["heading"], shown["anchor"], shown["place"]) == ("Lamps › Wicks", "wicks", place(WEB))


def test_what_is_searched_for_names_the_headings_once() -> None:
    assert about(FILE) == "R FAQ. 2 R Basics › Why is R named R?"
    assert about(Passage("x", "# Oil\n\nFill it.", "Lamps", heading="Oil")) == "Lamps"
    assert about(LIBRARY) == "Titan (moon)"
