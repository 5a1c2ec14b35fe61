"""Runs at once: in all, per client, waiting; and what is told to those sent away."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.stage import Live, ask, engine, finished, running, until

from wellread.server.database import Row, Values
from wellread.server.limits import Busy, Gate, Lines, Ticket
from wellread.server.web.html import Safe

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_who_wants_much_waits_for_himself() -> None:
    lines, done = Lines(), list[str]()
    drawing = asyncio.Semaphore(1)

    async def one(client: str) -> None:
        async with lines.turn(client), drawing:
            await asyncio.sleep(0)
            done.append(client)

    many = [asyncio.create_task(one("a")) for _ in range(8)]
    await asyncio.sleep(0)
    await one("b")
    assert done.count("a") <= 1
    many[-1].cancel()
    await asyncio.gather(*many, return_exceptions=True)
    assert (done.count("a"), lines) == (7, Lines())


async def test_first_come_first_served() -> None:
    gate = Gate(max_running=1, max_queued=2, max_per_client=9)
    first, second, third = (gate.admit("a") for _ in range(3))
    assert (first.waiting, second.waiting, third.waiting) == (False, True, True)
    with pytest.raises(Busy) as refused:
        gate.admit("b")
    assert refused.value.retry_after >= 1
    first.release()
    first.release()
    assert (second.waiting, third.waiting) == (False, True)
    third.release()
    second.release()
    assert (gate.running, len(gate.queue), dict(gate.clients)) == (0, 0, {})


async def test_one_client_cannot_take_all() -> None:
    gate = Gate(max_running=10, max_queued=10, max_per_client=2)
    gate.admit("a")
    gate.admit("a")
    with pytest.raises(Busy, match="of yours"):
        gate.admit("a")
    gate.admit("b")


def test_nobody_listens_without_end(tmp_path: Path) -> None:
    """Every event of a run goes to all who listen, on one loop."""
    with running(engine(delay=0.5), tmp_path) as live, live.client() as client:
        live.service.listeners.most = 3
        run = ask(client)
        with ExitStack() as stack:
            paths = [f"/api/runs/{run}/events", f"/r/{run}/live", f"/api/runs/{run}/events"]
            heard = [stack.enter_context(client.stream("GET", path)) for path in paths]
            assert [reply.status_code for reply in heard] == [200, 200, 200]
            pieces = [reply.iter_text() for reply in heard]
            assert all(next(words) for words in pieces)
            refused = [client.get(path) for path in paths[:2]]
            assert [reply.status_code for reply in refused] == [429, 429]
        until(lambda: not live.service.listeners.counts)
        client.delete(f"/api/runs/{run}")
        assert client.get(f"/r/{run}/live").status_code == 200


@given(st.lists(st.sampled_from(["admit", "release", "cancel", "wait"]), max_size=40), st.integers(1, 3), st.integers(0, 3))
def test_places_are_never_lost(steps: list[str], running_at_most: int, queued_at_most: int) -> None:
    async def go() -> None:
        gate = Gate(running_at_most, queued_at_most, 100)
        tickets: list[Ticket] = []
        waiters: list[asyncio.Task[None]] = []
        for number, step in enumerate(steps):
            if step == "admit":
                try:
                    tickets.append(gate.admit(str(number % 2)))
                except Busy:
                    assert gate.running == running_at_most
            elif tickets and step == "release":
                tickets.pop(number % len(tickets)).release()
            elif tickets and step == "wait":
                waiters.append(asyncio.create_task(tickets[number % len(tickets)].turn()))
                await asyncio.sleep(0)
            elif waiters:
                waiters.pop().cancel()
                await asyncio.sleep(0)
            assert gate.running <= running_at_most
            assert len(gate.queue) <= queued_at_most
        for ticket in tickets:
            ticket.release()
        assert (gate.running, len(gate.queue), dict(gate.clients)) == (0, 0, {})
        await asyncio.gather(*waiters, return_exceptions=True)

    asyncio.run(go())


async def test_past_the_queue_there_is_429_with_a_time(folder: Path) -> None:
    with running(engine(delay=0.05), folder, max_running=1, max_queued=1) as live, live.client() as client:
        first, second = ask(client), ask(client)
        refused = client.post("/api/runs", json={"question": "x"})
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert client.post("/api/ask", json={"question": "x"}).status_code == 429
        spoken = client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "x"}]})
        assert (spoken.status_code, spoken.json()["error"]["type"]) == (429, "rate_limit_error")
        for store in (True, False):
            spoken = client.post("/v1/responses", json={"input": "x", "store": store})
            assert (spoken.status_code, spoken.json()["error"]["type"]) == (429, "rate_limit_error")
            assert int(spoken.headers["retry-after"]) >= 1
        page = client.get(f"/r/{second}")
        assert "Waiting for a free place" in page.text
        assert finished(client, first)["state"] == "done"
        assert finished(client, second)["state"] == "done"
        assert "wellread_runs_refused_total 5" in client.get("/metrics").text


async def test_one_that_waits_can_be_stopped(folder: Path) -> None:
    with running(engine(delay=0.2), folder, max_running=1) as live, live.client() as client:
        ask(client)
        waiting = ask(client)
        assert client.delete(f"/api/runs/{waiting}").json()["state"] == "stopped"
        assert not live.service.gate.queue


def slow(live: Live, statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have statements of the history take a fifth of a second that hold these words."""
    read = live.service.history.database.read

    def slowly(sql: str, values: Values) -> list[Row]:
        time.sleep(0.2 * (statement in sql))
        return read(sql, values)

    monkeypatch.setattr(live.service.history.database, "read", slowly)


def test_who_searches_the_history_much_waits_for_himself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(engine(), tmp_path) as live, ThreadPoolExecutor(20) as others:
        slow(live, "LIKE", monkeypatch)

        def search(place: str) -> float:
            begun = time.monotonic()
            with live.client(transport=httpx2.HTTPTransport(local_address=place)) as client:
                assert client.get("/api/runs?search=x").status_code == 200
            return time.monotonic() - begun

        many = [others.submit(search, "127.0.0.1") for _ in range(19)]
        time.sleep(0.3)
        assert search("127.0.0.2") < 2.5
        assert max(one.result() for one in many) > 3


@pytest.mark.parametrize("way", ["/api/export", "/api/runs/{}/references?conversation=true", "/r/{}/export.md"])
def test_nor_does_who_takes_all_of_it_away(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(engine(), tmp_path, max_per_client=50) as live, live.client() as client, ThreadPoolExecutor(20) as others:
        run = ask(client)
        finished(client, run)
        slow(live, "(created, id)", monkeypatch)
        many = [others.submit(client.get, way.format(run)) for _ in range(19)]
        time.sleep(0.5)
        begun = time.monotonic()
        with live.client(transport=httpx2.HTTPTransport(local_address="127.0.0.2")) as other:
            assert other.get("/api/runs").status_code == 200
        assert time.monotonic() - begun < 1.5
        assert {one.result().status_code for one in many} == {200}


@pytest.mark.parametrize("way", ["/r/{}", "/api/runs/{}", "/r/{}/report.html"])
def test_nor_does_who_has_long_pages_drawn(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*_: object, **__: object) -> Safe:
        time.sleep(0.2)
        return Safe("")

    with running(engine(), tmp_path, max_per_client=50) as live, live.client() as client, ThreadPoolExecutor(20) as others:
        run = ask(client)
        finished(client, run)
        for drawn in ("server.web.pages.article", "server.api.answer_html", "present.files.answer_html"):
            monkeypatch.setattr(f"wellread.{drawn}", slowly)
        many = [others.submit(client.get, way.format(run)) for _ in range(19)]
        time.sleep(0.5)
        begun = time.monotonic()
        with live.client(transport=httpx2.HTTPTransport(local_address="127.0.0.2")) as other:
            assert other.get(f"/r/{run}").status_code == 200
        assert time.monotonic() - begun < 1.5
        assert {one.result().status_code for one in many} == {200}
