"""One document is one source: neighbouring passages of it get one number, whatever the recipe."""

from __future__ import annotations

from typing import Any

import pytest
from tests.strategies.bench import Bench, Shelf

from wellread import events
from wellread.strategies.corrective import Corrective
from wellread.strategies.guided import Guided
from wellread.strategies.iterative import Iterative
from wellread.strategies.quote import Quote
from wellread.types import Hit

pytestmark = pytest.mark.anyio

FIRST = "The lamp of the lighthouse burns whale oil."
SECOND = "The lamp of the lighthouse was lit in 1874 by its first keeper."
LAMP = [
    Hit(f"lamp.txt#{n}", text, "Lamp", "file:///lamp.txt", "shelf", document="lamp.txt", heading="Oil", score=1.0)
    for n, text in enumerate((FIRST, SECOND), start=4)
]
QUESTION = "What does the lamp of the lighthouse burn and when was the lamp of the lighthouse lit?"


@pytest.mark.parametrize("recipe", [Quote, Guided, Corrective])
async def test_neighbours_have_one_number(recipe: Any) -> None:
    bench = Bench(
        lambda prompt: "yes" if "relevant" in prompt.messages[-1].text else f"{SECOND} [1]", source=Shelf(LAMP), effort="low"
    )
    answer = await bench.ask(recipe, QUESTION)
    (numbered,) = bench.of(events.Numbered)
    assert numbered.passage.text == f"{FIRST}\n\n{SECOND}"
    assert {citation.quote for citation in answer.citations} >= {SECOND}, "a citation ends at its own words"


async def test_iterative_shows_neighbours_together_and_not_again() -> None:
    asks = ["<think>a</think><search>lamp of the lighthouse</search>", "<search>the lamp, lit by its keeper</search>"]
    bench = Bench([*asks, f"<answer>{SECOND} [1]</answer>", *[f"{SECOND} [1]"] * 2], source=Shelf(LAMP), effort="low")
    await bench.ask(Iterative, "When was the lamp lit?")
    (numbered,) = bench.of(events.Numbered)
    assert numbered.passage.text == f"{FIRST}\n\n{SECOND}"
