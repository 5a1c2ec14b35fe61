"""`quote` on questions that compare two things, over the library of the package."""

from __future__ import annotations

import pytest

from wellread.engine import Engine
from wellread.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.parametrize("effort", ["low", "normal"])
@pytest.mark.parametrize(
    ("question", "winner", "told"),
    [
        ("Who was born first, Isaac Newton or Galileo Galilei?", "Galileo Galilei", "1564 is earlier"),
        ("Which river is longer, the Danube or the Nile?", "the Nile", "6,650 kilometres is more"),
    ],
)
async def test_both_values_are_read_and_a_program_compares_them(question: str, winner: str, told: str, effort: str) -> None:
    async with Engine(Settings(model="none", effort=effort)) as engine:  # type: ignore[arg-type]
        answer = await engine.ask(question)
    assert (answer.outcome, answer.short) == ("answered", winner)
    assert told in answer.notes[0]
    assert winner.removeprefix("the ") in answer.sentences[0].text
    assert len({citation.number for citation in answer.citations}) == 2


async def test_a_side_that_nobody_knows_decides_nothing() -> None:
    async with Engine(Settings(model="none", effort="low")) as engine:
        answer = await engine.ask("Who was born first, Isaac Newton or Zaphod Beeblebrox?")
    assert not answer.notes
    assert answer.short is None
