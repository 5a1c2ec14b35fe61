"""What every recipe keeps to: budgets, cancelling, roles, dates, languages, and the engine's door."""

from __future__ import annotations

import asyncio
import gc
import json
from contextlib import aclosing
from typing import Any

import pytest
from tests.strategies.bench import Bench, Pages, Shelf, entry, supported
from tests.wire.server import as_json, serving

import wellread
from wellread import events, plugins
from wellread.budget import Limits
from wellread.engine import Engine
from wellread.errors import BrokenStream, UsageError, WrongKey
from wellread.models.scripted import ScriptedModel
from wellread.parameters import describe, fill
from wellread.prompts.render import render
from wellread.settings import Settings
from wellread.strategies.auto import Auto
from wellread.strategies.corrective import Corrective
from wellread.strategies.digest import Digest
from wellread.strategies.fanout import Fanout
from wellread.strategies.guided import Guided
from wellread.strategies.iterative import Iterative
from wellread.strategies.react import React
from wellread.strategies.research import Research
from wellread.types import Capabilities, Completion, Prompt

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RECIPES: tuple[Any, ...] = (Iterative, Fanout, React, Corrective, Digest, Guided, Auto, Research)
QUESTION = "When was Oppenheimer released?"
FACT = "Oppenheimer was released in the United States on July 21, 2023."
HITS = [
    entry(f"Oppenheimer {n}", f"{FACT} This is page {n} on Oppenheimer.", url=f"https://x/{n}", snippet=f"{FACT} Page {n}.")
    for n in range(4)
]
PARAMS: dict[str, dict[str, object]] = {
    "iterative": {"protocol": "text"},
    "react": {"wikipedia": "none"},
    "corrective": {"grader": "llm"},
    "auto": {"sure": 1},
    "research": {"queries": 1},
}
PLAN = [f"Part {n} | {QUESTION}" for n in range(2)]


def say(prompt: Prompt) -> str:
    """A model that does what each recipe asks of it."""
    text, last = shown(prompt), prompt.messages[-1].text
    if "You are a researcher" in text:
        return f"<information>{FACT} [1]</information>" if "<item index" in text else "<search_query>Oppenheimer</search_query>"
    if "queries for a search service" in text:
        return json.dumps({"queries": ["Oppenheimer", "released"]})
    if "Thought, Action, PAUSE" in text:
        return f"Answer: {FACT} [1]" if "Observation: [1]" in last else "Action: shelf: Oppenheimer\nPAUSE"
    if "You judge" in text:
        return '{"relevant": "yes"}'
    if "You lay out a report" in text:
        return json.dumps({"sections": PLAN})
    if "numbered strips" in text:
        return '{"keep": [1]}'
    return f"{FACT} [1]"


def shown(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages)


def world(*, recipe: Any, limits: Limits | None = None, **options: Any) -> Bench:
    pages = Pages({hit.url or "": [hit.text or ""] for hit in HITS})
    return Bench(say, source=Shelf(HITS), limits=limits or Limits(), page_reader=pages, **options)


async def ask(bench: Bench, recipe: Any, question: str = QUESTION, **params: object) -> wellread.Answer:
    return await bench.ask(recipe, question, **{**PARAMS.get(recipe.name, {}), **params})


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_run_from_question_to_checked_answer(recipe: Any) -> None:
    bench = world(recipe=recipe)
    answer = await ask(bench, recipe)
    told = f"{FACT} [1]"
    if recipe is Research:
        told = f"## Introduction\n\n{told}\n\n## Part 0\n\n{told}\n\n## Part 1\n\n{told}"
    assert (answer.outcome, answer.text) == ("answered", told)
    assert set(supported(answer)) == {True}
    assert answer.citations[0].quote in answer.citations[0].passage.text
    assert answer.usage.searches >= 1
    assert any("2026-11-15" in message.text for prompt in bench.scripted.prompts for message in prompt.messages)
    fenced = [p for p in bench.scripted.prompts if any(f"This is page {n}" in m.text for n in range(4) for m in p.messages)]
    assert all(any("<data-f00dcafe>" in message.text for message in prompt.messages) for prompt in fenced)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (Limits(searches=0), "searches"),
        (Limits(searches=1), "searches"),
        (Limits(tokens=0), "tokens"),
        (Limits(tokens=60), "tokens"),
        (Limits(tokens=900), "tokens"),
        (Limits(tokens=1500), "tokens"),
        (Limits(cost=0.0), "cost"),
        (Limits(cost=0.015), "cost"),
        (Limits(seconds=0.0), "seconds"),
    ],
)
async def test_every_budget_ends_in_a_cited_answer_within_it(recipe: Any, limits: Limits, limit: str) -> None:
    bench = world(recipe=recipe, limits=limits, model_options={"cost": 0.01})
    answer = await ask(bench, recipe)
    used = answer.usage
    assert used.searches <= (9 if limits.searches is None else limits.searches)
    assert used.input_tokens + used.output_tokens <= (9_999 if limits.tokens is None else limits.tokens)
    assert (used.cost or 0) <= (9 if limits.cost is None else limits.cost)
    assert answer.outcome in ("exhausted", "answered")
    if answer.outcome == "exhausted":
        assert bench.of(events.Exhausted) == [events.Exhausted(limit)]
        assert f"the limit on {limit} is reached" in (answer.reason or "")
    if limits not in (Limits(searches=0), Limits(seconds=0.0)):
        assert answer.citations
        assert any(supported(answer))


ROLES: dict[Any, dict[str, str]] = {
    Iterative: {"search": "rewrite", "answer": "answer"},
    Fanout: {"queries": "rewrite", "hypothesis": "rewrite", "answer": "answer"},
    React: {"turn": "run", "answer": "answer"},
    Corrective: {"grade": "grader", "rewrite": "rewrite", "answer": "answer"},
    Digest: {"summary": "grader", "answer": "answer"},
    Guided: {"answer": "answer"},
    Auto: {"answer": "answer"},
    Research: {"outline": "rewrite", "answer": "answer", "frame": "answer"},
}


@pytest.mark.parametrize("recipe", RECIPES)
async def test_each_role_has_its_model_and_all_have_the_temperature(recipe: Any) -> None:
    models = {f"{role}_model": ScriptedModel(say, name=role) for role in ("rewrite", "answer", "grader")}
    known = {parameter.name for parameter in describe(recipe.Params)}
    roles: dict[str, object] = {name: name for name in models if name in known}
    bench = world(recipe=recipe, models=models, fallback=Shelf(HITS, name="web"), model_options={"name": "run"})
    more = {"when": "any"} if recipe is Corrective else {}
    if recipe is Corrective:
        models["grader_model"].script = lambda prompt: '{"relevant": "no"}' if "page 1" in shown(prompt) else say(prompt)
    await ask(bench, recipe, temperature=0.25, **roles, **more)
    called = {(event.role, event.model) for event in bench.of(events.ModelCalled)}
    assert called == set(ROLES[recipe].items())
    assert {prompt.temperature for model in (bench.scripted, *models.values()) for prompt in model.prompts} == {0.25}


@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if "detail" in recipe.Params.__dataclass_fields__])
async def test_how_much_an_answer_says_and_how_long_it_may_be_reach_its_prompt(recipe: Any) -> None:
    bench = world(recipe=recipe, models={"writer": ScriptedModel(say)})
    await ask(bench, recipe, detail="full", answer_tokens=77, answer_model="writer")
    (prompt,) = bench.models["writer"].prompts
    assert render("detail-full").strip() in shown(prompt)
    assert prompt.max_tokens == 77


@pytest.mark.parametrize("recipe", [Guided, Auto])
async def test_a_small_window_never_overflows(recipe: Any) -> None:
    """Nor does the call that mends what is not carried."""
    shelf = Shelf([entry(f"Oppenheimer {n}", f"{FACT} This is page {n}. " + f"It tells of number {n}. " * 60) for n in range(9)])
    model = {"capabilities": Capabilities(1600)}
    bench = Bench(lambda _: f"{FACT} [1] Nobody watched it on the Moon. [1]", source=shelf, model_options=model)
    await ask(bench, recipe)
    assert len(bench.scripted.prompts) == (2 if recipe is Auto else 1)
    for prompt in bench.scripted.prompts:
        said = sum(bench.scripted.count_tokens(message.text) for message in prompt.messages)
        assert said + (prompt.max_tokens or 0) <= 1600


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_limit_on_cost_that_cannot_be_kept_says_so_once(recipe: Any) -> None:
    bench = world(recipe=recipe, limits=Limits(cost=0.01), model_options={"cost": None})
    answer = await ask(bench, recipe)
    assert answer.outcome == "answered"
    assert answer.notes == ("the limit on cost does not hold for scripted: its price is unknown",)
    assert sum("does not hold" in notice.message for notice in bench.of(events.Notice)) == 1


async def test_a_second_step_that_is_not_allowed_leaves_the_first() -> None:
    """With the evaluator, from the library: one search is enough to quote, to write and to digest from."""
    settings = Settings(max_searches=1, params={"auto": {"sure": 1}})
    async with Engine(settings, model=ScriptedModel(lambda _: "He was born in Stratford-upon-Avon. [1]")) as engine:
        for strategy in ("quote", "auto", "corrective", "digest"):
            answer = await engine.ask("In which town was the author of Hamlet born?", strategy=strategy)
            assert (answer.outcome, answer.usage.searches) == ("exhausted", 1), strategy
            assert "Stratford" in answer.text, strategy
            assert answer.citations, strategy


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_model_that_does_not_keep_to_its_tokens_is_cut_off(recipe: Any) -> None:
    bench = world(recipe=recipe, limits=Limits(tokens=1500))
    bench.scripted.script = lambda _: f"Answer: {FACT} [1] " + "and so on " * 2_000
    answer = await ask(bench, recipe)
    assert answer.usage.input_tokens + answer.usage.output_tokens <= 1500
    assert answer.citations or recipe is React, "which was told an answer before anything was looked up"


@pytest.mark.parametrize("recipe", RECIPES)
async def test_time_that_runs_out_in_the_middle(recipe: Any) -> None:
    bench = world(recipe=recipe, limits=Limits(seconds=0.3), model_options={"delay": 0.12, "piece": 10})
    answer = await asyncio.wait_for(ask(bench, recipe), 5)
    assert answer.outcome == "exhausted"
    assert answer.seconds < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("after", [1, 3, 6, 10, 16])
async def test_leaving_a_run_leaves_nothing_running(recipe: Any, after: int) -> None:
    shelf = Shelf(HITS, delay=0.01)
    model = ScriptedModel(say, delay=0.005, piece=20)
    before = asyncio.all_tasks()
    async with Engine(Settings(), model=model, source=shelf, fallback=shelf) as engine:
        params = PARAMS.get(recipe.name, {})
        async with aclosing(engine.stream(QUESTION, strategy=recipe.name, params=params)) as stream:
            count = 0
            async for _ in stream:
                count += 1
                if count == after:
                    break
    assert asyncio.all_tasks() == before
    assert shelf.running == 0
    gc.collect()  # a generator that was left open would be reported here, as an error


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_model_that_fails_leaves_what_can_be_quoted(recipe: Any) -> None:
    model = ScriptedModel(lambda prompt: WrongKey("scripted", "the key is refused"))
    params = PARAMS.get(recipe.name, {})
    async with Engine(Settings(effort="low"), model=model, source=Shelf(HITS), fallback=Shelf()) as engine:
        answer = await engine.ask(QUESTION, strategy=recipe.name, params=params)
        nothing = await engine.ask("What is a quasar?", strategy=recipe.name, params=params)
    assert answer.outcome == "answered"
    assert answer.text.startswith(FACT)
    assert answer.citations
    assert answer.notes == ("the model failed, so this is quoted: scripted: the key is refused",)
    assert answer.model is None
    assert (nothing.outcome in ("failed", "unsure"), nothing.text) == (True, ""), "some have nothing to ask the model about"
    assert "the key is refused" in (nothing.reason or "") or nothing.outcome == "unsure"


async def test_a_model_that_breaks_off_keeps_its_words_and_quotes_go_with_them() -> None:
    class Breaking(ScriptedModel):
        async def stream(self, prompt: Prompt) -> Any:
            yield "It came out in a year that everybody "
            raise BrokenStream("scripted", "gone")

    async with Engine(Settings(effort="low"), model=Breaking(()), source=Shelf(HITS)) as engine:
        seen = [event async for event in engine.stream(QUESTION, strategy="guided")]
    answer = seen[-1].answer  # type: ignore[attr-defined]
    assert answer.text.startswith(f"It came out in a year that everybody …\n\n{FACT} [1]")
    assert "".join(event.text for event in seen if isinstance(event, events.AnswerDelta)) == answer.text
    assert "gone" in answer.notes[0]


async def test_a_model_that_is_not_there_is_found_out_before_anything_is_searched() -> None:
    for spec, hint in (
        ("gpt-4o", "openai:gpt-4o"),
        ("claude-3-haiku", "anthropic:claude-3-haiku"),
        ("qwen3:4b", "ollama:qwen3:4b"),
    ):
        async with Engine(Settings(model=spec), source=Shelf(HITS)) as engine:
            with pytest.raises(UsageError, match=f"did you mean {hint}"):
                await engine.ask(QUESTION, strategy="iterative")
    async with Engine(Settings(model="openai:gpt-4o"), source=Shelf(HITS)) as engine:
        with pytest.raises(UsageError, match="set OPENAI_API_KEY"):
            await engine.ask(QUESTION, strategy="iterative")
    async with Engine(Settings(model="ollama:qwen3", effort="low"), source=Shelf(HITS)) as engine:  # nobody listens there
        answer = await engine.ask(QUESTION, strategy="iterative")
    assert answer.text.startswith(f"{FACT} [1]")
    assert (answer.usage.searches, answer.usage.model_calls) == (1, 0)
    assert "is the server running?" in answer.notes[0]


async def test_a_model_that_ollama_has_not_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: as_json({"models": [{"model": "qwen3:4b"}]})) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        async with Engine(Settings(model="ollama:qwen3"), source=Shelf(HITS)) as engine:
            with pytest.raises(UsageError, match="not among the models"):
                await engine.ask(QUESTION, strategy="iterative")


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_model_that_refuses_everything_ends_unsure(recipe: Any) -> None:
    bench = world(recipe=recipe)
    bench.scripted.script = lambda prompt: Completion("I cannot help with that.", finish="refusal")
    answer = await ask(bench, recipe)
    assert answer.outcome == "unsure"
    assert answer.reason is not None
    assert "declined" in answer.reason


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(
    "noise", ["", "blah", "<search_query>", "Action:", "[[[", "{}", "<information>", "Answer:", "[1] [2] [99]"]
)
async def test_noise_comes_to_an_end(recipe: Any, noise: str) -> None:
    bench = world(recipe=recipe, model_options={"capabilities": Capabilities(4000, continues=True)})
    bench.scripted.script = lambda prompt: noise
    answer = await asyncio.wait_for(ask(bench, recipe), 10)
    assert answer.outcome in ("answered", "unsure")
    assert answer.outcome == "answered" or answer.reason
    assert len(bench.scripted.prompts) < 30
    if noise in ("", "[[[", "{}", "Answer:", "[1] [2] [99]"):
        assert answer.outcome == "unsure", "no words, no answer"
    assert not any(sentence.supported and sentence.citations for sentence in answer.sentences) or answer.outcome == "unsure"


@pytest.mark.parametrize("recipe", RECIPES)
async def test_a_follow_up_searches_with_the_rewritten_question(recipe: Any) -> None:
    bench = world(recipe=recipe, history=(("Who made Oppenheimer?", "Nolan."),))
    bench.scripted.script = lambda prompt: QUESTION if "Follow-up:" in prompt.messages[-1].text else say(prompt)
    answer = await ask(bench, recipe, "And when was it released?")
    assert bench.of(events.Understood)[0].meant == QUESTION
    assert any(QUESTION in bench.prompt(index) for index in range(1, len(bench.scripted.prompts)))
    assert answer.question == "And when was it released?"


@pytest.mark.parametrize("recipe", RECIPES)
def test_parameters_have_help_and_the_shared_ones_are_there(recipe: Any) -> None:
    described = {parameter.name: parameter for parameter in describe(recipe.Params)}
    assert all(parameter.help for parameter in described.values())
    assert {"temperature", "rewrite_model", "answer_model"} <= described.keys()
    assert ("grader_model" in described) == (recipe in (Corrective, Digest)), "only where a model judges"
    assert described["temperature"].default == (0.5 if recipe is Fanout else 0.0)
    assert plugins.load("strategies", recipe.name) is recipe
    for wrong in ({"temperature": 3}, {"max_searches": -1} if recipe is Iterative else {"answer_tokens": -1}):
        with pytest.raises(wellread.errors.UsageError):  # pyright: ignore[reportAttributeAccessIssue]
            fill(recipe.Params, wrong, recipe.name)


DEFAULTS = {
    Iterative: {"max_searches": 5, "results_per_search": 3, "max_page_tokens": 5000, "max_tokens": 1000, "answer_tokens": 1000},
    Fanout: {"top_k": 5, "min_score": None, "detail": "full"},
    React: {"max_turns": 5, "hits": 3},
    Guided: {"passages": 6},
    Auto: {"passages": 6, "sure": 0.85},
    Corrective: {"top_k": 4, "when": "scores", "refine": True},
    Research: {"sections": 4, "queries": 3, "pages": 2, "words": 200},
    Digest: {
        "top_k_documents": 3,
        "num_nodes_rerank_per_document": 100,
        "top_k_nodes_per_document": 5,
        "top_k_snippets_per_document": None,
        "similarity_search_top_k_nodes": 100,
        "similarity_search_rescore_multiplier": 4,
        "top_k_nodes": 10,
        "top_k_related_documents": 1,
        "top_k_related_nodes": 3,
    },
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_defaults_are_those_of_the_recipe(recipe: Any) -> None:
    described = {parameter.name: parameter.default for parameter in describe(recipe.Params)}
    assert {name: described[name] for name in DEFAULTS[recipe]} == DEFAULTS[recipe]


async def test_retrieval_alone_through_the_engine() -> None:
    async with Engine(Settings(), model=ScriptedModel(say), source=Shelf(HITS)) as engine:
        found = await engine.retrieve(QUESTION, params={"protocol": "text"})
    assert found.queries == ("Oppenheimer",)
    assert FACT in found.information
    assert len(found.hits) == 3


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
async def test_leaving_a_run_closes_its_connections(recipe: Any) -> None:
    """Over a real client: a model that has begun to speak and goes on for ever."""
    from tests.wire import openai
    from tests.wire.server import WireServer, left_over

    endless = openai.said("Well", *[piece for n in range(200) for piece in (0.05, f" and {n}")])
    before = asyncio.all_tasks()
    async with WireServer(openai.chat(lambda asked: endless)) as server:
        settings = Settings(model=f"openai:m@{server.url}/v1")
        async with Engine(settings, source=Shelf(HITS)) as engine:
            params = PARAMS.get(recipe.name, {})
            stream = engine.stream(QUESTION, strategy=recipe.name, params=params)
            task = asyncio.create_task(_drain(stream))
            await server.asked(1, seconds=60)  # the first use imports the client
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await server.idle()
            assert server.left >= 1
        assert left_over(before) == set()


async def _drain(stream: Any) -> None:
    async with aclosing(stream):
        async for _ in stream:
            pass
