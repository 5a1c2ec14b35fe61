"""Documents with tens of thousands of passages: whoever opens one keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
from benchmarks import loop
from tests.index.test_search import make
from tests.server.desk import build
from tests.server.stage import Live, ask, finished, quoting, running

from wellread.server import serving
from wellread.server.options import ServerOptions
from wellread.types import Passage

pytestmark = pytest.mark.slow
PARTS = 12_000
STANDSTILL = 0.03  # seconds of processor time on the loop at a time; opening took 0.1 to 0.5 of them when it was done there


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    root = tmp_path_factory.mktemp("large")
    (root / "docs").mkdir()
    parts = (f"{'#' * (1 + n % 3)} Part {n}\n\nLamp {n} of the coast was lit by keeper number {n}.\n" for n in range(PARTS))
    (root / "docs" / "headings.md").write_text("\n".join(parts))
    row = "| " + " | ".join(["x"] * 500) + " |"
    (root / "docs" / "table.md").write_text("\n".join([row] * 700))
    build(root / "docs", root / "index")
    with running(quoting(sources=(f"index:{root / 'index'}",)), root) as server:
        yield server


def of(live: Live, document: str, **more: object) -> str:
    return "/document?" + urlencode({"source": live.service.menu.default_source, "document": document, **more})


def opened(live: Live, *paths: str) -> list[httpx2.Response]:
    """The pages, and not a moment in which the loop stood still."""
    took: list[tuple[float, str]] = []
    with live.client() as client:
        finished(client, ask(client, "Which lamp?"))  # a server answers while it still loads what it needs
        for path in ("/search", "/document"):  # and makes its routes at the first request to each
            client.get(path)
        gc.disable()  # what the tests have left would be looked through; a server's own garbage has tests of its own
        try:
            with loop.watched(lambda seconds, where: took.append((seconds, where))):
                replies = [client.get(path) for path in paths]
        finally:
            gc.enable()
    assert max(took)[0] < STANDSTILL, max(took)
    return replies


def test_the_loop_goes_on_while_large_documents_are_opened(live: Live) -> None:
    plain, table, nowhere = opened(
        live, of(live, "headings.md"), of(live, "table.md"), of(live, "headings.md", passage="no such passage")
    )
    assert plain.status_code == table.status_code == nowhere.status_code == 200
    assert "keeper number 1." in plain.text
    assert "<td>x</td>" in table.text
    assert f"of {PARTS:,}" in plain.text


def test_the_loop_goes_on_while_passages_of_strangers_are_listed(tmp_path: Path) -> None:
    said = "The wick was trimmed at dusk. Its oil was weighed. " * 1_900
    asyncio.run(make(tmp_path / "index", [Passage(f"w{n}#0", said, f"Wick {n}", document=f"w{n}") for n in range(10)]))
    with running(quoting(sources=(f"index:{tmp_path / 'index'}?meaning=false",)), tmp_path) as server:
        (found,) = opened(server, "/search?q=wick+trimmed+dusk")
    assert "Wick 9" in found.text


def test_words_are_found_far_inside(live: Live) -> None:
    words = f"keeper number {PARTS - 3}"
    found, missing = opened(live, of(live, "headings.md", words=words), of(live, "headings.md", words='none "such" \\ words'))
    assert f'<mark id="words">{words}</mark>' in found.text
    assert missing.status_code == 200
    assert "has changed since" in missing.text


def test_a_passage_is_opened_by_its_id(live: Live) -> None:
    (reply,) = opened(live, of(live, "headings.md", passage=f"headings.md#{PARTS - 1}"))
    assert f"keeper number {PARTS - 1}." in reply.text
    assert "keeper number 1." not in reply.text


def test_a_citation_opens_its_document(live: Live) -> None:
    with live.client() as client:
        run = ask(client, f"Which lamp was lit by keeper number {PARTS // 2}?")
        assert finished(client, run)["answer"]["citations"]
    (reply,) = opened(live, f"/r/{run}/source/1")
    assert "<mark" in reply.text


def test_small_answers_are_not_held_back() -> None:
    """asyncio turns Nagle's delay (40 ms for each answer on a kept connection) off where it knows a socket for TCP."""
    listening = serving.listen(ServerOptions(port=0))
    try:
        ends: list[socket.socket] = []
        caller = threading.Thread(target=lambda: ends.append(socket.create_connection(listening.getsockname())))
        caller.start()
        accepted, _ = listening.accept()
        caller.join()
        with accepted, ends[0]:
            assert asyncio.run(_undelayed(accepted))
    finally:
        listening.close()


async def _undelayed(accepted: socket.socket) -> bool:
    transport, _ = await asyncio.get_running_loop().connect_accepted_socket(asyncio.Protocol, accepted)
    try:
        return bool(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
    finally:
        transport.close()
