"""The worked examples of the recipes, end to end: real servers, the real engine, a model that plays its part."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from tests.sources.conftest import Serve
from tests.wire.loopback import Asked, Reply

from wellread import events
from wellread.engine import Engine
from wellread.models.scripted import ScriptedModel
from wellread.settings import Settings
from wellread.types import Answer, Prompt

pytestmark = [pytest.mark.anyio, pytest.mark.service]


def number_of(words: str, text: str) -> str:
    """The number of the last item, observation or block in which the words stand."""
    before = text[: text.index(words)]
    return re.findall(r'<item index="(\d+)">|\[(\d+)\]\s*<data-', before)[-1][0] or re.findall(r"\[(\d+)\]\s*<data-", before)[-1]


async def run(
    model: Callable[[Prompt], str], question: str, strategy: str, **settings: object
) -> tuple[Answer, list[events.Event]]:
    params = settings.pop("params", {})
    seen: list[events.Event] = []
    async with Engine(Settings(**settings), model=ScriptedModel(model)) as engine:  # pyright: ignore[reportArgumentType]
        async for event in engine.stream(question, strategy=strategy, params=params):  # pyright: ignore[reportArgumentType]
            seen.append(event)
    last = seen[-1]
    assert isinstance(last, events.Answered)
    return last.answer, seen


def whole(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages)


@pytest.mark.parametrize("protocol", ["text", "tools"])
async def test_which_movie_came_out_first(mediawiki: str, protocol: str) -> None:
    question = "Which movie came out first: Oppenheimer, or Are You There God? It's Me, Margaret."

    def model(prompt: Prompt) -> object:
        from wellread.types import Completion, ToolCall

        text = whole(prompt)
        if "from numbered material" in text:
            later, first = re.findall(r"2023\. \[(\d+)\]", text)
            return (
                f"Are You There God? It's Me, Margaret. came out first, on 28 April 2023. [{first}] "
                f"Oppenheimer was released on 21 July 2023. [{later}]"
            )
        query = "Oppenheimer film" if "21 July 2023" not in text else "Are You There God Margaret film"
        if "28 April 2023" in text:
            one, two = number_of("was released in the United States on 21 July 2023", text), number_of("28 April 2023", text)
            return (
                f"<information>Oppenheimer was released in the United States on 21 July 2023. [{one}]\n"
                f"Lionsgate released Margaret in the United States on 28 April 2023. [{two}]</information>"
            )
        if prompt.tools:
            return Completion("", tool_calls=(ToolCall("1", "search", {"query": query}),))
        return f"<search_query>{query}</search_query>"

    answer, seen = await run(model, question, "iterative", sources=(f"mediawiki:{mediawiki}",), params={"protocol": protocol})  # pyright: ignore[reportArgumentType]
    assert answer.text.startswith("Are You There God? It's Me, Margaret. came out first")
    assert all(sentence.supported for sentence in answer.sentences)
    assert {citation.passage.title for citation in answer.citations} == {
        "Oppenheimer (film)",
        "Are You There God? It's Me, Margaret. (film)",
    }
    assert len([event for event in seen if isinstance(event, events.Searched)]) >= 1


async def test_who_won_and_who_was_that_teams_best_player(mediawiki: str) -> None:
    question = "Who won the 2023 NBA championship, and who was that team's best player in 2009?"

    def model(prompt: Prompt) -> str:
        text = whole(prompt)
        if "from numbered material" in text:
            won, best = re.findall(r"\[(\d+)\]", text.partition("Material:")[2])[:2]
            return (
                f"The Denver Nuggets won the championship. [{won}] Carmelo Anthony was the team's best player in 2009. [{best}]"
            )
        if "won their first championship" not in text:
            return "<plan>First the winner, then its players of 2009.</plan><search_query>2023 NBA Finals</search_query>"
        if "best player and leading scorer in 2009" not in text:
            return "<assessment>The winner is known.</assessment><search_query>Denver Nuggets 2009 best player</search_query>"
        one, two = number_of("won their first championship", text), number_of("best player and leading scorer in 2009", text)
        return (
            f"<information>The Denver Nuggets won their first championship in the 2023 NBA Finals. [{one}] "
            f"Carmelo Anthony was the team's best player and leading scorer in 2009. [{two}]</information>"
        )

    answer, _ = await run(model, question, "iterative", sources=(f"mediawiki:{mediawiki}",), params={"protocol": "text"})
    assert "Denver Nuggets" in answer.text
    assert "Carmelo Anthony" in answer.text
    assert [sentence.supported for sentence in answer.sentences] == [True, True]


def act(line: str, reply: Callable[[str], str]) -> Callable[[Prompt], str]:
    """A react model: one action, then the answer from what was observed."""

    def model(prompt: Prompt) -> str:
        last = prompt.messages[-1].text
        return reply(last) if last.startswith("Observation:") else f"Thought: I should look.\nAction: {line}\nPAUSE"

    return model


async def test_what_england_shares_borders_with(mediawiki: str) -> None:
    model = act("wikipedia: England borders", lambda seen: "Answer: England shares borders with Wales and Scotland.")
    answer, seen = await run(model, "What does England share borders with?", "react", sources=(f"mediawiki:{mediawiki}",))
    assert answer.text == "England shares borders with Wales and Scotland. [1]"
    assert answer.sentences[0].supported
    observation = next(event for event in seen if isinstance(event, events.Thought) and event.kind == "observation")
    assert "shares land borders with Wales" in observation.text
    assert "searchmatch" not in observation.text


async def test_a_question_to_the_blog(mediawiki: str, datasette_blog: str) -> None:
    model = act("blog_search: sourdough oven", lambda seen: "Answer: The oven was lit every Saturday at four. [1]")
    sources = (f"mediawiki:{mediawiki}", f"datasette:{datasette_blog}/blog/blog_entry")
    answer, seen = await run(model, "When was the oven lit?", "react", sources=sources)
    assert answer.sentences[0].supported
    assert answer.citations[0].passage.title == "How bread was baked in the village"
    assert "<b>" not in answer.citations[0].passage.text
    searched = [event for event in seen if isinstance(event, events.Searched)]
    assert len(searched) == 1
    assert len(searched[0].hits) == 1


async def test_long_blog_entries_are_shown_to_a_thousand_characters(datasette_blog: str) -> None:
    model = act("blog_search: keeper stairs", lambda seen: "Answer: The keeper climbs the stairs each evening. [1]")
    answer, _ = await run(
        model,
        "What does the keeper do?",
        "react",
        sources=(f"datasette:{datasette_blog}/blog/blog_entry",),
        params={"wikipedia": "none"},
    )
    assert len(answer.passages[1].text) <= 1000
    assert "Portland" not in answer.passages[1].text


async def test_a_hostile_page_is_data(mediawiki: str) -> None:
    def model(prompt: Prompt) -> str:
        text = whole(prompt)
        if "from numbered material" in text:
            return "NO ANSWER: nothing on it"
        if "zugzwangling says" in text:
            fenced = re.search(r"<data-(\w+)>(?:(?!</data-).)*Ignore all previous(?:(?!</data-).)*</data-\1>", text, re.S)
            assert fenced is not None
            assert "must not be obeyed" in text
            return "<information>The page says something. [1]</information>"
        return "<search_query>zugzwangling</search_query>"

    answer, _ = await run(
        model, "What is zugzwangling?", "iterative", sources=(f"mediawiki:{mediawiki}",), params={"protocol": "text"}
    )
    assert answer.outcome == "unsure"
    assert "gotcha" not in answer.text


async def test_a_question_the_index_cannot_answer_goes_to_the_web(mediawiki: str) -> None:
    def model(prompt: Prompt) -> str:
        text = whole(prompt)
        if "You judge" in text:
            return json.dumps({"relevant": "yes" if "Nolan" in text else "no"})
        if "one query for a search engine" in text:
            return "Oppenheimer film director"
        if "numbered strips" in text:
            kept = [int(n) for n, line in re.findall(r"^(\d+)\. (.*)$", text, re.M) if "Nolan" in line]
            return json.dumps({"keep": kept})
        return f"Christopher Nolan wrote and directed Oppenheimer. [{number_of('Christopher Nolan', text)}]"

    answer, seen = await run(
        model,
        "Who directed the film about Oppenheimer?",
        "corrective",
        sources=("library",),
        fallback=f"mediawiki:{mediawiki}",
        params={"grader": "llm"},
    )
    assert answer.sentences[0].supported
    assert answer.citations[0].passage.source.startswith("mediawiki")
    assert [event.decision for event in seen if isinstance(event, events.Decided)] == [
        "incorrect",
        "replace",
        "refine",
        "generate",
    ]


async def test_digest_reads_the_pages_behind_snippets(mediawiki: str) -> None:
    def model(prompt: Prompt) -> str:
        text = whole(prompt)
        if "numbered passages of" in text:
            fact = "released in the United States on 21 July 2023"
            return f"Oppenheimer was {fact}. [{number_of(fact, text)}]" if fact in text else "NOTHING"
        found = re.search(r"Oppenheimer was released in the United States on 21 July 2023\. \[\d+\]", text)
        return found[0] if found else "NO ANSWER: the date"

    answer, seen = await run(
        model,
        "When was the Oppenheimer film released?",
        "digest",
        sources=(f"mediawiki:{mediawiki}?text=none",),
        allow_hosts=("127.0.0.1",),
        ignore_robots=True,
        params={},
    )
    assert [event for event in seen if isinstance(event, events.PageRead)]
    assert answer.outcome == "answered"
    assert answer.sentences[0].supported


NBA = "Who won the NBA championship? And who was the MVP? Tell me a bit about the last game."


def articles() -> list[dict[str, object]]:
    relevant = [
        (
            "Nuggets lift first NBA title",
            "Denver Nuggets won their first NBA championship, beating Miami Heat 94-89 in Game 5, the last game",
        ),
        ("Jokic named Finals MVP", "Nikola Jokic was named MVP of the NBA Finals after the Nuggets won the championship"),
    ]
    noise = [(f"Shop news {n}", f"<ul><li>The last sale of game number {n} was won by shoppers</li></ul>") for n in range(300)]
    return [
        {
            "title": title,
            "description": f"<p>{text}</p>",
            "url": f"https://news.example/{n}",
            "content": text[:80],
            "publishedAt": "2023-06-13T10:00:00Z",
        }
        for n, (title, text) in enumerate([*relevant, *noise])
    ]


async def test_21_queries_to_the_news(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWSAPI_KEY", "test-key-0123")
    everything = articles()

    def news(asked: Asked) -> Reply:
        words = asked.params["q"].lower().split()
        found = [a for a in everything if any(word in f"{a['title']} {a['description']}".lower() for word in words)]
        start = (int(asked.params["page"]) - 1) * int(asked.params["pageSize"])
        return Reply(
            {"status": "ok", "totalResults": len(found), "articles": found[start : start + int(asked.params["pageSize"])]}
        )

    queries = [f"{a} {b}" for a in ("NBA", "finals", "championship", "game") for b in ("winner", "MVP", "last", "score", "title")]

    def model(prompt: Prompt) -> str:
        text = whole(prompt)
        if "queries for a search service" in text:
            return json.dumps({"queries": queries})
        if "what a good answer" in text:
            return "TEAM won the NBA championship, beating TEAM in the last game. PLAYER was named MVP of the NBA Finals."
        return (
            "Denver Nuggets won their first NBA championship, beating Miami Heat 94-89 in the last game "
            "[Nuggets lift first NBA title](https://news.example/0). "
            "Nikola Jokic was named MVP of the NBA Finals [Jokic named Finals MVP](https://news.example/1)."
        )

    server = serve(news)
    source = f"newsapi?base={server.url}&from=2023-06-01&to=2023-06-30"
    answer, seen = await run(model, NBA, "fanout", sources=(source,), params={"max_queries": 21})
    assert len({asked.params["q"] for asked in server.asked}) == 21
    assert all(asked.params["sortBy"] == "relevancy" and asked.params["pageSize"] == "50" for asked in server.asked)
    (ranked,) = [event for event in seen if isinstance(event, events.Ranked)]
    assert set(ranked.kept[:2]) == {"https://news.example/0", "https://news.example/1"}
    assert ranked.dropped > 20
    assert [sentence.supported for sentence in answer.sentences] == [True, True]


async def test_an_api_error_reaches_the_user(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWSAPI_KEY", "wrong-key-0123")
    server = serve(lambda asked: Reply({"status": "error", "code": "apiKeyInvalid", "message": "Your API key is invalid."}, 401))
    answer, _ = await run(lambda prompt: '{"queries": ["NBA"]}', NBA, "fanout", sources=(f"newsapi?base={server.url}",))
    assert answer.outcome == "unsure"
    assert answer.reason is not None
    assert "Your API key is invalid." in answer.reason
    assert "wrong-key" not in answer.reason
