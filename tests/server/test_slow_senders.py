"""Those who send documents a byte at a time keep nobody else from sending."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.server.stage import Live, quoting, running, until

from wellread.server import intake
from wellread.server.intake import Form, Room

pytestmark = pytest.mark.slow

BODY = b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nSlow\r\n--b\r\n'
BODY += b'Content-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n' + b"A slow ferry. " * 20
END = b"\r\n--b--\r\n"
PLACES, OF_ONE = 16, 8


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.setattr(intake, "GRACE", 0.5)
    with running(quoting(), tmp_path, proxy=True, collections=True) as server:
        yield server


class Slow:
    """A client whose document comes a byte at a time, until it is told to hurry."""

    def __init__(self, live: Live, address: str) -> None:
        parts = urlsplit(live.url)
        self.wire = socket.create_connection((parts.hostname, parts.port), timeout=20)
        head = f"POST /collections HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: {address}\r\n"
        kind = f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(BODY + END)}\r\n\r\n"
        self.wire.sendall(head.encode() + kind.encode() + BODY[:80])
        self.sent = 80
        self.over = threading.Event()
        self.drip = threading.Thread(target=self._drip)
        self.drip.start()

    def _drip(self) -> None:
        with suppress(OSError):  # it was given up
            while not self.over.wait(0.2):
                self.wire.sendall(BODY[self.sent : self.sent + 1])
                self.sent += 1

    def close(self) -> None:
        self.over.set()
        self.drip.join()
        self.wire.close()


def send(live: Live, name: str, address: str) -> int:
    with live.client(headers={"X-Forwarded-For": address}) as client:
        files = {"documents": ("a.txt", b"The ferry ran on Tuesdays.", "text/plain")}
        return client.post("/collections", data={"name": name}, files=files).status_code


def test_slow_ones_give_way_to_whoever_waits(live: Live) -> None:
    with ExitStack() as stack:
        for number in range(PLACES):
            stack.callback(Slow(live, f"192.0.2.{number // OF_ONE}").close)
        until(lambda: live.service.sending.running == PLACES)
        assert send(live, "Quick", "198.51.100.1") == 303


def test_slow_ones_of_one_address_give_way_to_another_of_it(live: Live) -> None:
    with ExitStack() as stack:
        for _ in range(OF_ONE):
            stack.callback(Slow(live, "192.0.2.1").close)
        until(lambda: live.service.sending.running == OF_ONE)
        assert send(live, "Elsewhere", "192.0.2.2") == 303, "one address never holds all places"
        assert send(live, "First", "192.0.2.1") == 429
        until(lambda: send(live, "Again", "192.0.2.1") == 303, 10)


def test_a_slow_one_has_all_the_time_while_nobody_waits(live: Live) -> None:
    slow = Slow(live, "192.0.2.1")
    time.sleep(1.5)
    slow.over.set()
    slow.drip.join()
    slow.wire.sendall(BODY[slow.sent :] + END)
    assert slow.wire.recv(100).startswith(b"HTTP/1.1 303")
    slow.close()


def test_those_who_send_at_once_share_the_room(tmp_path: Path) -> None:
    room = Room(10, 1_000, 1_000, [])
    forms = [Form(room, tmp_path) for _ in range(3)]
    room.others.extend(forms)
    for form in forms:
        form.taken = 400
    assert room.full
    room.others.remove(forms[0])
    assert not room.full


def test_bytes_of_a_refused_document_make_room_for_the_next(tmp_path: Path) -> None:
    with running(quoting(), tmp_path, max_document=2_000, max_stored=3_000) as live, live.client() as client:
        files = [("documents", (f"{name}.txt", b"x" * size, "text/plain")) for name, size in (("a", 2_500), ("b", 1_900))]
        reply: httpx2.Response = client.post("/api/collections", data={"name": "Room"}, files=files)
        assert reply.status_code == 201, reply.text
        assert [one["name"] for one in reply.json()["refused"]] == ["a.txt"]
