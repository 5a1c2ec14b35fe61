"""`iterative` with the model's own tool calls."""

from __future__ import annotations

import pytest
from tests.strategies.bench import FILMS, MOVIES, Bench, Shelf, supported

from wellread import events
from wellread.strategies.iterative import Iterative
from wellread.types import Capabilities, Completion, ToolCall

pytestmark = pytest.mark.anyio

INFORMATION = "<information>Released on July 21, 2023. [1] The film was released on April 28, 2023. [2]</information>"
ANSWER = "Margaret came first: it was released on April 28, 2023. [2]"


def calls(*queries: object, name: str = "search", text: str = "") -> Completion:
    return Completion(text, tool_calls=tuple(ToolCall(f"call-{n}", name, {"query": q}) for n, q in enumerate(queries)))


def films(*script: object, **options: object) -> Bench:
    return Bench(script, source=Shelf(FILMS), **options)  # pyright: ignore[reportArgumentType]


async def test_tool_calls_are_used_where_the_model_has_them() -> None:
    bench = films(calls("Oppenheimer film", text="I need two dates."), calls("Margaret God"), INFORMATION, ANSWER)
    answer = await bench.ask(Iterative, MOVIES, results_per_search=1)
    assert [query.text for query in bench.source.asked] == ["Oppenheimer film", "Margaret God"]
    first, second = bench.scripted.prompts[:2]
    assert [tool.name for tool in first.tools] == ["search"]
    assert first.stop == ()
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "tool"]
    assert second.messages[-1].tool_call_id == "call-0"
    assert '<item index="1">' in second.messages[-1].text
    assert bench.of(events.Thought)[0].text == "I need two dates."
    assert bench.scripted.prompts[-1].tools == ()
    assert all(supported(answer))


async def test_several_calls_at_once_each_get_their_answer() -> None:
    bench = films(calls("Oppenheimer film", "Margaret God"), INFORMATION, ANSWER)
    await bench.ask(Iterative, MOVIES, results_per_search=1)
    tools = [message for message in bench.scripted.prompts[1].messages if message.role == "tool"]
    assert [message.tool_call_id for message in tools] == ["call-0", "call-1"]
    assert '<item index="2">' in tools[1].text


@pytest.mark.parametrize("call", [calls("x", name="browse"), calls(""), calls(7)])
async def test_calls_that_make_no_sense_are_answered_too(call: Completion) -> None:
    bench = films(call, calls("Oppenheimer film"), INFORMATION, ANSWER)
    answer = await bench.ask(Iterative, MOVIES)
    assert bench.scripted.prompts[1].messages[-1].text == "There is only one tool, search, and it needs a query."
    assert answer.outcome == "answered"


async def test_a_long_query_is_sent_as_it_is() -> None:
    long = "the film " + "about the physicist " * 30 + "Oppenheimer"
    bench = films(calls(long), INFORMATION, ANSWER)
    await bench.ask(Iterative, MOVIES)
    assert [query.text for query in bench.source.asked] == [long]


async def test_what_a_model_writes_behind_its_own_tags_was_not_found() -> None:
    """No stop sequence ends these where the model has tools."""
    invented = "<search_query>Oppenheimer film</search_query><information>It came out in 1999. [1]</information>"
    bench = films(invented, INFORMATION, ANSWER)
    await bench.ask(Iterative, MOVIES)
    assert [query.text for query in bench.source.asked] == ["Oppenheimer film"]
    assert not any("1999" in bench.prompt(place) for place in (1, 2))


async def test_no_more_searches_than_allowed() -> None:
    bench = films(calls("Oppenheimer film", "Margaret God", "Pottery"), INFORMATION, ANSWER)
    await bench.ask(Iterative, MOVIES, max_searches=2)
    assert len(bench.source.asked) == 2
    assert "No searches are left" in bench.scripted.prompts[1].messages[-1].text


async def test_a_model_that_answers_at_once_gets_a_search_first() -> None:
    bench = films("I know this one.", INFORMATION, ANSWER)
    answer = await bench.ask(Iterative, MOVIES)
    assert bench.source.asked[0].text == MOVIES
    assert bench.scripted.prompts[1].messages[-1].role == "user"
    assert answer.outcome == "answered"


async def test_a_model_without_notes_is_reminded_and_then_answered_from_the_passages() -> None:
    bench = films(calls("Oppenheimer film"), "Well.", "Well.", "Well.", "It was released on July 21, 2023. [1]")
    answer = await bench.ask(Iterative, MOVIES)
    assert "You have stopped." in bench.prompt(2)
    assert "Christopher Nolan" in bench.prompt(-1)
    assert answer.outcome == "answered"


async def test_never_stopping_and_refusing_both_end() -> None:
    bench = films()
    bench.scripted.script = lambda prompt: calls("Oppenheimer film") if prompt.tools else ANSWER
    answer = await bench.ask(Iterative, MOVIES, max_tokens=60)
    assert len(bench.source.asked) == 1, "the same query is not run twice"
    assert answer.outcome == "answered"
    bench = films(Completion("", finish="refusal"))
    answer = await bench.ask(Iterative, MOVIES)
    assert (answer.outcome, answer.reason) == ("unsure", "the model declined to research it")


async def test_asking_for_tools_of_a_model_without_falls_back_to_text() -> None:
    bench = films("<search_query>Oppenheimer</search_query>", INFORMATION, ANSWER, model_options={"capabilities": Capabilities()})
    answer = await bench.ask(Iterative, MOVIES, protocol="tools")
    assert "no tool calls" in bench.of(events.Notice)[0].message
    assert answer.outcome == "answered"


async def test_a_small_window_leaves_out_the_oldest_results() -> None:
    from tests.strategies.bench import entry

    window = 2_200
    text = "\n\n".join(f"Oppenheimer fact {n}: " + "lorem ipsum dolor " * 20 for n in range(60))
    hits = [entry(f"Oppenheimer {n}", text + str(n)) for n in range(12)]

    def say(prompt: object) -> object:
        sent = bench.scripted.prompts[-1]
        used = sum(bench.scripted.count_tokens(message.text) for message in sent.messages)
        assert used + (sent.max_tokens or 0) <= window
        return calls(f"Oppenheimer {len(bench.scripted.prompts)}") if sent.tools and len(bench.scripted.prompts) < 6 else ANSWER

    bench = Bench(say, source=Shelf(hits), model_options={"capabilities": Capabilities(window, tools=True)})  # pyright: ignore[reportArgumentType]
    await bench.ask(Iterative, MOVIES, max_tokens=600)
    assert any("left out" in notice.message for notice in bench.of(events.Notice))


async def test_searches_of_one_turn_run_at_the_same_time() -> None:
    bench = films(calls("Oppenheimer film", "Margaret God", "Pottery"), INFORMATION, ANSWER)
    bench.source.delay = 0.1
    answer = await bench.ask(Iterative, MOVIES)
    assert len(bench.source.asked) == 3
    assert answer.seconds < 0.25


async def test_a_model_with_tools_may_ask_in_text() -> None:
    bench = films("<search_query>Oppenheimer film</search_query>", INFORMATION, ANSWER)
    answer = await bench.ask(Iterative, MOVIES)
    assert [query.text for query in bench.source.asked] == ["Oppenheimer film"]
    assert answer.outcome == "answered"


async def test_calls_after_the_last_search_come_to_an_end() -> None:
    bench = films()
    bench.scripted.script = lambda prompt: (
        Completion("", tool_calls=calls(f"Oppenheimer {len(bench.scripted.prompts)}").tool_calls, output_tokens=1)
        if prompt.tools
        else ANSWER
    )
    answer = await bench.ask(Iterative, MOVIES, max_searches=2)
    assert len(bench.source.asked) == 2
    assert len(bench.scripted.prompts) < 8
    assert answer.outcome == "answered"
