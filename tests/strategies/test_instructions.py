"""`quote` on questions whose answer is a list of steps or a piece of code."""

from __future__ import annotations

import pytest
from tests.strategies.bench import Shelf

from wellread.engine import Engine
from wellread.settings import Settings
from wellread.types import Answer, Hit

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SHELF = (
    Hit(
        "standby", "To promote a standby server:\n\n1. Stop the primary.\n2. Promote the standby.\n\nIt can be undone.", "Standby"
    ),
    Hit("build", "To clean the build folder, run:\n\n```\nmake clean\nmake all\n```\n\nIt takes a minute.", "Build"),
)


async def asked(question: str) -> Answer:
    async with Engine(Settings(model="none", effort="low"), source=Shelf(SHELF, everything=True)) as engine:
        return await engine.ask(question, params={"max_sentences": 1})


async def test_the_steps_are_quoted_with_the_sentence_that_leads_to_them() -> None:
    answer = await asked("How do I promote a standby server?")
    assert answer.text == "To promote a standby server: [1]\n\n1. Stop the primary. [1]\n2. Promote the standby. [1]"
    assert all(sentence.supported for sentence in answer.sentences)


async def test_code_is_quoted_whole() -> None:
    answer = await asked("How do I clean the build folder?")
    assert "```\nmake clean\nmake all\n```" in answer.text
    assert all(sentence.supported for sentence in answer.sentences)


async def test_quotes_without_a_full_stop_are_not_run_together() -> None:
    """Read as one sentence, neither passage would carry all of it."""
    shelf = (
        Hit("port", "The port of the lamp server\n\nDefault value of the lamp port: 8118", "Lamp port"),
        Hit("host", "The lamp host\n\nDefault value of the lamp host: example", "Lamp host"),
    )
    async with Engine(Settings(model="none", effort="low"), source=Shelf(shelf, everything=True)) as engine:
        answer = await engine.ask("What are the default values of the lamp port and the lamp host?")
    assert len(answer.sentences) == len(answer.citations) >= 2
    assert all(sentence.supported for sentence in answer.sentences)
