"""Follow-ups, refusals and confidence without a language model, at every door of a real server."""

from __future__ import annotations

import json
import re
from typing import Any

import openai
import pytest
from mcp import Client
from tests.server.stage import Live, finished

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FIRST, SECOND = "Who discovered Titan?", "When was he born?"
MEANT = "Understood as: When was Christiaan Huygens born?"
CAPITAL = "What is the capital of Australia?"
NOBODY = "Who won the chess championship of Mongolia in 1987?"
NEAREST = "Nearest, may answer it"


def connected(live: Live) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{live.url}/v1", api_key="none", max_retries=0)


def run(live: Live, question: str, parent: str | None = None, effort: str = "normal") -> dict[str, Any]:
    with live.client() as client:
        asked = {"question": question, "effort": effort, **({"parent": parent} if parent else {})}
        begun = client.post("/api/runs", json=asked).json()
        return finished(client, begun["id"])


def test_a_follow_up_on_the_page(library: Live) -> None:
    first = run(library, FIRST)
    second = run(library, SECOND, first["id"])
    assert second["answer"]["understood"] == "When was Christiaan Huygens born?"
    assert "1629" in second["answer"]["answer"]
    with library.client() as client:
        page = client.get(f"/r/{second['id']}").text
    assert "Understood as: <b>When was Christiaan Huygens born?</b>" in page
    assert second["answer"]["sure"] in page
    assert "100% support" not in page
    assert "quoted word for word" in page


def test_what_is_not_clear_is_asked_back_on_the_page(library: Live) -> None:
    first = run(library, CAPITAL)
    second = run(library, SECOND, first["id"])
    assert (second["answer"]["outcome"], second["answer"]["asks"]) == ("unsure", "Who is meant by “he”?")
    third = run(library, "Galileo Galilei", second["id"])
    assert third["answer"]["understood"] == "When was Galileo Galilei born?"
    with library.client() as client:
        assert "Who is meant by “he”?" in client.get(f"/r/{second['id']}").text


def offered(page: str) -> dict[str, str]:
    """The buttons that ask again, each with its form."""
    found = re.findall(r'<form method="post" action="/ask">(.*?)<button class="button">([^<]*)</button>', page)
    return {label: form for form, label in found}


def test_a_refusal_shows_what_is_near_on_the_page(library: Live) -> None:
    refused = run(library, NOBODY)["answer"]
    assert refused["outcome"] == "unsure"
    assert 1 <= len(refused["nearest"]) <= 3
    assert all(near["place"] and near["text"] for near in refused["nearest"])
    assert refused["tries"]
    with library.client() as client:
        assert list(offered(client.get(f"/r/{run(library, NOBODY)['id']}").text)) == ["Search Wikipedia too"]
        shown = client.get(f"/r/{run(library, NOBODY, effort='low')['id']}").text
        assert NEAREST in shown
        ways = offered(shown)
        assert list(ways) == ["Normal", "Search Wikipedia too"]  # high effort would bring nothing without a model
        assert 'href="/settings" class="button">Set up a language model' in shown
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', ways["Normal"]))
        again = client.post("/ask", data=fields, follow_redirects=True)
        assert (again.status_code, fields["effort"], fields["question"]) == (200, "normal", NOBODY)


def test_chat_completions(library: Live) -> None:
    with connected(library) as client:
        talk: list[Any] = [{"role": "user", "content": FIRST}]
        first = client.chat.completions.create(model="wellread", messages=talk)
        talk += [{"role": "assistant", "content": first.choices[0].message.content}, {"role": "user", "content": SECOND}]
        second = client.chat.completions.create(model="wellread", messages=talk)
        text = second.choices[0].message.content or ""
        assert text.startswith(f"{MEANT}\n\n")
        assert "1629" in text
        assert second.model_extra is not None
        assert second.model_extra["wellread"]["confidence"] > 0.5
        streamed = "".join(
            chunk.choices[0].delta.content or ""
            for chunk in client.chat.completions.create(model="wellread", messages=talk, stream=True)
        )
        assert streamed == text
        talk += [{"role": "assistant", "content": text}, {"role": "user", "content": "Where?"}]
        third = client.chat.completions.create(model="wellread", messages=talk).choices[0].message.content or ""
        assert third.startswith("Understood as: Where was Christiaan Huygens born?")
        refused = client.chat.completions.create(model="wellread", messages=[{"role": "user", "content": NOBODY}])
        assert NEAREST in (refused.choices[0].message.content or "")


@pytest.mark.parametrize("stream", [False, True])
def test_responses(library: Live, stream: bool) -> None:
    with connected(library) as client:
        first = client.responses.create(model="wellread", input=FIRST)
        if stream:
            told = client.responses.create(model="wellread", input=SECOND, previous_response_id=first.id, stream=True)
            second = next(event.response for event in told if event.type == "response.completed")
        else:
            second = client.responses.create(model="wellread", input=SECOND, previous_response_id=first.id)
        assert second.output_text.startswith(f"{MEANT}\n\n")
        assert second.metadata is not None
        assert second.metadata["understood"] == "When was Christiaan Huygens born?"
        assert second.metadata["sure"].split(", ")[0].endswith("sure")


async def test_mcp(library: Live) -> None:
    async with Client(f"{library.url}/mcp") as client:
        first = (await client.call_tool("ask", {"question": FIRST})).structured_content
        assert first is not None
        second = await client.call_tool("ask", {"question": SECOND, "previous": first["id"]})
        assert second.content[0].text.startswith(MEANT)  # type: ignore[union-attr]
        assert "1629" in json.dumps(second.structured_content)
        refused = await client.call_tool("ask", {"question": NOBODY})
        assert NEAREST in refused.content[0].text  # type: ignore[union-attr]
        wrong = await client.call_tool("ask", {"question": SECOND, "previous": "unknown"})
        assert wrong.is_error
        assert "no answer 'unknown'" in wrong.content[0].text  # type: ignore[union-attr]
