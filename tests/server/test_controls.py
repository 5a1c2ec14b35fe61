"""What a person chooses in the page: how, how thorough, where, with which model; and the same question again."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest
from tests.server.stage import ask, engine, finished, quoting, running

from wellread import plugins

pytestmark = pytest.mark.slow


def options(page: str, name: str) -> dict[str, str]:
    """Values of a picker with what they show."""
    select = re.search(rf'<select name="{name}".*?</select>', page)
    assert select is not None
    return dict(re.findall(r'<option value="([^"]*)"[^>]*>(.*?)</option>', select[0]))


def chosen(page: str, name: str) -> str:
    select = re.search(rf'<select name="{name}".*?</select>', page)
    assert select is not None
    (value,) = re.findall(r'<option value="([^"]*)"[^>]* selected', select[0])
    return value


def test_every_way_is_told_in_one_line_and_automatic_is_preset(client: httpx2.Client) -> None:
    page = client.get("/").text
    ways = options(page, "strategy")
    assert set(ways) == set(plugins.names("strategies"))
    assert next(iter(ways)) == "auto"
    assert all(": " in line and len(line) < 70 for line in ways.values())
    assert ">How thorough</span>" in page
    assert next(iter(options(page, "effort").values())).startswith("Quick")


def test_automatic_can_be_chosen_without_a_model(tmp_path: Path) -> None:
    with running(quoting(), tmp_path) as live, live.client() as client:
        page = client.get("/").text
        assert chosen(page, "strategy") == "auto"
        assert 'value="iterative" disabled' in page
        assert finished(client, ask(client, "Who wrote Hamlet?", strategy="auto"))["strategy"] == "quote"


def test_the_effort_is_the_clients_as_far_as_the_operator_lets_it(tmp_path: Path) -> None:
    with running(quoting(), tmp_path, max_effort="normal") as live, live.client() as client:
        assert list(options(client.get("/").text, "effort")) == ["low", "normal"]
        quick = finished(client, ask(client, "Who wrote Hamlet?"))["answer"]
        closely = finished(client, ask(client, "Who wrote Hamlet?", effort="normal"))["answer"]
        assert (quick["usage"]["pairs"], quick["short"]) == (0, None)  # the stage's own effort is low
        assert closely["usage"]["pairs"] > 0
        assert closely["short"] == "William Shakespeare"
        refused = client.post("/api/runs", json={"question": "x", "effort": "high"})
        assert (refused.status_code, "effort 'high' is not offered" in refused.text) == (400, True)


def test_a_question_is_asked_again_and_seen_beside_its_first_answer(tmp_path: Path) -> None:
    with running(engine(), tmp_path) as live, live.client() as client:
        first = ask(client)
        finished(client, first)
        page = client.get(f"/r/{first}").text
        assert f'<input type="hidden" name="again" value="{first}">' in page
        form = {"question": "How many moons has Saturn?", "strategy": "quote", "again": first}
        reply = client.post("/ask", data=form)  # as a browser without JavaScript sends it
        assert reply.status_code == 303
        second = reply.headers["location"].rpartition("/")[2]
        assert reply.headers["location"] == f"/compare/{first}/{second}"
        finished(client, second)
        both = client.get(reply.headers["location"]).text
        assert both.index(f'data-run="{first}"') < both.index(f'data-run="{second}"')
        assert client.get(f"/compare/{first}/AAAAAAAAAAAA").status_code == 404
