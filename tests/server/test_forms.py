"""Forms in parts: read where documents are sent and nowhere else, within bounds, and without leaving anything on the disk."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from tests.server.stage import TOKEN, Live, quoting, running
from tests.server.test_collections import FERRY, make, sent

from wellread.server.collections import Collections
from wellread.server.options import ServerOptions

pytestmark = pytest.mark.slow

# A reader that believes this charset takes 25 s for a form of the largest size.
SLOW = {"Content-Type": "Multipart/Form-Data; boundary=b; charset=punycode"}
PARTS = {"Content-Type": "multipart/form-data; boundary=b"}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with running(quoting(), tmp_path_factory.mktemp("forms")) as server:
        yield server


@pytest.fixture
def client(live: Live) -> Iterator[httpx2.Client]:
    with live.client() as one:
        yield one


def field(name: str, value: bytes) -> bytes:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n"


def test_a_stranger_cannot_choose_how_the_login_is_decoded(tmp_path: Path) -> None:
    with running(quoting(), tmp_path, token=TOKEN) as server, server.client() as stranger:
        begun = time.monotonic()
        reply = stranger.post("/login", content=field("token", b"-" + b"9" * 200_000) + b"--b--\r\n", headers=SLOW)
        assert reply.status_code == 415
        assert time.monotonic() - begun < 5
        assert stranger.post("/login", data={"token": TOKEN}).status_code == 303


@pytest.mark.parametrize("path", ["/settings", "/settings/check", "/collections/ferries/remove", "/collections/ferries/stop"])
def test_files_are_taken_where_documents_are_sent_and_nowhere_else(live: Live, client: httpx2.Client, path: str) -> None:
    if live.service.collections.get("ferries") is None:
        make(client, "Ferries", sent(ferry__txt=FERRY))
    assert client.post(path, files=sent(a__txt="x" * 400_000)).status_code == 415
    assert live.service.collections.get("ferries") is not None


@pytest.mark.parametrize("boundary", ["b" * 300, "é", '"', "\\"])
def test_a_boundary_that_cannot_be_one_is_refused(client: httpx2.Client, boundary: str) -> None:
    kind = f"multipart/form-data; boundary={boundary}".encode("latin-1")
    assert client.post("/collections", content=b"--b--\r\n", headers={b"Content-Type": kind}).status_code == 400


NAMELESS = b'--b\r\nContent-Disposition: form-data; name="f"; filename=""\r\n\r\n\r\n'


@pytest.mark.parametrize("part", [field("a", b""), NAMELESS, b"--b\r\nX: y\r\n\r\n\r\n"])
def test_parts_without_end_are_not_read_to_their_end(client: httpx2.Client, part: bytes) -> None:
    reply = client.post("/collections", content=part * 4_000 + b"--b--\r\n", headers=PARTS)
    assert reply.status_code == 400
    assert "far too many parts" in reply.text


def test_others_that_are_put_away_meanwhile_are_no_fault(tmp_path: Path) -> None:
    shelf = Collections(tmp_path, ServerOptions())
    folder, until = shelf.incoming(), time.monotonic() + 1.5

    def come_and_go(number: int) -> None:
        while time.monotonic() < until:
            (folder / f"{number}").touch()
            (folder / f"{number}").unlink()

    others = [threading.Thread(target=come_and_go, args=(number,)) for number in range(3)]
    for one in others:
        one.start()
    while time.monotonic() < until:
        shelf.incoming()
    for one in others:
        one.join()


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What a full disk does to a file that grows."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_takes_no_more_is_told_and_nothing_is_left(live: Live, client: httpx2.Client) -> None:
    with files_of_at_most(8_000_000):
        reply = client.post("/collections", data={"name": "Heavy"}, files=sent(heavy__txt=FERRY * 110_000))
    assert reply.status_code == 503
    assert "cannot be kept" in reply.text
    assert live.service.collections.get("heavy") is None
    assert os.listdir(live.service.collections.root / "incoming") == []
