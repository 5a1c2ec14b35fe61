"""A sentence that its sources do not carry is marked at every door that a client may use, and at each may be had without."""

from __future__ import annotations

import asyncio
from io import StringIO
from typing import Any

import httpx2
import pytest
from mcp import Client
from rich.console import Console
from tests.server.stage import Live, ask, engine, finished

from wellread.answer_json import AnswerJson
from wellread.present import terminal

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MARKED = "It likes cheese. [1] ⚠"
LEGEND = "⚠ 2 of 2 sentences checked; 1 not carried by the cited sources"
QUESTION = "How many moons has Saturn?"


def is_marked(text: str) -> bool:
    """Whether it has the sentence with its mark, and what the marks mean; else it must have neither."""
    found = (MARKED in text, LEGEND in text, "⚠" in text)
    assert found in ((True, True, True), (False, False, False))
    assert "It likes cheese. [1]" in text
    return found[0]


@pytest.mark.parametrize("marks", [None, "text", "none"])
async def test_web_page_export_chat_completions_and_mcp(live: Live, client: httpx2.Client, marks: str | None) -> None:
    said = {"marks": marks} if marks else {}
    run = ask(client, QUESTION)
    sentences = finished(client, run)["answer"]["sentences"]
    assert [one["verdict"] for one in sentences] == ["carried", "not carried"]  # JSON has no signs in its text
    export = client.get(f"/r/{run}/export.md", params=said).text
    chat = client.post(
        "/v1/chat/completions", json={"model": "wellread", "messages": [{"role": "user", "content": QUESTION}], **said}
    )
    async with Client(f"{live.url}/mcp") as mcp:
        reply: Any = await mcp.call_tool("ask", {"question": QUESTION, **said})
    texts = [export, chat.json()["choices"][0]["message"]["content"], reply.content[0].text]
    assert [is_marked(text) for text in texts] == [marks != "none"] * 3


def test_the_page_says_what_was_checked(client: httpx2.Client) -> None:
    run = ask(client, QUESTION)
    finished(client, run)
    page = client.get(f"/r/{run}", headers={"Accept": "text/html"}).text
    assert 'class="cite mark"' in page
    assert LEGEND.removeprefix("⚠ ") in page


def test_terminal_and_print() -> None:
    async def asked() -> Any:
        async with engine() as one:
            return await one.ask(QUESTION)

    answer = asyncio.run(asked())
    console = Console(file=StringIO(), width=200)
    terminal.show(AnswerJson.of(answer), console)
    for text in (str(answer), "\n".join(terminal.lines(AnswerJson.of(answer))), console.file.getvalue()):  # type: ignore[attr-defined]
        assert is_marked(text)
    assert answer.text == "Saturn has 146 moons. [1] It likes cheese. [1]"
