"""`corrective`: grade, correct, refine, generate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest
from tests.strategies.bench import Bench, Shelf, entry, supported

from wellread import events
from wellread.budget import Limits
from wellread.core.effort import Plan
from wellread.errors import DamagedFile, ModelBusy
from wellread.protocols import Grader
from wellread.ranking.evaluator import Evaluator, Trail
from wellread.strategies.corrective import Corrective
from wellread.strategies.refine import strips
from wellread.types import Completion, Grade, Passage, Prompt

pytestmark = pytest.mark.anyio

MEMORY = "Explain how the different types of agent memory work?"
CODIUM = "What is the approach taken in the AlphaCodium paper?"
POSTS = (
    entry(
        "Agents",
        "Agent memory comes in several types, as with people and animals. Short-term memory is the context of the model, "
        "which is soon forgotten. Long-term memory is a vector store that lasts for as long as its disk does. "
        "Cats sleep for most of the day, wherever they find a warm place.",
        document="agents",
    ),
    entry("Prompts", "A prompt steers the model in its approach to a task. Examples in a prompt help.", document="prompts"),
    entry("Attacks", "An attack on a model makes a good topic for a paper. Attacks are often automated.", document="attacks"),
)
WEB = (
    entry(
        "AlphaCodium",
        "AlphaCodium uses a test-based, multi-stage, iterative flow. The weather was fine on that day in all of the south.",
        url="https://web.example/alphacodium",
    ),
)
WEB_ANSWER = "AlphaCodium uses a test-based, multi-stage, iterative flow. [1]"


class Scores(Grader):
    """An evaluator that scores by a function of the text."""

    def __init__(self, score: Callable[[str], float | None]) -> None:
        self.score = score
        self.batches: list[int] = []

    async def grade(self, question: str, passages: Sequence[Passage]) -> Sequence[Grade]:
        self.batches.append(len(passages))
        scores = [self.score(passage.text) for passage in passages]
        return [Grade(score is None or score >= 0.5, score) for score in scores]


def replies(
    *, grade: object = "no", keep: object = '{"keep": [1]}', rewrite: object = "AlphaCodium approach", answer: object = ""
) -> object:
    def say(prompt: Prompt) -> object:
        text = prompt.messages[-1].text
        if "You judge" in text:
            return grade(text) if callable(grade) else f'{{"relevant": "{grade}"}}'
        if "numbered strips" in text:
            return keep
        return rewrite if "one query for a search engine" in text else answer

    return say


def bench(score: Callable[[str], float | None] | None = None, *, limits: Limits | None = None, **said: object) -> Bench:
    return Bench(
        replies(**said),  # pyright: ignore[reportArgumentType]
        source=Shelf(POSTS, name="index", everything=True),
        fallback=Shelf(WEB, name="web"),
        grades=Scores(score) if score else None,
        limits=limits or Limits(),
    )


def decisions(world: Bench) -> list[str]:
    return [decided.decision for decided in world.of(events.Decided)]


async def test_what_the_index_can_answer_goes_straight_to_generate() -> None:
    world = bench(
        lambda text: 0.9 if "memory" in text.lower() else 0.02, answer="Long-term memory is a vector store that lasts. [1]"
    )
    answer = await world.ask(Corrective, MEMORY)
    assert decisions(world) == ["correct", "refine", "generate"]
    assert not world.fallback.asked
    assert not world.of(events.Rewritten)
    graded = world.of(events.Graded)[0]
    assert (graded.title, graded.relevant, graded.score) == ("Agents", True, 0.9)
    assert "Long-term memory is a vector store that lasts" in world.prompt(-1)
    assert "Cats sleep" not in world.prompt(-1)
    assert supported(answer) == [True]


async def test_what_it_cannot_answer_goes_through_rewrite_and_web_search() -> None:
    world = bench(lambda text: 0.9 if "AlphaCodium" in text else 0.01, answer=WEB_ANSWER)
    answer = await world.ask(Corrective, CODIUM)
    assert decisions(world) == ["incorrect", "replace", "refine", "generate"]
    assert world.of(events.Rewritten)[0].query == "AlphaCodium approach"
    assert [query.text for query in world.fallback.asked] == ["AlphaCodium approach"]
    shown = world.prompt(-1)
    assert CODIUM in shown, "the answer is to the original question"
    assert "Examples in a prompt" not in shown, "incorrect: the results replace the passages"
    assert "weather" not in shown, "refinement reaches the results too"
    assert answer.text == WEB_ANSWER
    assert supported(answer) == [True]


async def test_between_the_thresholds_results_are_added() -> None:
    world = bench(lambda text: 0.9 if "AlphaCodium" in text else 0.3 if "approach" in text else 0.01, answer=WEB_ANSWER)
    await world.ask(Corrective, CODIUM)
    assert decisions(world)[:2] == ["ambiguous", "add"]
    assert [event.passage.title for event in world.of(events.Numbered)] == ["Prompts", "AlphaCodium"]


async def test_thresholds_are_parameters() -> None:
    world = bench(lambda text: 0.3, answer="So. [1]")
    await world.ask(Corrective, MEMORY, upper=0.25, lower=0.2)
    assert decisions(world)[0] == "correct"
    world = bench(lambda text: 0.3, answer="So. [1]")
    await world.ask(Corrective, MEMORY, upper=0.9, lower=0.4)
    assert decisions(world)[0] == "incorrect"


async def test_any_irrelevant_passage_triggers_the_web_with_yes_and_no() -> None:
    world = bench(grade=lambda text: '{"relevant": "yes",}' if "Agent memory" in text else '{"relevant": "no"}', answer="So. [1]")
    await world.ask(Corrective, MEMORY, grader="llm")
    assert decisions(world)[0] == "ambiguous"
    assert len(world.fallback.asked) == 1
    assert [graded.relevant for graded in world.of(events.Graded)[:3]] == [True, False, False]
    assert world.of(events.Numbered)[0].passage.title == "Agents"


@pytest.mark.parametrize(("grader", "read", "asked"), [("llm", False, True), ("evaluator", True, False)])
async def test_who_grades_is_a_parameter(grader: str, read: bool, asked: bool) -> None:
    world = bench(lambda text: 0.9, grade="yes", answer="So. [1]")
    await world.ask(Corrective, MEMORY, grader=grader)
    assert bool(world.grades.batches) is read
    assert any(event.role == "grade" for event in world.of(events.ModelCalled)) is asked


async def test_any_can_be_asked_for_with_scores_too() -> None:
    world = bench(lambda text: 0.9 if "memory" in text.lower() else 0.02, answer="So. [1]")
    await world.ask(Corrective, MEMORY, when="any")
    assert decisions(world)[0] == "ambiguous"


async def test_all_yes_generates_and_no_scores_fall_back_to_any() -> None:
    world = bench(grade="yes", keep='{"keep": [2, 3, 99]}', answer="Short-term memory is the context of the model. [1]")
    await world.ask(Corrective, MEMORY, grader="llm", when="scores", top_k=1)
    assert decisions(world)[0] == "correct"
    assert "Short-term memory is the context of the model, which" in world.prompt(-1)
    assert "Cats" not in world.prompt(-1)


async def test_refinement_can_be_turned_off() -> None:
    world = bench(lambda text: 0.9 if "memory" in text.lower() else 0.02, answer="So. [1]")
    await world.ask(Corrective, MEMORY, refine=False)
    assert "refine" not in decisions(world)
    assert "Cats sleep" in world.prompt(-1)


async def test_gaps_between_strips_are_shown_and_quotes_stay_verbatim() -> None:
    first = "The first strip of this passage talks about memory at some length, so that it stands alone."
    middle = "The second strip of this passage has nothing to do with anything, and it is long as well."
    last = "The third strip of this passage talks about memory again, and that is where it all ends."
    world = bench(lambda text: 0.9 if "memory" in text else 0.01, answer=f"{last} [1]")
    world.source = Shelf([entry("Agents", f"{first} {middle} {last}", document="a")])
    answer = await world.ask(Corrective, MEMORY)
    assert f"{first} … {last}" in world.prompt(-1)
    (citation,) = answer.citations
    assert citation.quote in citation.passage.text
    assert citation.passage.text == f"{first} {middle} {last}"


async def test_an_empty_context_gives_no_answer() -> None:
    world = bench(lambda text: 0.01)
    answer = await world.ask(Corrective, CODIUM)
    assert (answer.outcome, answer.text) == ("unsure", "")
    assert answer.reason == (
        "4 passages were found and none of them is relevant; "
        "searched for “What is the approach taken in the AlphaCodium paper?”, “AlphaCodium approach”"
    )
    assert not any(called.role == "answer" for called in world.of(events.ModelCalled))


async def test_nothing_found_anywhere() -> None:
    world = bench(lambda text: 0.9, rewrite="zzz")
    world.source = Shelf()
    answer = await world.ask(Corrective, "Quux?")
    assert answer.outcome == "unsure"
    assert answer.reason == "nothing was found; searched for “Quux?”, “zzz”"


async def test_without_a_fallback_wikipedia_is_used_or_nothing() -> None:
    world = bench(lambda text: 0.9 if "AlphaCodium" in text else 0.01, answer=WEB_ANSWER)
    world.fallback, world.sources = None, {"wikipedia": Shelf(WEB, name="wikipedia")}
    assert (await world.ask(Corrective, CODIUM)).outcome == "answered"
    world = bench(lambda text: 0.01)
    world.fallback = None
    answer = await world.ask(Corrective, CODIUM)
    assert answer.outcome == "unsure"
    assert any("nowhere else to look" in notice.message for notice in world.of(events.Notice))


async def test_no_results_wanted_is_no_search_elsewhere() -> None:
    world = bench(lambda text: 0.01, answer=WEB_ANSWER)
    answer = await world.ask(Corrective, CODIUM, fallback_results=0)
    assert (answer.outcome, answer.usage.searches, world.fallback.asked) == ("unsure", 1, [])
    assert not world.of(events.Rewritten)


@pytest.mark.parametrize("reply", ["maybe", Completion("I cannot", finish="refusal")])
async def test_grades_that_cannot_be_read_keep_the_passage(reply: object) -> None:
    world = bench(grade=lambda text: reply, keep="none of it", answer="So. [1]")
    await world.ask(Corrective, MEMORY, grader="llm")
    assert all(graded.relevant for graded in world.of(events.Graded))
    assert decisions(world)[0] == "correct"
    assert "Cats sleep" in world.prompt(-1), "strips that cannot be chosen all stay"


@pytest.mark.parametrize(
    ("rewrite", "query"),
    [("", CODIUM), (ModelBusy("m", "busy"), CODIUM), ('Query: "flow"\nmore', "flow"), ('code "flow"', 'code "flow"')],
)
async def test_rewrites_that_fail_leave_the_question(rewrite: object, query: str) -> None:
    world = bench(lambda text: 0.9 if "AlphaCodium" in text else 0.01, rewrite=rewrite, answer=WEB_ANSWER)
    await world.ask(Corrective, CODIUM)
    assert world.fallback.asked[0].text == query


async def test_an_evaluator_that_is_not_there_gives_way_to_the_model() -> None:
    world = bench(grade="yes", answer="So. [1]")
    world.grader = lambda spec=None: (_ for _ in ()).throw(DamagedFile("weights"))  # pyright: ignore[reportAttributeAccessIssue]
    answer = await world.ask(Corrective, MEMORY)
    assert any("evaluator is not there" in notice.message for notice in world.of(events.Notice))
    assert answer.outcome == "answered"


async def test_a_long_page_is_refined_within_bounds() -> None:
    page = " ".join(
        f"Sentence number {n} of this very long page is about nothing much at all, as one can see." for n in range(400)
    )
    world = bench(lambda text: 0.9 if "AlphaCodium" in text else 0.01, answer=WEB_ANSWER)
    world.fallback = Shelf([entry("AlphaCodium", page + " AlphaCodium uses a test-based flow.", url="https://x")])
    answer = await world.ask(Corrective, CODIUM)
    assert max(world.grades.batches) <= 48
    assert "AlphaCodium uses a test-based flow." in world.prompt(-1)
    assert answer.usage.pairs == sum(world.grades.batches)


async def test_grading_20_passages_takes_hardly_longer_than_one() -> None:
    world = bench(grade="yes", keep='{"keep": [1]}', answer="So. [1]")
    world.source = Shelf([entry(f"Memory {n}", f"Agent memory number {n}.", document=str(n)) for n in range(20)])
    world.scripted.delay, world.scripted.piece = 0.2, 1000
    begun = time.monotonic()
    await asyncio.wait_for(world.ask(Corrective, MEMORY, grader="llm", top_k=20, refine=False), 5)
    assert len(world.of(events.Graded)) == 20
    assert time.monotonic() - begun < 0.2 * 2 * 1.8, "one round of grades and one answer"


async def test_searches_that_run_out_before_the_correction() -> None:
    world = bench(lambda text: 0.3, limits=Limits(searches=1), answer="A prompt steers the model in its approach. [1]")
    answer = await world.ask(Corrective, CODIUM)
    assert answer.outcome == "exhausted"
    assert world.of(events.Exhausted) == [events.Exhausted("searches")]
    assert answer.text


async def test_tokens_that_run_out_while_grading_leave_quotations() -> None:
    world = bench(grade="yes", limits=Limits(tokens=150))
    answer = await world.ask(Corrective, MEMORY, grader="llm")
    assert answer.outcome == "exhausted"
    assert "memory" in answer.text
    assert all(supported(answer))


def test_strips_are_one_or_two_sentences_within_a_paragraph() -> None:
    text = (
        "Short one. Another short one. "
        + "A sentence that is long enough to stand as a strip of its own, as this one does. "
        + "End.\n\nNew."
    )
    found = strips(text)
    assert found[0] == "Short one. Another short one."
    assert found[-1] == "New."
    assert all(strip in text for strip in found)
    assert strips("") == []


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="lower must not be above upper"):
        Corrective.Params(upper=0.2, lower=0.5)


async def test_results_of_the_fallback_are_graded_too() -> None:
    web = (*WEB, entry("Cooking", "AlphaCodium is no dish. An approach to soup is slow.", url="https://web.example/soup"))
    world = bench(grade=lambda text: '{"relevant": "%s"}' % ("yes" if "iterative flow" in text else "no"), answer=WEB_ANSWER)
    world.fallback = Shelf(web, name="web")
    await world.ask(Corrective, CODIUM, grader="llm")
    graded = {one.title: one.relevant for one in world.of(events.Graded)}
    assert (graded["AlphaCodium"], graded["Cooking"]) == (True, False)
    assert "soup" not in world.prompt(-1)


async def test_a_fallback_result_of_one_strip_is_graded_by_the_model() -> None:
    web = (entry("AlphaCodium", "AlphaCodium is a word in an approach.", url="https://web.example/word"),)
    world = bench(grade="no", answer="never said")
    world.fallback = Shelf(web, name="web")
    answer = await world.ask(Corrective, CODIUM, grader="llm")
    assert answer.outcome == "unsure"
    assert "none of them is relevant" in (answer.reason or "")


class Pathfinder(Evaluator):
    """Finds the second step through the first, as the evaluator does."""

    plan = Plan(singles=4, firsts=1, seconds=2)
    languages = frozenset({"en"})

    async def carries(self, *_: object) -> tuple[()]:
        return ()

    async def trail(self, question: str, ranked: Sequence[Passage], candidates: object, plan: object = None) -> Trail:
        first, second = (next(one for one in ranked if one.title == title) for title in ("Hamlet", "Shakespeare"))
        return Trail(((first, -0.1), (second, -0.2)), (), 5, {second.id: (first,)})


STEPS = (
    entry("Hamlet", "Hamlet is a play by William Shakespeare. It is long.", document="hamlet"),
    entry("Shakespeare", "William Shakespeare was born in Stratford in a house. He also wrote plays.", document="shakespeare"),
)
TOWN = "In which town was the author of Hamlet born?"


def two_steps(world: Bench) -> Bench:
    world.source = Shelf(STEPS, everything=True)
    world.answer_reader = lambda: Pathfinder()  # pyright: ignore[reportAttributeAccessIssue]
    return world


async def test_a_passage_is_graded_and_refined_with_those_that_lead_to_it() -> None:
    class Chains(Scores):
        async def grade_chains(self, question: str, chains: Sequence[Sequence[Passage]]) -> Sequence[Grade]:
            led = ["Hamlet" in [one.title for one in chain[:-1]] or chain[-1].title == "Hamlet" for chain in chains]
            return [Grade(good, 0.9 if good else 0.01) for good in led]

    world = two_steps(bench(lambda text: 0.01, answer="So. [2]"))
    world.grades = Chains(lambda text: 0.01)
    await world.ask(Corrective, TOWN)
    assert [(one.title, one.score) for one in world.of(events.Graded)] == [("Hamlet", 0.9), ("Shakespeare", 0.9)]
    assert "born in Stratford" in world.prompt(-1)


async def test_an_evaluator_that_was_not_trained_for_the_language_grades_nothing_and_follows_nothing() -> None:
    class EnglishScores(Scores):
        def knows(self, language: str) -> bool:
            return language == "en"

    def world() -> Bench:
        made = two_steps(bench(grade="yes", answer="So. [1]"))
        made.grades = EnglishScores(lambda text: 0.01)
        return made

    german, english = world(), world()
    in_german = await german.ask(Corrective, "In welcher Stadt wurde der Autor von Hamlet geboren?")
    in_english = await english.ask(Corrective, TOWN)
    assert [one.score for one in german.of(events.Graded)] == [None, None], "the model says yes or no, and gives no scores"
    assert in_german.usage.pairs == 0
    assert any("not trained" in one.message for one in german.of(events.Notice))
    assert in_english.usage.pairs > 0


async def test_the_model_grades_a_second_step_with_the_first_before_it() -> None:
    world = two_steps(bench(grade="yes", answer="So. [2]"))
    await world.ask(Corrective, TOWN, grader="llm")
    asked = ["\n".join(m.text for m in prompt.messages) for prompt in world.scripted.prompts]
    (second,) = [text for text in asked if "You judge" in text and "\nShakespeare\n" in text]
    assert "Hamlet is a play by William Shakespeare." in second
    (strips_of_it,) = [text for text in asked if "numbered strips" in text and "1. William Shakespeare was born" in text]
    assert "Hamlet is a play by William Shakespeare." in strips_of_it


def test_an_explanation_is_judged_by_the_passages_together() -> None:
    recipe = Corrective(Corrective.Params())
    grades = [Grade(False, 0.4), Grade(False, 0.3), Grade(False, 0.2)]
    assert recipe.decide(grades, together=True)[0] == "correct"
    assert recipe.decide(grades)[0] == "ambiguous"


AGENTS = (
    entry(
        "Agents built on language models",
        "An agent has several types of memory, much as people do. Sensory memory corresponds to embeddings of raw inputs such "
        "as text or images. Short-term memory is what stands in the context window: it serves for learning from examples in the "
        "prompt and is lost when the window is full. Long-term memory is an outside store of vectors that the agent can search.",
        document="agents",
    ),
    entry(
        "Agents built on language models, 2",
        "Long-term memory works by retrieval. What happened is written down as short texts, each is turned into a vector, the "
        "vectors are kept in an index. The agent asks the index with its situation and puts what it gets back into its context.",
        document="agents",
    ),
    entry(
        "Agents built on language models, 3",
        "Each type of agent memory works in its own way: sensory memory turns inputs into embeddings, short-term memory is the "
        "context window, long-term memory is a store of vectors outside of the model.",
        document="agents",
    ),
    entry("Writing prompts", "Few-shot prompts add a handful of examples to the task. Their order counts.", document="p"),
    entry("Attacks on models", "Jailbreak prompts ask a model to play a role in which the rules do not hold.", document="a"),
)


@pytest.mark.slow
async def test_the_recipes_example_goes_straight_to_generate_with_the_shipped_evaluator() -> None:
    world = bench(answer="Long-term memory works by retrieval. [1]")
    world.source, world.grades = Shelf(AGENTS, everything=True), Evaluator()
    await world.ask(Corrective, MEMORY)
    assert decisions(world) == ["correct", "refine", "generate"]
    assert not world.fallback.asked
    elsewhere = bench(answer=WEB_ANSWER)
    elsewhere.source, elsewhere.grades = Shelf(AGENTS, everything=True), Evaluator()
    await elsewhere.ask(Corrective, CODIUM)
    assert decisions(elsewhere)[:2] == ["incorrect", "replace"]
