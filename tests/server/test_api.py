"""The HTTP API: attached and detached runs, search, menu, numbers."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from tests.server.stage import Live, ask, engine, events_of, finished, running, stream

from wellread.answer_json import AnswerJson
from wellread.core.codec import decode, encode
from wellread.server.viewer import linked

pytestmark = pytest.mark.slow

QUESTION = "How many moons has Saturn?"


def test_an_attached_question_is_the_engines_event_stream(client: httpx2.Client) -> None:
    log = stream(client, "POST", "/api/ask", json={"question": QUESTION})
    names = [event["event"] for event in log]
    assert names[0] == "started"
    assert names[-1] == "answered"
    assert "searched" in names
    assert "answer_delta" in names
    answer = log[-1]["answer"]
    assert "".join(event["text"] for event in log if event["event"] == "answer_delta") == answer["answer"]
    assert [one["supported"] for one in answer["sentences"]] == [True, False]
    assert answer["citations"][0]["quote"] == "Saturn has 146 moons."


def test_an_answer_is_json_unless_events_are_asked_for(client: httpx2.Client) -> None:
    whole = client.post("/api/ask", json={"question": QUESTION})
    assert whole.headers["content-type"] == "application/json"
    told = stream(client, "POST", "/api/ask", json={"question": QUESTION})[-1]["answer"]
    assert [whole.json()[name] for name in ("answer", "outcome", "sentences")] == [
        told["answer"],
        told["outcome"],
        told["sentences"],
    ]
    assert whole.json()["citations"][0]["link"]


def test_without_a_model_the_library_is_quoted(library: Live) -> None:
    with library.client() as client:
        answer = stream(client, "POST", "/api/ask", json={"question": "Who discovered Titan?"})[-1]["answer"]
        assert (answer["strategy"], answer["outcome"]) == ("quote", "answered")
        assert "Huygens" in answer["answer"]
        menu = client.get("/api/menu").json()
        assert menu["models"] == []
        assert menu["strategies"][0]["name"] == "quote"
        assert not next(one for one in menu["strategies"] if one["name"] == "iterative")["usable"]
        refused = client.post("/api/ask", json={"question": QUESTION, "strategy": "iterative"})
        assert refused.status_code == 400
        assert "language model" in refused.json()["error"]


def test_a_detached_run_goes_on_and_can_be_read_from_any_offset(client: httpx2.Client) -> None:
    run = ask(client)
    whole = stream(client, "GET", f"/api/runs/{run}/events")
    assert whole[0]["event"] == "started"
    assert [event["event"] for event in whole[-2:]] == ["answered", "ended"]
    assert whole[-1]["state"] == "done"
    for offset in (0, 3, len(whole) - 1):
        assert stream(client, "GET", f"/api/runs/{run}/events?offset={offset}") == whole[offset:]
    assert stream(client, "GET", f"/api/runs/{run}/events", headers={"Last-Event-ID": "2"}) == whole[3:]
    assert stream(client, "GET", f"/api/runs/{run}/events?offset={len(whole)}") == []
    kept = client.get(f"/api/runs/{run}").json()
    assert kept["state"] == "done"
    assert kept["answer"] == encode(linked(decode(AnswerJson, whole[-2]["answer"]), str(client.base_url)))
    assert 'data-number="1"' in kept["html"]
    cited = client.get(f"/api/runs/{run}/references")
    assert cited.text.startswith("@")
    assert cited.headers["content-disposition"].endswith('.bib"')
    assert client.get(f"/api/runs/{run}/references?format=ris&conversation=true").text.startswith("TY  - ")
    assert "[^1]: " in client.get(f"/api/runs/{run}/references?format=footnotes").text
    assert f"/api/runs/{run}/references?format=bibtex" in client.get(f"/r/{run}").text


def test_a_reader_that_comes_while_it_runs_misses_nothing(folder: Path) -> None:
    with running(engine(delay=0.02), folder) as live, live.client() as client:
        run = ask(client)
        with client.stream("GET", f"/api/runs/{run}/events") as first:
            early = next(first.iter_text())
        late = stream(client, "GET", f"/api/runs/{run}/events")
        assert early.startswith("id: 0\n")
        assert [event["event"] for event in late[:1] + late[-1:]] == ["started", "ended"]
        assert stream(client, "GET", f"/api/runs/{run}/events") == late


def test_delete_stops_the_work_and_keeps_the_run(folder: Path) -> None:
    of = engine(delay=0.2)
    with running(of, folder) as live, live.client() as client:
        run = ask(client)
        with client.stream("GET", f"/api/runs/{run}/events") as reply:
            for text in reply.iter_text():
                if "answer_delta" in text:
                    break
            stopped = client.delete(f"/api/runs/{run}")
        assert stopped.json() == {"id": run, "state": "stopped"}
        assert of.kit.model().closed == 1  # type: ignore[attr-defined]
        assert not live.service.runs.live
        log = stream(client, "GET", f"/api/runs/{run}/events")
        assert log[-1] == {"event": "ended", "state": "stopped", "reason": None}
        assert client.delete(f"/api/runs/{run}").json()["state"] == "stopped"
        assert client.delete(f"/api/runs/{run}?forget=true").json()["state"] == "forgotten"
        assert client.get(f"/api/runs/{run}").status_code == 404
        assert client.get(f"/api/runs/{run}/events").status_code == 404
        assert client.delete(f"/api/runs/{run}").status_code == 404


def test_a_run_that_is_forgotten_while_it_runs_leaves_nothing(folder: Path) -> None:
    with running(engine(delay=0.1), folder) as live, live.client() as client:
        run = ask(client)
        client.delete(f"/api/runs/{run}?forget=true")
        assert client.get("/api/runs").json() == {"runs": []}
        assert client.get(f"/api/runs/{run}/events").status_code == 404


def test_history_lists_searches_and_exports(client: httpx2.Client) -> None:
    runs = [ask(client, f"item {number} of Saturn, 100% Größe?") for number in (71, 72)]
    for run in runs:
        finished(client, run)
    latest = client.get("/api/runs", params={"limit": 2}).json()["runs"]
    assert [one["id"] for one in latest] == runs[::-1]
    assert latest[0]["preview"].startswith("Number 72")
    found = client.get("/api/runs", params={"search": "number 71 GRÖSSE"}).json()["runs"]
    assert [one["id"] for one in found] == runs[:1]
    assert client.get("/api/runs", params={"search": "10%_größe"}).json()["runs"] == []
    older = client.get("/api/runs", params={"before": latest[1]["created"]}).json()["runs"]
    assert runs[0] not in [one["id"] for one in older]
    lines = [json.loads(line) for line in client.get("/api/export").text.splitlines()]
    assert [line["id"] for line in lines][-2:] == runs
    assert lines[-1]["answer"]["answer"].startswith("Number 72")


def test_a_follow_up_knows_what_was_said(folder: Path) -> None:
    of = engine()
    with running(of, folder) as live, live.client() as client:
        first = ask(client)
        finished(client, first)
        second = ask(client, "And who discovered the largest?", parent=first)
        finished(client, second)
        kept = client.get(f"/api/runs/{second}").json()
        assert (kept["parent"], kept["thread"]) == (first, first)
        said = "\n".join(message.text for prompt in of.kit.model().prompts for message in prompt.messages)  # type: ignore[attr-defined]
        assert "It likes cheese" in said
        assert client.post("/api/runs", json={"question": "x", "parent": "AAAAAAAAAAAA"}).status_code == 404


def test_search_menu_plugins_health_and_numbers(client: httpx2.Client) -> None:
    found = client.get("/api/search", params={"q": "Titan discovered", "limit": 1}).json()
    assert found["query"] == "Titan discovered"
    assert [hit["title"] for hit in found["hits"]] == ["Titan"]
    always = {"id", "title", "url", "text", "snippet", "published", "score", "source"}
    assert set(found["hits"][0]) == always | {"document", "heading", "page", "anchor", "place", "reference", "view"}
    menu = client.get("/api/menu").json()
    assert menu["models"][0]["name"] == "scripted"
    assert menu["strategies"][0]["name"] == "iterative"
    plugins = client.get("/api/plugins").json()
    assert {"quote", "library", "openai"} <= {plugin["name"] for plugin in plugins}
    assert client.get("/healthz").json() == {"status": "ok"}
    stream(client, "POST", "/api/ask", json={"question": QUESTION})
    numbers = client.get("/metrics").text
    assert 'wellread_runs_total{strategy="iterative",outcome="answered"}' in numbers
    assert "wellread_run_seconds_bucket" in numbers
    assert "wellread_runs_running 0" in numbers


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"question": "   "}, 400, "empty"),
        ({"question": ""}, 422, "question"),
        ({}, 422, "question"),
        ({"question": "x" * 4_001}, 400, "4,000"),
        ({"question": "x", "strategy": "iterativ"}, 400, "did you mean iterative"),
        ({"question": "x", "sources": ["files:/etc"]}, 400, "not offered"),
        ({"question": "x", "model": "openai:gpt@http://thief.example"}, 400, "not offered"),
        ({"question": "x", "params": {"nonsense": 1}}, 400, "no parameter"),
        ({"question": "x", "max_seconds": -1}, 422, "max_seconds"),
        ({"question": "x", "host": "x"}, 422, "host"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(client: httpx2.Client, body: object, status: int, words: str) -> None:
    for path in ("/api/ask", "/api/runs"):
        reply = client.post(path, json=body)
        assert reply.status_code == status
        assert list(reply.json()) == ["error"]
        assert words in reply.json()["error"]


def test_a_client_can_lower_limits_but_not_raise_them(folder: Path) -> None:
    with running(engine(max_searches=1, max_seconds=20.0), folder) as live, live.client() as client:
        more = {"max_searches": 50, "max_seconds": 9_999, "max_tokens": 10**6, "max_cost": 100}
        answer = stream(client, "POST", "/api/ask", json={"question": QUESTION, **more})[-1]["answer"]
        assert answer["usage"]["searches"] == 1
        none = stream(client, "POST", "/api/ask", json={"question": QUESTION, "max_searches": 0})[-1]["answer"]
        assert none["usage"]["searches"] == 0
        menu = live.service.menu
        from wellread.server.menu import AskRequest

        limits = menu.authorize(AskRequest(QUESTION, **more)).engine.settings.limits
        assert (limits.searches, limits.seconds, limits.tokens) == (1, 20.0, 10**6)
        assert menu.authorize(AskRequest(QUESTION, max_seconds=5)).engine.settings.max_seconds == 5


def test_other_models_and_sources_can_be_chosen_where_they_are_offered(folder: Path) -> None:
    from wellread.server.menu import AskRequest

    offered = {"models": ("ollama:tiny",), "sources": ("wikipedia?language=de",)}
    with running(engine(), folder, **offered) as live, live.client() as client:
        menu = live.service.menu
        assert [one["name"] for one in client.get("/api/menu").json()["models"]] == ["scripted", "ollama:tiny"]
        other = menu.authorize(AskRequest(QUESTION, model="ollama:tiny", sources=("library", "wikipedia?language=de")))
        assert (other.model, other.engine.kit.model_spec()) == ("ollama:tiny", "ollama:tiny")
        assert other.sources == ("library", "wikipedia?language=de")
        assert menu.authorize(AskRequest(QUESTION)).engine.kit.model_spec() == "scripted"
        plain = menu.authorize(AskRequest(QUESTION, model="none"))
        assert (plain.strategy, plain.model) == ("quote", None)


def test_a_run_that_fails_says_why_without_inside_views(folder: Path) -> None:
    of = engine()
    of.kit.model().script = lambda prompt: RuntimeError("key sk-secret-123 in /home/me")  # type: ignore[attr-defined]
    with running(of, folder) as live, live.client() as client:
        run = ask(client)
        log = stream(client, "GET", f"/api/runs/{run}/events")
        assert log[-1]["state"] == "failed"
        assert log[-1]["reason"] == "unexpected RuntimeError"
        assert "sk-secret" not in json.dumps(log)
        assert "sk-secret" not in client.get(f"/r/{run}").text


def test_streams_are_not_mixed_up(folder: Path) -> None:
    with running(engine(delay=0.005), folder, max_running=64, max_per_client=64) as live, live.client() as client:
        runs = {number: ask(client, f"What is item {number}?") for number in range(30)}
        for number, run in runs.items():
            log = stream(client, "GET", f"/api/runs/{run}/events")
            assert log[0]["question"] == f"What is item {number}?"
            assert log[-2]["answer"]["answer"].startswith(f"Number {number}:")


def test_events_of_reads_what_is_sent() -> None:
    assert events_of('id: 4\ndata: {"a": 1}\n\nid: 5\ndata: {"a": 2}\n\n') == [{"a": 1}, {"a": 2}]
