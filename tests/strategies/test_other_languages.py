"""Questions in other languages, without a language model."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ranking.tiny import tiny_evaluator
from tests.strategies.bench import Shelf

from wellread import events
from wellread.engine import Engine
from wellread.settings import Settings
from wellread.types import Answer, Hit

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

GERMAN = (
    Hit("titan", "Titan ist der größte Mond des Saturn. Er wurde 1655 von Christiaan Huygens entdeckt.", "Titan"),
    Hit("garten", "Im Botanischen Garten wachsen viele Rosen. Der Eintritt kostet drei Euro.", "Garten"),
    Hit("drucker", "Um den Drucker einzurichten, öffnen Sie die Einstellungen und wählen Sie Drucker hinzufügen.", "Drucker"),
)
QUESTION = "Wie viel kostet der Eintritt in den Botanischen Garten?"


async def asked(question: str, **settings: object) -> tuple[Answer, Shelf, list[events.Event]]:
    shelf = Shelf(GERMAN, everything=True)
    async with Engine(Settings(model="none", **settings), source=shelf) as engine:  # type: ignore[arg-type]
        seen = [event async for event in engine.stream(question)]
    assert isinstance(seen[-1], events.Answered)
    return seen[-1].answer, shelf, seen


async def test_it_quotes_by_the_words_of_the_language_and_says_so() -> None:
    answer, shelf, seen = await asked(QUESTION)
    assert answer.outcome == "answered", answer.reason
    assert 0.5 <= (answer.confidence or 0) < 0.9, "never very sure by words alone"
    assert "Der Eintritt kostet drei Euro." in answer.text
    assert (answer.short, answer.usage.pairs) == (None, 0)
    assert "German" in answer.notes[0]
    assert any(isinstance(event, events.Notice) and "German" in event.message for event in seen)
    assert shelf.asked[0].language == "de"


async def test_it_refuses_what_the_passages_do_not_say() -> None:
    answer, _, _ = await asked("Wer war der erste Bundeskanzler der Bundesrepublik Deutschland?")
    assert answer.outcome == "unsure"
    assert answer.nearest
    assert answer.notes


async def test_english_is_asked_as_before() -> None:
    answer, shelf, _ = await asked("Who discovered the moon Titan?", effort="low")
    assert shelf.asked[0].language is None
    assert not answer.notes


async def test_an_evaluator_from_a_folder_judges_the_languages_that_it_names(tmp_path: Path) -> None:
    """Its own words and its own file: the package's model reads "Euro" only in pieces and would not know where to begin."""
    own = f"evaluator:{tiny_evaluator(tmp_path, 'drei', 'Euro', ['de', 'fr'])}"
    answer, _, _ = await asked(QUESTION, reranker=own)
    assert (answer.outcome, answer.short) == ("answered", "drei Euro")
    assert answer.usage.pairs > 0
    assert not answer.notes


async def test_it_is_not_asked_in_a_language_that_it_does_not_name(tmp_path: Path) -> None:
    own = f"evaluator:{tiny_evaluator(tmp_path, 'drei', 'Euro', ['fr'])}"
    answer, _, _ = await asked(QUESTION, reranker=own)
    assert (answer.short, answer.usage.pairs) == (None, 0)
    assert "German" in answer.notes[0]


async def test_a_folder_without_an_evaluator_is_named(tmp_path: Path) -> None:
    answer, _, _ = await asked(QUESTION, reranker=f"evaluator:{tmp_path}")
    assert answer.outcome == "failed"
    assert "there is no evaluator.onnx" in (answer.reason or "")
