"""Questions in other languages, without a language model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.strategies.bench import Shelf

from wellread import events
from wellread.engine import Engine
from wellread.ranking.evaluator import MODEL, SHIPPED
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
    """The package's own file under another name and language: what counts is that it is asked."""
    (tmp_path / MODEL).symlink_to(SHIPPED / MODEL)
    known = json.loads((SHIPPED / "calibration.json").read_text())
    (tmp_path / "calibration.json").write_text(json.dumps({**known, "languages": ["en", "de"]}))
    answer, _, _ = await asked(QUESTION, reranker=f"evaluator:{tmp_path}")
    assert answer.usage.pairs > 0
    assert not answer.notes


async def test_a_folder_without_an_evaluator_is_named(tmp_path: Path) -> None:
    answer, _, _ = await asked(QUESTION, reranker=f"evaluator:{tmp_path}")
    assert answer.outcome == "failed"
    assert "there is no evaluator.onnx" in (answer.reason or "")
