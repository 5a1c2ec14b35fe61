"""What earlier answers were built on can be found again."""

from __future__ import annotations

import pytest
from tests.strategies.bench import Bench, passage

from wellread.strategies.earlier import Earlier
from wellread.types import Answer, Query

pytestmark = pytest.mark.anyio


async def answer(*texts: str, start: int = 1, cite: int = 0) -> Answer:
    run = Bench().run("x")
    for number, text in enumerate(texts, start):
        run.number(passage(number, text, f"Title {number}"))
    return await run.answer(f"{texts[cite]} [{cite + 1}]")


async def test_passages_are_found_by_their_words_and_nothing_else_is() -> None:
    earlier = Earlier()
    earlier.remember(await answer("Huygens discovered Titan.", "Saturn has rings."))
    (hit,) = await earlier.search(Query("Huygens Titan"))
    assert (hit.title, hit.text) == ("Title 1", "Huygens discovered Titan.")
    assert await earlier.search(Query("pottery")) == []
    assert await earlier.search(Query("Huygens Titan", limit=0)) == []


async def test_the_oldest_are_forgotten_and_cited_ones_stay_longest() -> None:
    earlier = Earlier()
    earlier.remember(await answer("Huygens discovered Titan.", "Huygens lived long."))
    assert list(earlier.kept) == ["2", "1"]
    for start in range(10, 210, 10):
        earlier.remember(await answer(*[f"Fact {start} {n}" for n in range(10)], start=start))
    assert len(earlier.kept) == 200
    assert "1" not in earlier.kept
