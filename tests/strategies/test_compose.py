"""The answer step: streaming, declining, budgets, windows, and answers without a model."""

from __future__ import annotations

import sys

import pytest
from tests.strategies.bench import Bench, passage, supported

from wellread import events
from wellread.budget import Limits
from wellread.errors import ContextTooLong
from wellread.run import Run
from wellread.strategies import context
from wellread.strategies.compose import Brief, Draft, compose, extractive
from wellread.types import Answer, Capabilities, Completion

pytestmark = pytest.mark.anyio

QUESTION = "Who invented the telescope?"
LIPPERHEY = "Hans Lipperhey applied for a patent on the telescope in 1608. He lived in Middelburg."
GALILEO = "Galileo built his own telescope in 1609. Pizza is a dish from Naples."


def prepared(bench: Bench) -> tuple[Run, list[str]]:
    run = bench.run(QUESTION)
    for number, text in enumerate((LIPPERHEY, GALILEO), 1):
        run.number(passage(number, text))
    return run, [context.numbered(run, number, found) for number, found in run.passages.items()]


async def written(bench: Bench, **options: object) -> Answer:
    run, material = prepared(bench)
    brief = Brief(QUESTION, options.pop("material", material), bench.scripted, tried=("telescope",), **options)  # pyright: ignore[reportArgumentType]
    answer = await compose(run, brief)
    assert "".join(delta.text for delta in bench.of(events.AnswerDelta)) == answer.text
    return answer


async def test_material_and_question_are_shown_and_the_answer_streams() -> None:
    bench = Bench(["  Hans Lipperhey applied for a patent in 1608. [1]\n\n"])
    answer = await written(bench)
    assert answer.text == "Hans Lipperhey applied for a patent in 1608. [1]"
    assert supported(answer) == [True]
    assert len(bench.of(events.AnswerDelta)) > 3
    shown = bench.prompt(0)
    assert f"[1]\n<data-f00dcafe>\nPassage 1\n{LIPPERHEY}\n</data-f00dcafe>" in shown
    assert shown.endswith(f"Question: {QUESTION}")
    assert "language of the question" in shown
    assert "2026-11-15" in shown


async def test_words_arrive_while_the_model_is_still_writing() -> None:
    text = "Hans Lipperhey applied for a patent in 1608 and lived in Middelburg, which is in the Netherlands. [1]"
    bench = Bench([text], model_options={"delay": 0.01, "piece": 5})
    unfinished: list[int] = []
    bench.listener = lambda event: (
        unfinished.append(len(bench.of(events.ModelCalled))) if isinstance(event, events.AnswerDelta) else None
    )
    await written(bench)
    assert unfinished[0] == 0
    assert len([before for before in unfinished if before == 0]) > 5


@pytest.mark.parametrize(
    "reply",
    [
        "NO ANSWER: who made it",
        "**No answer:** who made it.",
        "no answer - who made it",
        "NO ANSWER:\nwho made it",
        "**Answer:** NO ANSWER: who made it",
    ],
)
async def test_a_model_that_finds_no_answer_says_so_in_one_way(reply: str) -> None:
    bench = Bench([reply])
    answer = await written(bench)
    assert answer.text == ""
    assert answer.outcome == "unsure"
    assert answer.reason == "what was found does not answer it: who made it; searched for “telescope”"


async def test_an_answer_that_merely_begins_like_that_is_an_answer() -> None:
    answer = await written(Bench(["No answers were given by Hans Lipperhey."]))
    assert answer.outcome == "answered"
    assert (await written(Bench(["No"]))).text == "No"
    assert (await written(Bench(["Answer: No, Hans Lipperhey did."]))).text == "No, Hans Lipperhey did."


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Completion("", finish="refusal"), "the model declined to answer"),
        ("   ", "the model gave no usable answer"),
        ("<think>hm</think>", "the model gave no usable answer"),
        ("MISSING", "the model gave no usable answer"),
        ("**MISSING** MISSING: MISSING", "the model gave no usable answer"),
    ],
)
async def test_no_usable_words(reply: object, reason: str) -> None:
    answer = await written(Bench([reply]))  # pyright: ignore[reportArgumentType]
    assert answer.outcome == "unsure"
    assert answer.reason == f"{reason}; searched for “telescope”"


async def test_nothing_to_answer_from_asks_no_model() -> None:
    bench = Bench([])
    answer = await written(bench, material=["", " "], missing="nothing was found")
    assert (answer.outcome, answer.text) == ("unsure", "")
    assert answer.reason == "nothing was found; searched for “telescope”"
    assert not bench.scripted.prompts


async def test_numbers_that_were_forgotten_are_added_where_a_passage_carries_the_words() -> None:
    answer = await written(
        Bench(["Hans Lipperhey applied for a patent in 1608. Mice like cheese. Galileo built a telescope in 1609."])
    )
    assert answer.text == (
        "Hans Lipperhey applied for a patent in 1608. [1] Mice like cheese. Galileo built a telescope in 1609. [2]"
    )
    assert supported(answer) == [True, False, True]


async def test_an_answer_cut_by_its_length_shows_it() -> None:
    answer = await written(Bench([Completion("Hans Lipperhey applied for a", finish="length")]))
    assert answer.text == "Hans Lipperhey applied for a … [1]"


async def test_material_is_cut_to_the_window_and_the_cut_is_reported() -> None:
    bench = Bench(["It was Lipperhey. [1]"], model_options={"capabilities": Capabilities(1000)})
    blocks = [f"[{n}] " + "word " * 200 for n in range(1, 9)]
    await written(bench, material=blocks)
    (cut,) = bench.of(events.Cut)
    assert cut.what == "material"
    assert bench.scripted.count_tokens(bench.prompt(0)) + (bench.scripted.prompts[0].max_tokens or 0) <= 1000
    assert "[8]" not in bench.prompt(0)


async def test_a_window_that_turns_out_smaller_is_met_with_less() -> None:
    problem = ContextTooLong("scripted", "too long")
    bench = Bench([problem, problem, "It was Lipperhey. [1]"], model_options={"capabilities": Capabilities()})
    answer = await written(bench)
    assert answer.outcome == "answered"
    assert len(bench.prompt(2)) < len(bench.prompt(1)) < len(bench.prompt(0))


async def test_without_tokens_the_answer_is_quoted() -> None:
    bench = Bench([], limits=Limits(tokens=100))
    answer = await written(bench)
    assert answer.outcome == "exhausted"
    assert answer.reason == "the limit on tokens is reached"
    assert answer.text.startswith("Hans Lipperhey applied for a patent on the telescope in 1608. [1]")
    assert "Galileo built his own telescope in 1609. [2]" in answer.text
    assert "Pizza" not in answer.text
    assert all(supported(answer))
    assert bench.of(events.Exhausted) == [events.Exhausted("tokens")]
    assert not bench.scripted.prompts


async def test_time_that_runs_out_while_writing_keeps_the_words_and_adds_quotations() -> None:
    bench = Bench(["Well, it seems to me that this " * 40], limits=Limits(seconds=0.15), model_options={"delay": 0.01})
    answer = await written(bench)
    assert answer.outcome == "exhausted"
    assert answer.text.startswith("Well, it seems")
    assert "in 1608. [1]" in answer.text
    assert bench.scripted.closed == 1


async def test_quotations_without_a_common_word_are_the_beginnings() -> None:
    run, _ = prepared(Bench())
    run.question = "¿Quién?"
    chosen = extractive(run.question, list(run.passages.values()))
    assert [sentence for _, sentence in chosen] == [
        "Hans Lipperhey applied for a patent on the telescope in 1608.",
        "Galileo built his own telescope in 1609.",
    ]
    assert extractive("x", []) == []


@pytest.mark.parametrize("piece", [3, 7, 500])
@pytest.mark.parametrize(
    "reply",
    [
        "Hans Lipperhey applied for a patent in 1608. [1]\nMISSING: who built the first one",
        "Hans Lipperhey applied for a patent in 1608. [1]\n\n**Missing:** who built the first one",
        "Hans Lipperhey applied for a patent in 1608. [1] MISSING: who built the first one",
    ],
)
async def test_a_partial_answer_says_what_is_missing_as_data(reply: str, piece: int) -> None:
    answer = await written(Bench([reply], model_options={"piece": piece}))
    assert answer.text == "Hans Lipperhey applied for a patent in 1608. [1]"
    assert (answer.outcome, answer.missing) == ("partial", ("who built the first one",))


async def test_a_sentence_that_says_what_is_missing_makes_an_answer_partial_too() -> None:
    answer = await written(Bench(["Hans Lipperhey applied for a patent in 1608. [1] The material does not say who built it."]))
    assert (answer.outcome, answer.missing) == ("partial", ("The material does not say who built it.",))
    assert [sentence.verdict for sentence in answer.sentences] == ["carried", "says what is missing"]


async def test_an_answer_that_only_says_what_is_missing_is_none() -> None:
    answer = await written(Bench(["The material does not say who invented the telescope."]))
    assert answer.outcome == "unsure"
    assert answer.missing == ("The material does not say who invented the telescope.",)
    assert answer.reason == "what was found does not answer it; searched for “telescope”"


async def test_what_is_missing_brings_no_claim_in() -> None:
    reply = "Hans Lipperhey applied for a patent in 1608. [1]\nMISSING: who built it first, which was Zacharias Janssen in 1590"
    assert (await written(Bench([reply]))).missing == ("a part of the question",)


async def test_a_line_of_what_is_missing_alone_is_no_answer() -> None:
    answer = await written(Bench(["MISSING: who invented it"], model_options={"piece": 4}))
    assert (answer.text, answer.outcome) == ("", "unsure")


async def test_words_that_only_look_like_the_label_stay() -> None:
    answer = await written(Bench(["Hans Lipperhey was missing: nobody saw him. [1]"], model_options={"piece": 2}))
    assert answer.text == "Hans Lipperhey was missing: nobody saw him. [1]"


@pytest.mark.slow
async def test_a_long_answer_does_not_hold_up_the_loop() -> None:
    """Nothing of reading passages and numbering sentences stands in the way of others for long."""
    import asyncio
    import time

    bench = Bench(["Hans Lipperhey applied for a patent on the telescope in 1608. " * 300], model_options={"piece": 10**6})
    run = bench.run(QUESTION)
    text = "Hans Lipperhey applied for a patent on the telescope in 1608, they say, and lived in Middelburg. "
    for number in range(1, 9):
        run.number(passage(number, text * 300))
    brief = Brief(QUESTION, ["[1] x"], bench.scripted)
    longest, last = 0.0, time.thread_time()

    async def watch() -> None:
        nonlocal longest, last
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()  # of this thread alone: what others compute meanwhile does not count
            longest, last = max(longest, now - last), now

    watching = asyncio.create_task(watch())
    await compose(run, brief)
    watching.cancel()
    assert longest < (1.0 if sys.gettrace() else 0.1)  # counting covered lines takes several times as long as running them


async def test_what_may_become_a_label_is_not_held_back_for_long() -> None:
    draft = Draft(Bench([]).run(QUESTION))
    await draft.feed("Nobody knows.\n\n" + "---\n" * 1_000)
    assert len(draft.text) > 3_500
    await draft.feed("MISSING: the year")
    await draft.close()
    assert draft.missing == ["the year"]
    assert "MISSING" not in draft.text
