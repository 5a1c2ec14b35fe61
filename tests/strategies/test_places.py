"""One document is one source: neighbouring passages of it get one number, whatever the recipe."""

from __future__ import annotations

from typing import Any

import pytest
from tests.strategies.bench import Bench, Shelf

from wellread import events
from wellread.answer_json import AnswerJson
from wellread.strategies.auto import Auto
from wellread.strategies.corrective import Corrective
from wellread.strategies.fanout import Fanout
from wellread.strategies.guided import Guided
from wellread.strategies.iterative import Iterative
from wellread.strategies.quote import Quote
from wellread.strategies.react import React
from wellread.trace.timeline import timeline
from wellread.types import Hit

pytestmark = pytest.mark.anyio

FIRST = "The lamp of the lighthouse burns whale oil."
SECOND = "The lamp of the lighthouse was lit in 1874 by its first keeper."
LAMP = [
    Hit(f"lamp.txt#{n}", text, "Lamp", "file:///lamp.txt", "shelf", document="lamp.txt", heading="Oil", score=1.0)
    for n, text in enumerate((FIRST, SECOND), start=4)
]
QUESTION = "What does the lamp of the lighthouse burn and when was the lamp of the lighthouse lit?"


@pytest.mark.parametrize("recipe", [Quote, Guided, Corrective, Fanout])
async def test_neighbours_have_one_number(recipe: Any) -> None:
    bench = Bench(
        lambda prompt: "yes" if "relevant" in prompt.messages[-1].text else f"{SECOND} [1]", source=Shelf(LAMP), effort="low"
    )
    answer = await bench.ask(recipe, QUESTION)
    (numbered,) = bench.of(events.Numbered)
    assert numbered.passage.text == f"{FIRST}\n\n{SECOND}"
    assert {citation.quote for citation in answer.citations} >= {SECOND}, "a citation ends at its own words"


async def test_iterative_shows_neighbours_together_and_neither_of_them_again() -> None:
    asks = ["<search_query>lamp of the lighthouse</search_query>", "<search_query>lit in 1874 by its keeper</search_query>"]
    notes = f"<information>{SECOND} [1]</information>"
    bench = Bench([*asks, notes, f"{SECOND} [1]"], source=Shelf(LAMP), effort="low")
    await bench.ask(Iterative, "When was the lamp lit?", protocol="text")
    (numbered,) = bench.of(events.Numbered)
    assert numbered.passage.text == f"{FIRST}\n\n{SECOND}"
    assert "Nothing new was found: [1] are shown above." in bench.prompt(2)


def observations(bench: Bench) -> list[str]:
    return [thought.text for thought in bench.of(events.Thought) if thought.kind == "observation"]


async def test_react_shows_neighbours_as_one_and_neither_of_them_again() -> None:
    asks = ["Action: shelf: lamp of the lighthouse\nPAUSE", "Action: shelf: lit in 1874 by its first keeper\nPAUSE"]
    bench = Bench([*asks, f"Answer: {SECOND} [1]"], source=Shelf(LAMP))
    answer = await bench.ask(React, QUESTION, wikipedia=None)
    told = timeline(bench.seen, AnswerJson.of(answer)).fates
    assert [(fate.id, fate.verdict, fate.number) for fate in told] == [(hit.id, "cited", 1) for hit in LAMP]
    assert {fate.name for fate in told} == {"lamp.txt, “Oil”"}
    (numbered,) = bench.of(events.Numbered)
    assert numbered.passage.text == f"{FIRST}\n\n{SECOND}"
    assert observations(bench)[1] == "Nothing new was found: [1] are shown above. Try another term."
    assert [citation.quote for citation in answer.citations] == [SECOND]


async def test_react_cuts_neighbours_as_one_and_knows_what_the_cut_took_as_shown() -> None:
    asks = ["Action: shelf: lamp of the lighthouse\nPAUSE", "Action: shelf: lit in 1874 by its first keeper\nPAUSE"]
    bench = Bench([*asks, "Answer: It burns whale oil. [1]"], source=Shelf(LAMP))
    await bench.ask(React, QUESTION, wikipedia=None, observation_characters=30)
    (numbered,) = bench.of(events.Numbered)
    assert numbered.passage.text == FIRST, "60 characters for two, in whole sentences"
    assert observations(bench)[1].startswith("Nothing new")


async def test_a_passage_that_react_finds_later_leaves_numbers_as_they_are() -> None:
    asks = ["Action: shelf: burns whale oil\nPAUSE", "Action: shelf: lit 1874\nPAUSE"]
    bench = Bench([*asks, f"Answer: {SECOND} [2]"], source=Shelf(LAMP))
    await bench.ask(React, QUESTION, wikipedia=None, hits=1)
    assert [(one.number, one.passage.text) for one in bench.of(events.Numbered)] == [(1, FIRST), (2, SECOND)]


async def test_auto_goes_on_with_the_numbers_of_its_one_call() -> None:
    """What the call was shown under one number is neither shown again nor numbered anew."""
    says = ["NO ANSWER: nothing of it.", "Action: shelf: lamp of the lighthouse\nPAUSE", f"Answer: {SECOND} [1]"]
    tower = Hit("tower.txt#0", "A lighthouse is a tower.", "Tower", "file:///tower.txt", "shelf", document="tower.txt", score=0.5)
    bench = Bench(says, source=Shelf([*LAMP, tower]), effort="low")
    answer = await bench.ask(Auto, QUESTION, passages=2)
    assert [(one.number, one.passage.id) for one in bench.of(events.Numbered)] == [(1, "lamp.txt#4"), (2, "tower.txt#0")]
    assert [text.partition("\n")[0] for text in observations(bench)] == ["[2] Tower: A lighthouse is a tower."]
    assert [(citation.number, citation.quote) for citation in answer.citations] == [(1, SECOND)]
