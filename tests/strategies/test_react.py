"""`react`: thought, action, pause, observation."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from tests.strategies.bench import Bench, Pages, Shelf, entry, supported

from wellread import events
from wellread.budget import Limits
from wellread.errors import Unreachable
from wellread.models.scripted import ScriptedModel
from wellread.sources.multi_hop import Several
from wellread.strategies.react import React
from wellread.strategies.turns import Turn, read_turn
from wellread.types import Capabilities, Completion, Hit, Query

pytestmark = pytest.mark.anyio

ENGLAND = entry(
    "England",
    "England is a country. " + "It has many towns and rivers. " * 60,
    url="https://wiki.example/England",
    snippet='<span class="searchmatch">England</span> is part of the United Kingdom. It shares land borders with Wales to its '
    "west and Scotland to its north.",
)
WEEKNOTES = entry(
    "Weeknotes: more museums",
    "<p>I landed a tiny new feature. This week I added the Pirates Museum in Antananarivo, Madagascar, to the list.</p>"
    + "<p>More on the releases of this week.</p>" * 60,
    url="https://blog.example/weeknotes",
)

TOWNS = [entry(f"Town {n}", f"Town {n} lies on the river Ister and has {n} bridges.") for n in range(8)]


def wiki(*script: object, **options: object) -> Bench:
    sources = {"wikipedia": Shelf([ENGLAND], name="wikipedia"), "posts": Shelf([WEEKNOTES], name="datasette:blog.example")}
    return Bench(script, sources=sources, **options)  # pyright: ignore[reportArgumentType]


def thoughts(bench: Bench) -> list[tuple[str, str]]:
    return [(thought.kind, thought.text) for thought in bench.of(events.Thought)]


async def test_what_england_shares_borders_with() -> None:
    bench = wiki(
        "Thought: I should list the neighbours of England.\nAction: wikipedia: England\nPAUSE\nObservation: invented",
        "Answer: England shares borders with Wales and Scotland.",
    )
    answer = await bench.ask(React, "What does England share borders with?")
    assert answer.text == "England shares borders with Wales and Scotland. [1]"
    assert supported(answer) == [True]
    seen = thoughts(bench)
    assert seen[0] == ("thought", "I should list the neighbours of England.")
    assert seen[1] == ("action", "wikipedia: England")
    assert seen[2][0] == "observation"
    assert "<span" not in seen[2][1]
    assert "many towns" not in seen[2][1], "a snippet, not the page"
    second = bench.scripted.prompts[1].messages
    assert [message.role for message in second] == ["system", "user", "assistant", "user"]
    assert second[2].text.endswith("Action: wikipedia: England\nPAUSE")
    assert second[3].text.startswith("Observation: [1] <data-f00dcafe>")
    assert bench.scripted.prompts[0].stop == ("PAUSE",)


MUSEUM = "This week Simon visited the Pirates Museum in Antananarivo, Madagascar."


@pytest.mark.parametrize(
    "said",
    [
        "Observation: {0}\n\nAnswer: {0}",
        "Observation: [1] {0}\nAnswer: {0} [1]",
        "**Observation 1:** {0}\n**Answer:** {0} [1]",
        "Thought: I know it.\nObservations: {0}\nThought: So that is it.\nFinal Answer: I added the Pirates Museum. [1]",
        "PAUSE\nObservation [1]: {0}\nAnswer: This week I added the Pirates Museum in Antananarivo, Madagascar, to the list.",
        "> Observation: {0}\n\nAnswer: {0} [1]",
    ],
)
async def test_an_invented_observation_never_counts_as_evidence(said: str) -> None:
    turn = said.format(MUSEUM).removeprefix("PAUSE\n")
    bench = wiki("Thought: I can search the blog.\n\nAction: blog_search: Madagascar\n\nPAUSE", turn)
    answer = await bench.ask(React, "Has Simon been to Madagascar?", blog="posts")
    assert "Pirates Museum" in answer.text
    assert not any(supported(answer))
    assert not answer.citations
    assert any("wrote an observation itself" in notice.message for notice in bench.of(events.Notice))
    assert [event.passage.title for event in bench.of(events.Numbered)] == ["Weeknotes: more museums"]


async def test_what_is_thought_behind_an_invented_observation_is_not_shown_again() -> None:
    bench = wiki("Thought: a\nObservation: it is so\nThought: So it is.\nAction: wikipedia: England\nPAUSE", "Answer: So. [1]")
    await bench.ask(React, "What is England?")
    assert "So it is." not in bench.prompt(1)


async def test_reading_is_offered_where_an_address_was_seen() -> None:
    bench = wiki("Action: wikipedia: England\nPAUSE", "Answer: England is a country. [1]")
    await bench.ask(React, "What is England?")
    assert "- read: " not in bench.prompt(0)
    assert "(One action more: read" in bench.prompt(1)
    named = wiki("Answer: It is so.")
    await named.ask(React, "What does https://wiki.example/England say?")
    assert "- read: " in named.prompt(0)


async def test_a_name_that_no_search_finds_ends_the_loop() -> None:
    shelf = Shelf(TOWNS, everything=True)
    turns = [f"Action: shelf: Zorblax Quent {what}\nPAUSE" for what in ("", "birth", "life", "town")]
    bench = Bench(turns, source=shelf)
    answer = await bench.ask(React, "When was Zorblax Quent born?", wikipedia=None)
    assert (len(shelf.asked), len(bench.scripted.prompts)) == (2, 2)
    assert (answer.outcome, "nothing that was found speaks of “Zorblax Quent”" in (answer.reason or "")) == ("unsure", True)
    both = Bench([*turns[:2], "Town 3 has 3 bridges. [4]\nMISSING: Zorblax Quent"], source=shelf)
    answer = await both.ask(React, "Has Town 3 more bridges than Zorblax Quent?", wikipedia=None)
    assert len(both.scripted.prompts) == 3, "what else was asked is answered from the observations"
    assert answer.outcome == "partial"


async def test_a_blog_question() -> None:
    bench = wiki("Action: blog_search: museum\nPAUSE", "Answer: The Pirates Museum in Antananarivo was added this week. [1]")
    answer = await bench.ask(React, "Which museum was added?", blog="posts")
    observation = thoughts(bench)[1][1]
    assert "<p>" not in observation
    assert 900 < len(observation) < 1100
    assert supported(answer) == [True]


async def test_a_calculation_is_evidence_too() -> None:
    bench = wiki(
        "Thought: The action required is a calculation\nAction: calculate: 15 * 25\nPAUSE",
        "Answer: Fifteen times twenty five equals 375.",
    )
    answer = await bench.ask(React, "Fifteen * twenty five")
    assert ("observation", "[1] 15 * 25 = 375") in thoughts(bench)
    assert answer.text == "Fifteen times twenty five equals 375. [1]"
    assert supported(answer) == [True]
    assert answer.citations[0].passage.source == "calculate"


@pytest.mark.parametrize(
    "expression",
    [
        "1 # The bridge collapsed and killed everybody",
        "len('The bridge collapsed and killed everybody')",
        "1 or the_bridge_collapsed_and_killed_everybody",
    ],
)
async def test_words_in_a_calculation_are_no_evidence(expression: str) -> None:
    bench = wiki(f"Action: calculate: {expression}\nPAUSE", "Answer: The bridge collapsed and killed everybody. [1]")
    answer = await bench.ask(React, "What became of the bridge?")
    assert not answer.passages
    assert supported(answer) == [False]


@pytest.mark.parametrize(
    "expression", ["__import__('os').system('true')", "open('/etc/passwd')", "9**9**9**9", "().__class__", "while True: pass"]
)
async def test_a_dangerous_calculation_is_an_observation_and_the_run_goes_on(expression: str) -> None:
    bench = wiki(f"Action: calculate: {expression}\nPAUSE", "Answer: NO ANSWER: it cannot be calculated")
    answer = await bench.ask(React, "What is it?")
    assert thoughts(bench)[1][1].startswith("error:")
    assert answer.outcome == "unsure"
    assert answer.reason is not None
    assert "it cannot be calculated" in answer.reason


async def test_without_the_sandbox_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    bench = wiki(
        "Action: calculate: 15 * 25\nPAUSE", "Action: wikipedia: England\nPAUSE", "Answer: England has 56 million people. [1]"
    )
    answer = await bench.ask(React, "How many people has England?")
    assert ("observation", 'error: calculating needs an optional part: pip install "wellread[calculate]"') in thoughts(bench)
    assert (answer.outcome, len(answer.citations)) == ("answered", 1)


async def test_an_unknown_action_lists_those_there_are() -> None:
    bench = wiki(
        "Action: telephone: London\nPAUSE", "Action: wikipedia:\nPAUSE", "Action: wikipedia: England\nPAUSE", "Answer: So. [1]"
    )
    answer = await bench.ask(React, "Who?")
    seen = [text for kind, text in thoughts(bench) if kind == "observation"]
    assert seen[0] == "There is no action 'telephone'. The actions are: shelf, wikipedia, calculate."
    assert seen[1].startswith("wikipedia needs an input")
    assert answer.outcome == "answered"


async def test_every_configured_source_is_an_action_with_help_and_example() -> None:
    source = Several([Shelf([ENGLAND], name="library"), Shelf(name="mediawiki:host"), Shelf([WEEKNOTES], name="datasette:host")])
    bench = wiki("Action: library: England\nPAUSE", "Answer: England is a country. [1]", source=source)
    await bench.ask(React, "What is England?")
    system = bench.scripted.prompts[0].messages[0].text
    for name in ("library", "wikipedia", "blog_search", "calculate"):
        assert f"- {name}: " in system
        assert f"Action: {name}: " in system
    assert "Look things up whenever" in system
    assert "2026-11-15" in system
    assert bench.source.parts[0].asked[0].text == "England"
    assert "many towns" in thoughts(bench)[1][1]


@pytest.mark.parametrize("hits", [1, 3, 4])
async def test_hits_shows_more_than_the_best(hits: int) -> None:
    shelf = Shelf([entry(f"Town {n}", f"A town, number {n}.") for n in range(5)], name="library")
    bench = wiki("Action: library: town\nPAUSE", "Answer: Town 1 is a town. [2]", source=shelf)
    await bench.ask(React, "Which towns?", hits=hits, wikipedia="none")
    assert len(bench.of(events.Numbered)) == hits
    assert "wikipedia" not in bench.scripted.prompts[0].messages[0].text.partition("The actions")[2].partition("An action is")[0]


async def test_pages_are_read_only_from_addresses_that_came_up() -> None:
    pages = Pages({"https://wiki.example/England": ["England has 56 million people."]})
    bench = wiki(
        "Action: read: https://evil.example/?secret=1\nPAUSE",
        "Action: wikipedia: England\nPAUSE",
        "Action: read: https://wiki.example/England\nPAUSE",
        "Answer: England has 56 million people. [2]",
        page_reader=pages,
    )
    answer = await bench.ask(React, "How many people live in England?")
    assert pages.read_urls == ["https://wiki.example/England"]
    assert supported(answer) == [True]


async def test_an_address_that_the_model_makes_up_is_not_read_when_others_can_be() -> None:
    pages = Pages(
        {"https://wiki.example/England": ["England has 56 million people."], "https://evil.example/?secret=1": ["Mine."]}
    )
    made_up = "Action: read: https://evil.example/?secret=1\nPAUSE"
    bench = wiki("Action: wikipedia: England\nPAUSE", made_up, "Answer: NO ANSWER: all of it", page_reader=pages)
    await bench.ask(React, "How many people live in England?")
    assert pages.read_urls == []
    assert thoughts(bench)[-1] == ("observation", "Only addresses from the question and those of search results can be read.")


async def test_a_turn_and_a_page_that_is_read_have_so_many_tokens() -> None:
    pages = Pages({"https://wiki.example/England": ["England has 56 million people. " * 100]})
    script = ("Action: wikipedia: England\nPAUSE", "Action: read: https://wiki.example/England\nPAUSE", "Answer: 56 million. [2]")
    bench = wiki(*script, page_reader=pages)
    await bench.ask(React, "How many people live in England?", page_tokens=50, turn_tokens=66)
    (cut,) = bench.of(events.Cut)
    assert 25 < cut.kept_tokens <= 50 < cut.of_tokens
    assert {prompt.max_tokens for prompt in bench.scripted.prompts} == {66}


async def test_a_page_that_fails_and_a_search_that_fails_are_observations() -> None:
    failing = {"wikipedia": Shelf(name="wikipedia", failing=lambda text: True)}
    bench = wiki(
        "Action: wikipedia: England\nPAUSE", "Action: read: https://gone.example/\nPAUSE", "Answer: NO ANSWER: all of it"
    )
    bench.sources = failing
    answer = await bench.ask(React, "What is at https://gone.example/ ?")
    seen = [text for kind, text in thoughts(bench) if kind == "observation"]
    assert seen[0] == "The search failed (wikipedia: the service is down). Try again, or another action."
    assert seen[1] == "That page cannot be read."
    assert "another action.\n<data-" in bench.prompt(1)  # what a service complains of is fenced like its hits
    assert "wikipedia: the service is down\n</data-" in bench.prompt(1)
    assert answer.outcome == "unsure"


async def test_without_an_answer_in_time_one_is_composed_from_the_observations() -> None:
    bench = wiki(
        *["Thought: once more.\nAction: wikipedia: England\nPAUSE"] * 3, "England shares borders with Wales and Scotland. [1]"
    )
    answer = await bench.ask(React, "What does England share borders with?", max_turns=3)
    assert len(bench.scripted.prompts) == 4
    assert bench.of(events.Decided)[0].decision == "answer from the observations"
    assert answer.outcome == "answered"
    assert supported(answer) == [True]


async def test_a_model_that_ignores_the_format_is_reminded_and_gets_one_search() -> None:
    bench = wiki(*["I am a poet."] * 2, "England is a country. [1]", source=Shelf([ENGLAND]))
    answer = await bench.ask(React, "What is England?", max_turns=2)
    assert "There was no action and no answer." in bench.prompt(1)
    assert [query.text for query in bench.source.asked] == ["What is England?"]
    assert answer.outcome == "answered"


async def test_nothing_found_at_all() -> None:
    bench = wiki(*["hm"] * 2)
    answer = await bench.ask(React, "Why?", max_turns=2)
    assert answer.outcome == "unsure"
    assert answer.reason == "the actions found nothing; searched for “Why?”"


async def test_an_answer_from_memory_is_marked() -> None:
    bench = wiki("Answer: The capital of France is Paris.")
    answer = await bench.ask(React, "What is the capital of France?")
    assert answer.outcome == "answered"
    assert supported(answer) == [False]
    assert "without looking anything up" in bench.of(events.Notice)[-1].message


async def test_a_refusal() -> None:
    bench = wiki(Completion("No.", finish="refusal"))
    answer = await bench.ask(React, "How?")
    assert (answer.outcome, answer.reason) == ("unsure", "the model declined to answer")


async def test_the_answer_streams_while_it_is_written() -> None:
    text = "Thought: I know enough.\nAnswer: England is part of the United Kingdom and shares land borders with Wales. [1]"
    bench = wiki("Action: wikipedia: England\nPAUSE", text, model_options={"delay": 0.002, "piece": 4})
    calls: list[int] = []
    bench.listener = lambda event: (
        calls.append(len(bench.of(events.ModelCalled))) if isinstance(event, events.AnswerDelta) else None
    )
    await bench.ask(React, "What is England?")
    assert calls.count(1) > 5, "the second call has not ended while its answer is shown"


async def test_an_answer_model_of_its_own() -> None:
    cheap = ScriptedModel(["England is a country. [1]"], name="cheap")
    bench = wiki("Action: shelf: England\nPAUSE", "Answer: ignored", models={"cheap": cheap}, source=Shelf([ENGLAND]))
    answer = await bench.ask(React, "What is England?", answer_model="cheap")
    assert answer.text == "England is a country. [1]"


async def test_searches_that_run_out() -> None:
    bench = wiki(
        "Action: wikipedia: England\nPAUSE",
        "Action: wikipedia: Wales\nPAUSE",
        "England shares borders with Wales and Scotland. [1]",
        limits=Limits(searches=1),
    )
    answer = await bench.ask(React, "What does England share borders with?")
    assert answer.outcome == "exhausted"
    assert answer.reason == "the limit on searches is reached"
    assert supported(answer) == [True]


async def test_time_that_runs_out_while_answering_keeps_what_was_shown() -> None:
    bench = wiki("Action: wikipedia: England\nPAUSE", "Answer: " + "word " * 400, limits=Limits(seconds=0.4))
    bench.scripted.delay = 0.005
    answer = await bench.ask(React, "What does England share borders with?")
    assert answer.outcome == "exhausted"
    assert answer.text.startswith("word word")
    assert "Scotland" in answer.text


async def test_a_small_window_never_overflows() -> None:
    def say(prompt: object) -> str:
        sent = bench.scripted.prompts[-1]
        used = sum(bench.scripted.count_tokens(message.text) for message in sent.messages)
        assert used + (sent.max_tokens or 0) <= 1600
        return f"Action: library: town {len(bench.scripted.prompts)}\nPAUSE"

    shelf = Shelf([entry(f"Town {n}", f"Town number {n} is a town. " * 60) for n in range(40)], name="library")
    bench = Bench(say, source=shelf, model_options={"capabilities": Capabilities(1600)})
    await bench.ask(React, "Which towns?", max_turns=8, hits=2, wikipedia="none")
    assert any("left out" in notice.message for notice in bench.of(events.Notice))


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("Thought: a\nAction: x: y", Turn("a", "x", "y")),
        ("**Thought:** a\n**Action:** x: `y`", Turn("a", "x", "y")),
        ("Action: x: y\nAction: z: w", Turn("", "x", "y")),
        ("Action: x: y: z", Turn("", "x", "y: z")),
        ("Action: x: y\nAnswer: made up", Turn("", "x", "y")),
        ("Answer: b", Turn("", answer="b")),
        ("Answer: b\nObservation: c", Turn("", answer="b\n", invented=False)),
        ("Observation: c\nAction: x: y", Turn("", "x", "y", invented=True)),
        ("I think of an Action: x: y", Turn("I think of an Action: x: y")),
        ("", Turn()),
    ],
)
def test_turns_are_read_tolerantly(text: str, turn: Turn) -> None:
    assert read_turn(text) == turn


async def test_sources_of_one_kind_are_told_apart_and_missing_ones_left_out() -> None:
    source = Several([Shelf([ENGLAND], name="index:a"), Shelf(name="index:b"), Shelf(name="read")])
    bench = Bench(["Action: index_2: England\nPAUSE", "Answer: NO ANSWER: it"], source=source)
    await bench.ask(React, "What is England?")
    system = bench.scripted.prompts[0].messages[0].text
    for name in ("index", "index_2", "read_2", "calculate"):
        assert f"- {name}: " in system
    assert "- wikipedia: " not in system
    assert "no wikipedia action" in bench.of(events.Notice)[0].message
    assert bench.source.parts[1].asked[0].text == "England"


async def test_a_search_shows_three_passages_and_none_of_them_again() -> None:
    bench = Bench(
        ["Action: shelf: Ister\nPAUSE", "Action: shelf: river Ister\nPAUSE", "Answer: NO ANSWER: all of it"], source=Shelf(TOWNS)
    )
    await bench.ask(React, "Which town on the Ister has most bridges?", wikipedia="none")
    first, second = (text for kind, text in thoughts(bench) if kind == "observation")
    assert [first.count(f"Town {n}:") for n in range(8)] == [1, 1, 1, 0, 0, 0, 0, 0]
    assert [second.count(f"Town {n}:") for n in range(8)] == [0, 0, 0, 1, 1, 1, 0, 0]


async def test_a_search_that_finds_nothing_new_says_where_it_was_shown() -> None:
    bench = Bench(
        ["Action: shelf: Ister\nPAUSE", "Action: shelf: bridges\nPAUSE", "Answer: NO ANSWER: it"], source=Shelf(TOWNS[:2])
    )
    await bench.ask(React, "Which town on the Ister has most bridges?", wikipedia="none")
    seen = [text for kind, text in thoughts(bench) if kind == "observation"]
    assert seen[1] == "Nothing new was found: [1] [2] are shown above. Try another term."


async def test_the_turns_left_are_said() -> None:
    bench = wiki(*["Action: wikipedia: England\nPAUSE"] * 3, "England is a country. [1]")
    await bench.ask(React, "What is England?", max_turns=3)
    assert "(3 turns left, one for each action.)" in bench.prompt(0)
    assert "(2 turns left, one for each action.)" in bench.prompt(1)
    assert "(One turn left: answer now.)" in bench.prompt(2)


async def test_a_source_that_cannot_be_reached_is_withdrawn_and_called_that() -> None:
    class Dead(Shelf):
        async def search(self, query: Query) -> Sequence[Hit]:
            self.asked.append(query)
            raise Unreachable("wikipedia", "connection refused")

    dead = Dead(name="wikipedia")
    bench = wiki("Action: wikipedia: England\nPAUSE", "Action: wikipedia: Wales\nPAUSE", "Answer: NO ANSWER: all of it")
    bench.sources = {"wikipedia": dead}
    await bench.ask(React, "What is England?", max_turns=3)
    assert "(3 turns left" in bench.prompt(1), "it costs no turn"
    seen = [text for kind, text in thoughts(bench) if kind == "observation"]
    assert seen[0] == "wikipedia cannot be reached. The actions left are: shelf, calculate."
    assert seen[1].startswith("There is no action 'wikipedia'.")
    assert len(dead.asked) == 1
    assert "wikipedia cannot be reached and is not asked again: connection refused" in [
        one.message for one in bench.of(events.Notice)
    ]


LONG = (
    "Edward Vale was mayor of Ashford from 1461 to 1470. He was the son of a tanner and learned his father's trade. "
    "The town grew under him, and its walls were built anew. A fire burned down the mill in 1463. "
    "Quarrels began after his marriage to Anne Holt in 1464. He fled to the coast and came back a year later. "
    "The rest of his time was peaceful."
)


async def test_of_a_long_passage_what_is_nearest_to_the_search_is_shown() -> None:
    hits = [Hit("vale.txt#0", LONG, "Edward Vale", None, "shelf", document="vale.txt")]
    bench = Bench(["Action: shelf: marriage of Edward Vale\nPAUSE", "Answer: He married Anne Holt. [1]"], source=Shelf(hits))
    await bench.ask(React, "Whom did Edward Vale marry?", wikipedia=None, observation_characters=150)
    (numbered,) = bench.of(events.Numbered)
    shown = numbered.passage.text
    assert shown.startswith(f"{LONG.partition(' He was')[0]} … ")
    assert shown.endswith("Quarrels began after his marriage to Anne Holt in 1464.")
    assert len(shown) <= 150
    assert all(one in LONG for one in shown.split(" … ")), "verbatim"


async def test_a_long_passage_without_sentences_is_shown_from_its_beginning() -> None:
    hits = [Hit("row.txt#0", "word " * 100, "Row", None, "shelf", document="row.txt")]
    bench = Bench(["Action: shelf: word\nPAUSE", "Answer: It says word. [1]"], source=Shelf(hits))
    await bench.ask(React, "Which word is it?", wikipedia=None, observation_characters=52)
    (numbered,) = bench.of(events.Numbered)
    assert numbered.passage.text == "word " * 9 + "word"
