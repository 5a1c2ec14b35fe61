"""Conversations: kept by whichever door they came in, named, found again, exported."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import httpx2
import openai
import pytest
from tests.server.stage import Live, ask, engine, finished, running, stream

from wellread.server.history import Record

pytestmark = pytest.mark.slow

SATURN = "How many moons has Saturn?"


def conversation(client: httpx2.Client) -> tuple[str, str]:
    """Two questions, the second a follow-up."""
    first = ask(client, SATURN)
    finished(client, first)
    second = ask(client, "And who found Titan?", parent=first)
    finished(client, second)
    return first, second


def test_the_history_shows_conversations_with_what_became_of_them(folder: Path) -> None:
    with running(engine(), folder) as live, live.client() as client:
        first, second = conversation(client)
        finished(client, ask(client, "Something else?"))
        page = client.get("/history").text
        assert page.count('<li class="conversation">') == 1
        assert "2 questions" in page
        assert page.index("Something else?") < page.index(f"/r/{second}")  # the latest first
        inside = page.partition('<ol class="inside">')[2].partition("</ol>")[0]
        assert inside.index(f"/r/{first}") < inside.index(f"/r/{second}")
        assert re.search(r"\d+ \w+ \d{4}, \d\d:\d\d", inside)
        found = client.get("/history", params={"q": "titan"}).text
        assert "2 questions" in found  # one of them fits: the conversation is shown whole
        assert "Something else?" not in found


def test_a_conversation_has_a_name_until_it_is_forgotten(folder: Path) -> None:
    with running(engine(), folder) as live, live.client(follow_redirects=True) as client:
        first, second = conversation(client)
        page = client.post(f"/r/{second}/name", data={"name": "  Moons & <others> "}).text
        assert '<h1 class="thread-name">Moons &amp; &lt;others&gt;</h1>' in page
        assert "Moons &amp; &lt;others&gt;" in client.get("/history").text
        for run in (first, second):
            client.delete(f"/api/runs/{run}", params={"forget": True})
        assert live.service.history.database.reader is not None  # the name is gone with the last run
        count = live.service.history.database.reader.execute("SELECT COUNT(*) FROM names").fetchone()
        assert count == (0,)


def test_a_conversation_as_markdown_and_json(client: httpx2.Client) -> None:
    first, second = conversation(client)
    reply = client.get(f"/r/{first}/export.md")
    assert reply.headers["content-type"].startswith("text/markdown")
    assert reply.headers["content-disposition"] == 'attachment; filename="how-many-moons-has-saturn.md"'
    text = reply.text
    assert text.startswith(f"# {SATURN}\n\n## {SATURN}\n\n*")
    assert text.index(SATURN) < text.index("## And who found Titan?")
    assert "- [1] [Saturn](<https://planets.example/saturn>): “Saturn has 146 moons.”" in text
    body = client.get(f"/r/{second}/export.json").json()
    assert [run["id"] for run in body["runs"]] == [first, second]
    assert body["runs"][0]["answer"]["citations"][0]["quote"] == "Saturn has 146 moons."
    assert client.get("/r/AAAAAAAAAAAA/export.md").status_code == 404


def test_a_question_cannot_make_headings_or_links_in_the_markdown(client: httpx2.Client) -> None:
    run = ask(client, "Is [this](http://evil.example) `code` <b>bold</b>?")
    finished(client, run)
    assert "[this](" not in client.get(f"/r/{run}/export.md").text


def doors(live: Live, client: httpx2.Client) -> None:
    stream(client, "POST", "/api/ask", json={"question": SATURN})
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="x", max_retries=0) as other:
        other.chat.completions.create(model="wellread", messages=[{"role": "user", "content": SATURN}])
        other.chat.completions.create(model="wellread", messages=[{"role": "user", "content": SATURN}], store=False)


def test_runs_by_other_doors_are_kept_and_marked(folder: Path) -> None:
    with running(engine(), folder) as live, live.client() as client:
        doors(live, client)
        runs = client.get("/api/runs").json()["runs"]
        assert [run["via"] for run in runs] == ["openai", "api"]
        assert all(run["state"] == "done" for run in runs)
        assert "by the OpenAI-compatible API" in client.get("/history").text
        page = client.get(f"/r/{runs[0]['id']}").text  # with its sources and its way, as any other
        assert "Saturn has 146 moons." in page
        assert 'id="source-1"' in page


def test_the_operator_can_leave_them_out(folder: Path) -> None:
    with running(engine(), folder, keep_api=False) as live, live.client() as client:
        doors(live, client)
        assert client.get("/api/runs").json() == {"runs": []}


def test_a_conversation_that_is_removed_while_it_is_exported_is_no_fault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(engine(), folder) as live, live.client() as client:
        run = ask(client, SATURN)
        finished(client, run)
        history = live.service.history
        thread = history.thread

        async def late(name: str) -> AsyncGenerator[Record]:
            await history.delete(run)  # by somebody else, after the run was found
            async for one in thread(name):
                yield one

        monkeypatch.setattr(history, "thread", late)
        assert SATURN in client.get(f"/r/{run}/export.md").text
        assert client.get(f"/r/{run}/export.md").status_code == 404


def test_a_run_that_ends_while_its_page_is_made_is_shown_as_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(engine(), folder) as live, live.client() as client:
        run = ask(client, SATURN)
        finished(client, run)
        get, seen = live.service.history.get, list[str]()

        async def first_too_early(name: str) -> Record | None:
            found = await get(name)
            seen.append(name)
            return replace(found, state="running", answer=None) if found and len(seen) == 1 else found

        monkeypatch.setattr(live.service.history, "get", first_too_early)
        page = client.get(f"/r/{run}").text
        assert 'data-state="done"' in page
        assert "146 moons" in page
