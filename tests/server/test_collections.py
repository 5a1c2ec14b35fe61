"""Documents that are sent to the server: into a collection, read at once, asked, refreshed, removed."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import re
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.reading.test_pdf import pdf, prose
from tests.server.stage import TOKEN, Live, ask, finished, quoting, running, until

from wellread.core.safe_files import files_inside
from wellread.errors import UsageError
from wellread.index import manifest
from wellread.index.build import update
from wellread.index.vectors import embed
from wellread.server import collections_api
from wellread.server.collections import Collection, Collections
from wellread.server.intake import Sent, amount, file_path, numbered
from wellread.server.options import ServerOptions
from wellread.server.web import collecting as pages

pytestmark = pytest.mark.slow

FERRY = "The ferry to Skerry ran on Tuesdays only. It carried twelve passengers and a goat."
LIGHT = "# The light\n\nThe lamp of Skerry was lit by Ada Moffat in 1822.\n"
Files = list[tuple[str, tuple[str, bytes, str]]]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with running(quoting(), tmp_path_factory.mktemp("shelf")) as server:
        yield server


@pytest.fixture
def reader(shelf: Live) -> Iterator[httpx2.Client]:
    with shelf.client() as one:
        yield one


def many(count: int) -> bytes:
    """A form of so many files with nothing in them."""
    return b'--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n\r\n' * count + b"--b--\r\n"


def sent(**named: str | bytes) -> Files:
    """Files of a form; `__` stands for the dot in a name."""
    return documents(*((name.replace("__", "."), body) for name, body in named.items()))


def documents(*pairs: tuple[str, str | bytes]) -> Files:
    return [("documents", (name, body if isinstance(body, bytes) else body.encode(), "text/plain")) for name, body in pairs]


def make(client: httpx2.Client, name: str, files: Files, status: int = 303) -> str:
    """A new collection; where it is."""
    reply = client.post("/collections", data={"name": name}, files=files)
    assert reply.status_code == status, reply.text
    return reply.headers.get("location", reply.text)


def settled(client: httpx2.Client, path: str) -> str:
    """The page of a collection once everything in it has been read."""
    until(lambda: "data-working" not in client.get(path).text, 30)
    return client.get(path).text


def stored(live: Live, path: str) -> list[str]:
    root = live.service.collections.root / path.rpartition("/")[2] / "documents"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_documents_are_sent_read_and_asked(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Skerry papers", sent(ferry__txt=FERRY, light__md=LIGHT))
    assert path == "/collections/skerry-papers"
    page = settled(reader, path)
    assert "2 documents" in page
    assert page.count("1 passage<") == 2
    assert "Skerry papers" in [one["name"] for one in reader.get("/api/menu").json()["sources"]]
    run = finished(reader, ask(reader, "Who lit the lamp of Skerry?", sources=["Skerry papers"]))
    assert run["answer"]["outcome"] == "answered"
    assert "Ada Moffat" in run["answer"]["answer"]
    assert run["sources"] == ["Skerry papers"]
    (hit,) = [one for one in reader.get("/api/search", params={"q": "goat", "source": "Skerry papers"}).json()["hits"][:1]]
    assert (hit["document"], hit["source"]) == ("ferry.txt", "Skerry papers")
    assert "twelve passengers" in reader.get(hit["view"]).text


def test_words_are_found_before_vectors_are_made(shelf: Live, reader: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made = threading.Event()

    async def waiting(*arguments: Any, **options: Any) -> Any:
        await asyncio.to_thread(made.wait, 20)
        return await embed(*arguments, **options)

    monkeypatch.setattr("wellread.server.collections.embed", waiting)
    path = make(reader, "Early words", sent(ferry__txt=FERRY))
    until(lambda: "Early words" in shelf.service.menu.sources, 30)
    assert "data-working" in reader.get(path).text
    hits = reader.get("/api/search", params={"q": "goat Tuesdays", "source": "Early words"}).json()["hits"]
    assert hits[0]["document"] == "ferry.txt"
    made.set()
    settled(reader, path)


def test_progress_is_the_builds_own(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Many", documents(*((f"{n}.txt", f"Island {n} has {n + 2} wells. {FERRY}") for n in range(40))))
    seen: list[tuple[str, int, int]] = []
    while "data-working" in (page := reader.get(path).text):
        seen += [(what, int(done), int(most)) for done, most, what in re.findall(
            r'<progress value="(\d+)" max="(\d+)" aria-label="([^"]+)"></progress>', page)]  # fmt: skip
    reading = [(done, most) for what, done, most in seen if what == "Reading documents"]
    assert all(0 <= done < most == 40 for done, most in reading)
    assert [done for done, _ in reading] == sorted(done for done, _ in reading)
    assert "40 documents" in reader.get(path).text
    content = shelf.service.collections.root / "many" / "index"
    assert manifest.load(content).finished


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("../../escape.txt", "escape.txt"),
        ("..\\..\\windows.txt", "windows.txt"),
        ("/etc/passwd.txt", "etc/passwd.txt"),
        ("a/../b/./c.txt", "a/b/c.txt"),
        ("nul\0byte.txt", "nulbyte.txt"),
        (".hidden.txt", "hidden.txt"),
        ("ä" * 300 + ".txt", "ä" * 98 + ".txt"),
        ("a rocket 🚀.md", "a rocket 🚀.md"),
        ("line\nbreak \x1b[31mred\x1b[0m.txt", "line break [31mred[0m.txt"),
        ("left\u202etxt.exe.txt", "lefttxt.exe.txt"),
        ("quote\" & <b>'.txt", "quote\" & <b>'.txt"),
        ("  .. .txt", "txt"),
    ],
)
def test_hostile_names_are_made_safe(said: str, kept: str) -> None:
    name = file_path(said)
    assert name == kept
    assert len(name.encode()) <= 200
    assert not {"", ".", ".."}.intersection(name.split("/"))


def raw(name: bytes, body: bytes = FERRY.encode()) -> tuple[bytes, dict[str, str]]:
    """A form as no well-behaved client would write it."""
    head = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nRaw\r\n'
    part = b'--x\r\nContent-Disposition: form-data; name="documents"; filename="' + name + b'"\r\n\r\n' + body + b"\r\n--x--\r\n"
    return head + part, {"Content-Type": "multipart/form-data; boundary=x"}


@pytest.mark.parametrize(
    "name", [b"../../../raw.txt", b"..%2f..%2fraw.txt", "😀".encode() * 100 + b".txt", b"\xff\xfe.txt", b"a\0b.txt"]
)
def test_nothing_is_written_outside(name: bytes, tmp_path: Path) -> None:
    with running(quoting(), tmp_path / "data") as live, live.client() as client:
        body, headers = raw(name)
        reply = client.post("/collections", content=body, headers=headers)
        assert reply.status_code == 303
        page = settled(client, reply.headers["location"])
        assert "1 document<" in page
        (kept,) = stored(live, reply.headers["location"])
        assert kept.endswith(".txt")
    found = {path.relative_to(tmp_path / "data").parts[0] for path in (tmp_path / "data").rglob("*.txt")}
    assert found == {"collections"}
    assert not list(tmp_path.glob("*.txt"))


def test_only_the_owner_may_read_what_was_sent(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with running(quoting(), tmp_path / "data") as live, live.client() as client:
            settled(client, make(client, "Mine", sent(ferry__txt=FERRY)))
            root = live.service.collections.root
            assert stat.S_IMODE(root.stat().st_mode) == 0o700
            assert stat.S_IMODE((root / "mine" / "documents" / "ferry.txt").stat().st_mode) == 0o600
    finally:
        os.umask(old)


def test_what_cannot_be_read_is_told_and_the_rest_is_in(shelf: Live, reader: httpx2.Client) -> None:
    files = documents(("good.txt", FERRY), ("empty.txt", ""), ("program.exe", "MZ"), ("broken.pdf", b"%PDF-1.7 and no more"))
    page = make(reader, "Mixed", files, 200)
    assert "empty.txt: is empty" in page
    assert "program.exe: documents of this kind cannot be read" in page
    assert stored(shelf, "/collections/mixed") == ["broken.pdf", "good.txt"]
    page = settled(reader, "/collections/mixed")
    assert "1 passage<" in page
    assert re.search(r"broken\.pdf.*?class=\"badge\"", page, re.DOTALL)


def test_a_collection_of_nothing_readable_is_not_made(shelf: Live, reader: httpx2.Client) -> None:
    page = make(reader, "Nothing", sent(empty__txt=""), 400)
    assert "empty.txt: is empty" in page
    assert not shelf.service.collections.get("nothing")
    assert reader.post("/collections", data={"name": "None"}, files=[("documents", ("", b"", "text/plain"))]).status_code == 400


def test_only_broken_documents_say_so_and_are_not_searched(shelf: Live, reader: httpx2.Client) -> None:
    page = settled(reader, make(reader, "Broken", documents(("a.pdf", b"%PDF-1.7 and no more"))))
    assert 'class="badge"' in page
    assert "Ask it" not in page
    assert "Broken" not in shelf.service.menu.sources


def test_limits_hold(tmp_path: Path) -> None:
    limits: dict[str, Any] = {
        "max_document": 1000,
        "max_documents": 3,
        "max_stored": 2500,
        "max_collections": 2,
        "max_upload": 100_000,
    }
    with running(quoting(), tmp_path, **limits) as live, live.client() as client:
        page = make(client, "One", documents(("large.txt", "x" * 1001), ("small.txt", "y" * 1000)), 200)
        assert "large.txt: is too large: at most 1,000 bytes" in page
        assert stored(live, "/collections/one") == ["small.txt"]
        reply = client.post("/collections/one/documents", files=documents(*((f"{n}.txt", f"{n}" * 100) for n in range(4))))
        assert "3.txt: too many at once" in reply.text
        assert "2.txt: a collection holds 3 documents at most" in reply.text
        endless = client.post(
            "/collections/one/documents", content=many(1100), headers={"content-type": "multipart/form-data; boundary=b"}
        )
        assert endless.status_code == 400
        assert "far too many parts" in endless.text
        page = make(client, "Two", documents(("a.txt", "a" * 1000), ("b.txt", "b" * 900)), 200)
        assert "b.txt: there is no room left" in page
        assert "which is the most" in make(client, "Three", sent(c__txt=FERRY), 400)
        declared = client.post("/collections/one/documents", files=sent(huge__txt="h" * 100_000))
        assert declared.status_code == 413
        assert live.service.collections.stored() == 2200
        assert not list((live.service.collections.root / "incoming").iterdir())


def test_what_there_is_is_counted_once_for_all_that_comes_together(
    shelf: Live, reader: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each of two thousand it took minutes of everybody's time."""
    walks: list[Path] = []

    def counted(folder: Path, follow_links: bool = False) -> Iterator[Path]:
        walks.append(folder)
        return files_inside(folder, follow_links)

    monkeypatch.setattr("wellread.server.collections.files_inside", counted)
    collections = len(shelf.service.collections.everything()) + 1
    path = make(reader, "Crowd", documents(*((f"{n}.txt", f"Jar {n}.") for n in range(150))))
    assert len(walks) < 10 * collections
    assert len(stored(shelf, path)) == 150
    settled(reader, path)


def test_who_is_removed_stays_removed_whatever_comes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()
    remove = Collections.remove

    async def late(*arguments: Any, **options: Any) -> Any:
        await asyncio.to_thread(over.wait, 20)
        return await update(*arguments, **options)

    def slowly(self: Collections, one: Collection) -> None:
        begun.set()
        go_on.wait(20)
        remove(self, one)

    monkeypatch.setattr(Collections, "remove", slowly)
    monkeypatch.setattr("wellread.server.collections.update", late)
    with running(quoting(), tmp_path) as live, live.client() as client, ThreadPoolExecutor(2) as others:
        path = make(client, "Passing", sent(ferry__txt=FERRY))
        removing = [others.submit(client.post, f"{path}/remove") for _ in range(2)]
        assert begun.wait(20)
        client.post(f"{path}/refresh")
        client.post(f"{path}/documents", files=sent(light__md=LIGHT))
        go_on.set()
        assert [one.result().status_code for one in removing] == [303, 303]
        over.set()
        until(lambda: not any(job.running for job in live.service.indexing.jobs.values()))
        assert os.listdir(tmp_path / "collections") == ["incoming"]
        gone = Collection("passing", "Passing", tmp_path / "collections" / "passing", None, 0.0)
        live.service.collections.file(gone, [late := Sent("late.txt", tmp_path / "late", 3)])
        assert "removed meanwhile" in late.problem
        assert client.post(f"{path}/refresh").status_code == 404
        assert make(client, "Passing", sent(ferry__txt=FERRY)) == path  # under its old address
        assert "1 passage" in settled(client, path)


def test_limits_hold_for_all_processes_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a shelf of its own in the same folder."""
    make_one = Collections._make

    def slowly(self: Collections, name: str, folder: str | None) -> Collection:
        time.sleep(0.05)
        return make_one(self, name, folder)

    monkeypatch.setattr(Collections, "_make", slowly)
    limits = ServerOptions(max_collections=3)

    def create(name: str) -> str:
        try:
            return Collections(tmp_path / "shelf", limits).create(name).slug
        except UsageError:
            return ""

    with ThreadPoolExecutor(8) as processes:
        assert sorted(processes.map(create, ["Papers"] * 8)) == [""] * 7 + ["papers"]
        assert sum(map(bool, processes.map(create, [f"Papers {n}" for n in range(8)]))) == 2


def test_what_another_process_removes_does_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over = threading.Event(), threading.Event()

    async def late(*arguments: Any, **options: Any) -> Any:
        begun.set()
        await asyncio.to_thread(over.wait, 20)
        return await update(*arguments, **options)

    monkeypatch.setattr("wellread.server.collections.update", late)
    with running(quoting(), tmp_path) as live, live.client() as client:
        path = make(client, "Passing", sent(ferry__txt=FERRY))
        assert begun.wait(20)
        shelf = Collections(tmp_path / "collections", live.options)  # of the other process
        shelf.remove(shelf.everything()[0])
        over.set()
        until(lambda: not any(job.running for job in live.service.indexing.jobs.values()), 20)
        assert os.listdir(tmp_path / "collections") == ["incoming"]
        assert make(client, "Passing", sent(ferry__txt=FERRY)) == path


def test_what_is_being_removed_is_in_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of files take a while, and the last of them may be the one that says what the collection is called."""
    shelf = Collections(tmp_path, ServerOptions())
    one = shelf.create("Leaving")
    monkeypatch.setattr("wellread.server.collections.shutil.rmtree", lambda *_, **__: None)
    shelf.remove(one)
    assert shelf.everything() == []
    assert shelf.create("Leaving").slug == one.slug


def test_what_was_half_removed_goes_at_the_next_start(tmp_path: Path) -> None:
    shelf = Collections(tmp_path, ServerOptions())
    kept = shelf.create("Kept")
    for name, days in ((".gone-1234", 0), ("begun", 2), ("just-begun", 0)):
        (tmp_path / name / "documents").mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - days * 86_400,) * 2)
    shelf.incoming()
    os.utime(tmp_path / "incoming", (0, 0))
    shelf.sweep()
    assert sorted(os.listdir(tmp_path)) == ["incoming", "just-begun", kept.slug]


def test_two_send_at_once(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Busy", sent(first__txt=FERRY))
    replies: list[int] = []

    def send(number: int) -> None:
        with shelf.client() as one:
            reply = one.post(
                f"{path}/documents", files=documents((f"{number}.txt", f"Room {number} holds {number} jars. {LIGHT}"))
            )
            replies.append(reply.status_code)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert replies == [303] * 6
    page = settled(reader, path)
    assert "7 documents" in page
    assert "not read yet" not in page


def test_who_goes_away_while_sending_leaves_nothing(shelf: Live) -> None:
    body, headers = raw(b"half.txt", b"h" * 500_000)
    with socket.create_connection(("127.0.0.1", int(shelf.url.rpartition(":")[2]))) as wire:
        head = f"POST /collections HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
        wire.sendall(head.encode() + f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body[:400_000])
        incoming = shelf.service.collections.root / "incoming"
        until(lambda: incoming.exists() and any(path.stat().st_size for path in incoming.iterdir()), 10)
    until(lambda: not list(incoming.iterdir()), 10)
    assert not shelf.service.collections.get("raw")


@pytest.mark.parametrize(
    "body", [b"", b"--x", b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nA', b"no form at all" * 100, b"--x--\r\n"]
)
def test_a_form_that_is_none_is_refused(shelf: Live, reader: httpx2.Client, body: bytes) -> None:
    reply = reader.post("/collections", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert reply.status_code == 400
    assert reader.post("/collections", data={"name": "Plain"}).status_code == 400
    assert not shelf.service.collections.get("plain")


def test_a_new_version_takes_the_place_of_the_old_one(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Versions", sent(light__md=LIGHT))
    settled(reader, path)
    reader.post(f"{path}/documents", files=sent(light__md=LIGHT.replace("Ada Moffat", "Ewan Brodie")))
    page = settled(reader, path)
    assert "1 document<" in page
    hits = reader.get("/api/search", params={"q": "lamp of Skerry", "source": "Versions"}).json()["hits"]
    assert ["Ewan Brodie" in hit["text"] for hit in hits] == [True]


def test_paths_are_kept_and_the_same_content_is_not_taken_twice(shelf: Live, reader: httpx2.Client) -> None:
    make(reader, "Twins", documents(("a/notes.txt", FERRY), ("b/notes.txt", LIGHT)))
    assert stored(shelf, "/collections/twins") == ["a/notes.txt", "b/notes.txt"]
    page = reader.post("/collections/twins/documents", files=documents(("c/ferry.txt", FERRY)), follow_redirects=True).text
    assert "is there already, as a/notes.txt" in page
    assert reader.post("/collections/twins/remove", data={"document": "a/notes.txt"}).status_code == 303
    assert stored(shelf, "/collections/twins") == ["b/notes.txt"]


def test_thousands_of_one_name_cost_no_more_than_of_many(tmp_path: Path) -> None:
    shelf = Collections(tmp_path, ServerOptions())

    def seconds(name: str, of: Callable[[int], str]) -> float:
        folder, into = shelf.incoming(), shelf.create(name)
        files = [Sent(of(number), folder / str(number), 4) for number in range(1_500)]
        for number, sent in enumerate(files):
            assert sent.path is not None
            sent.path.write_text(f"{number:4}")
        begun = time.thread_time()
        shelf.file(into, files)
        took = time.thread_time() - begun
        assert len(os.listdir(into.root)) == 1_500
        return took

    assert seconds("Twins", lambda number: "a.txt") < 2.5 * seconds("Others", lambda number: f"{number}.txt")


def test_marks_without_end_in_names_cost_nothing() -> None:
    """Unicode puts marks on a letter in order, which takes quadratic time: 1,000 such names held the server for three seconds."""
    said = "a" + "\u0345" * 950 + "\u0316" * 950 + ".txt"
    begun = time.thread_time()
    files = [Sent(said) for _ in range(500)]
    assert {sent.name[-4:] for sent in files for _ in range(5)} == {".txt"}
    assert time.thread_time() - begun < 0.5


def test_lists_of_documents_are_made_beside_the_loop(shelf: Live, reader: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    for module, name in ((pages, "_collection"), (pages, "_all"), (collections_api, "_documents")):
        original: Callable[..., Any] = getattr(module, name)

        def noted(*given: Any, original: Callable[..., Any] = original) -> Any:
            made.append(threading.current_thread().name)
            return original(*given)

        monkeypatch.setattr(module, name, noted)
    path = make(reader, "Listed", sent(ferry__txt=FERRY))
    settled(reader, path)
    for address in (path, "/collections", f"/api{path}", "/api/collections"):
        assert "Listed" in reader.get(address).text
    assert {name.partition("_")[0] for name in made} == {"wellread-pages"}


def test_a_document_is_removed_after_a_question(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Removing", sent(ferry__txt=FERRY, light__md=LIGHT))
    settled(reader, path)
    assert "Remove ferry.txt from Removing?" in reader.get(f"{path}/remove?document=ferry.txt").text
    assert stored(shelf, path) == ["ferry.txt", "light.md"]
    assert reader.post(f"{path}/remove", data={"document": "../about.json"}).status_code == 404
    assert reader.post(f"{path}/remove", data={"document": "ferry.txt"}).status_code == 303
    assert "1 document<" in settled(reader, path)
    assert reader.get("/api/search", params={"q": "goat", "source": "Removing"}).json()["hits"][0]["document"] == "light.md"


def test_a_collection_is_removed_after_a_question(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Short lived", sent(ferry__txt=FERRY))
    settled(reader, path)
    page = reader.get(f"{path}/remove").text
    assert "Remove Short lived?" in page
    assert "1 document" in page
    assert reader.post(f"{path}/remove").headers["location"] == "/collections"
    assert reader.get(path).status_code == 404
    refused = reader.post("/api/runs", json={"question": "Who?", "sources": ["Short lived"]})
    assert refused.status_code == 400
    assert not [name for name in os.listdir(shelf.service.collections.root) if "short" in name or "gone" in name]
    settled(reader, make(reader, "Short lived", sent(light__md=LIGHT)))  # the name is free again, and nothing old comes back
    hits = reader.get("/api/search", params={"q": "goat lamp", "source": "Short lived"}).json()["hits"]
    assert {hit["document"] for hit in hits} == {"light.md"}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not tell which files are open")
def test_what_is_removed_is_gone_from_the_disk(tmp_path: Path) -> None:
    def held() -> list[str]:
        opened = [
            os.readlink(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{one}")
        ]
        mapped = Path("/proc/self/maps").read_text().splitlines()
        return [line for line in (*opened, *mapped) if str(tmp_path / "collections") in line]

    with running(quoting(), tmp_path) as live, live.client() as client:
        path = make(client, "Secrets", sent(ferry__txt=FERRY))
        settled(client, path)
        (hit, *_) = client.get("/api/search", params={"q": "goat", "source": "Secrets"}).json()["hits"]
        assert client.get(hit["view"]).status_code == 200
        assert held()
        client.post(f"{path}/remove")
        client.get("/")  # whatever is asked for next looks what there is
        gc.collect()
        assert held() == []


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 61, "library", "Library", "LIBRARY", "index:/etc", "a + b", "Taken", "tAKEN", "\u202e"]
)
def test_names_that_cannot_be(shelf: Live, reader: httpx2.Client, name: str) -> None:
    if not shelf.service.collections.get("taken"):
        make(reader, "Taken", sent(ferry__txt=FERRY))
    page = make(reader, name, sent(ferry__txt=FERRY), 400)
    assert 'role="alert"' in page


def test_names_in_any_script(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Протоколы 🚢", sent(ferry__txt=FERRY))
    assert path == "/collections/collection"
    settled(reader, path)
    hits = reader.get("/api/search", params={"q": "goat", "source": "Протоколы 🚢"}).json()["hits"]
    assert hits[0]["source"] == "Протоколы 🚢"
    assert "twelve passengers" in reader.get(hits[0]["view"]).text


async def never(*_: object, **__: object) -> None:
    await asyncio.sleep(3600)


def test_a_restart_in_the_middle_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = documents(*((f"{n}.txt", f"Island {n} has {n + 2} wells.") for n in range(5)))
    with monkeypatch.context() as broken:
        broken.setattr("wellread.server.collections.update", never)
        with running(quoting(), tmp_path) as live, live.client() as client:
            path = make(client, "Going on", many)
            assert "data-working" in client.get(path).text
    with running(quoting(), tmp_path) as live, live.client() as client:
        page = settled(client, path)
        assert "not read yet" not in page
        hits = client.get("/api/search", params={"q": "wells of island 3", "source": "Going on"}).json()["hits"]
        assert "3.txt" in {hit["document"] for hit in hits}


def test_what_was_stopped_stays_stopped_until_somebody_refreshes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("wellread.server.collections.update", never)
        with running(quoting(), tmp_path) as live, live.client() as client:
            path = make(client, "Stopped", sent(ferry__txt=FERRY))
            assert client.post(f"{path}/stop").status_code == 303
            assert "Reading was stopped: 0 of 1 documents" in client.get(path).text
    with running(quoting(), tmp_path) as live, live.client() as client:
        assert "Reading was stopped" in client.get(path).text
        client.post(f"{path}/refresh")
        assert "1 passage<" in settled(client, path)


def test_a_pdf_is_shown_as_it_looks(shelf: Live, reader: httpx2.Client) -> None:
    path = make(reader, "Books", documents(("book.pdf", pdf(prose(780), title="The Log"))))
    settled(reader, path)
    shown = reader.get("/document", params={"source": "Books", "document": "book.pdf"})
    assert "/document/page?" in shown.text


def test_compressed_documents_are_taken_read_and_shown(shelf: Live, reader: httpx2.Client) -> None:
    packed = documents(
        ("book.pdf.gz", gzip.compress(pdf(prose(780), title="The Log"))),
        ("FAQ.gz", gzip.compress(FERRY.encode())),
        ("all.tar.gz", gzip.compress(b"x" * 1000)),
    )
    path = "/collections/packed"
    assert "is an archive: unpack it" in make(reader, "Packed", packed, status=200)
    settled(reader, path)
    assert stored(shelf, path) == ["FAQ.gz", "book.pdf.gz"]
    assert "ran on Tuesdays only" in reader.get("/document", params={"source": "Packed", "document": "FAQ.gz"}).text
    assert "/document/page?" in reader.get("/document", params={"source": "Packed", "document": "book.pdf.gz"}).text
    drawn = reader.get("/document/page", params={"source": "Packed", "document": "book.pdf.gz", "page": 1})
    assert drawn.content.startswith(b"\x89PNG")


def test_a_name_that_is_taken_gets_a_number_before_its_whole_ending() -> None:
    assert numbered("light.html.gz", {"light.html.gz"}) == "light (2).html.gz"
    assert numbered("FAQ.gz", {"FAQ.gz", "FAQ (2).gz"}) == "FAQ (3).gz"
    assert file_path("x" * 300 + ".html.gz").endswith("x.html.gz")


@pytest.mark.parametrize(
    ("options", "open_"),
    [
        ({}, True),
        ({"token": TOKEN}, False),
        ({"token": TOKEN, "collections": True}, True),
        ({"proxy": True}, False),
        ({"allowed_hosts": ("answers.example.org",)}, False),
        ({"collections": False}, False),
    ],
)
def test_documents_are_taken_where_nobody_else_comes_or_the_operator_says_so(
    tmp_path: Path, options: dict[str, Any], open_: bool
) -> None:
    with running(quoting(), tmp_path) as live, live.client() as client:
        settled(client, make(client, "Kept", sent(ferry__txt=FERRY)))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with running(quoting(), tmp_path, **options) as live, live.client(headers=headers) as client:
        assert (client.get("/collections/kept").status_code == 200) is open_
        assert ("Kept" in live.service.menu.sources) is open_
        assert ("Add documents" in client.get("/").text) is open_
        assert ("takes no documents" in client.get("/collections").text) is not open_
        reply = client.post("/collections", data={"name": "New"}, files=sent(ferry__txt=FERRY))
        assert (reply.status_code == 303) is open_
        assert (live.service.collections.root / "new").exists() is open_
        large = client.post("/collections", data={"name": "Large"}, files=sent(ferry__txt="x" * 300_000))
        assert large.status_code == (303 if open_ else 415)


def test_a_server_for_others_takes_documents_only_when_told() -> None:
    assert not ServerOptions(host="0.0.0.0", token=TOKEN).takes_documents
    assert ServerOptions(host="0.0.0.0", token=TOKEN, collections=True).takes_documents
    assert ServerOptions(folders=("/srv",)).readable_folders == ("/srv",)
    assert ServerOptions(host="0.0.0.0", token=TOKEN, collections=True, folders=("/srv",)).readable_folders == ()


def test_other_sites_cannot_send_documents(shelf: Live, reader: httpx2.Client) -> None:
    headers = {"Origin": "https://elsewhere.example"}
    reply = reader.post("/collections", data={"name": "Forged"}, files=sent(ferry__txt=FERRY), headers=headers)
    assert reply.status_code == 403
    assert not shelf.service.collections.get("forged")


def test_a_folder_is_read_where_the_operator_allows_it(tmp_path: Path) -> None:
    papers, secret = tmp_path / "papers", tmp_path / "secret"
    (papers / "inside").mkdir(parents=True)
    (papers / "inside" / "ferry.txt").write_text(FERRY)
    secret.mkdir()
    (tmp_path / "papers2").mkdir()
    (secret / "vault.txt").write_text("The vault is vermilion.")
    (papers / "out").symlink_to(secret)
    with running(quoting(), tmp_path / "data", folders=(str(papers),)) as live, live.client() as client:

        def add(name: str, folder: Path | str) -> httpx2.Response:
            return client.post("/collections", files=[("name", (None, name)), ("folder", (None, str(folder)))])

        for number, folder in enumerate(
            [secret, papers / "out", papers / ".." / "secret", "/", f"{papers}2", "a\0b", papers / "no"]
        ):
            reply = add(f"Refused {number}", folder)
            assert reply.status_code == 400, folder
        path = add("Papers", papers / "inside").headers["location"]
        assert "1 passage<" in settled(client, path)
        (papers / "inside" / "light.md").write_text(LIGHT)
        client.post(f"{path}/refresh")
        assert "2 documents" in settled(client, path)
        (papers / "inside").rename(papers / "kept")
        (papers / "inside").symlink_to(secret)  # by somebody who may write there
        client.post(f"{path}/refresh")
        assert "0 documents" in (page := settled(client, path))
        assert "vault" not in page
        (papers / "inside").unlink()
        (papers / "kept").rename(papers / "inside")
        client.post(f"{path}/refresh")
        assert "2 documents" in settled(client, path)
        assert client.post(f"{path}/documents", files=sent(more__txt=FERRY)).status_code == 400
        assert client.post(f"{path}/remove", data={"document": "light.md"}).status_code == 404
        assert client.post(f"{path}/remove").status_code == 303
        assert sorted(os.listdir(papers / "inside")) == ["ferry.txt", "light.md"]
    with running(quoting(), tmp_path / "other") as live, live.client() as client:
        assert client.post("/collections", files=[("name", (None, "P")), ("folder", (None, str(papers)))]).status_code == 400


def test_several_sources_are_ticked_and_asked_together(shelf: Live, reader: httpx2.Client) -> None:
    settled(reader, make(reader, "Ticked", sent(light__md=LIGHT)))
    page = reader.get("/", params={"source": ["Ticked", "library"]}).text
    boxes = dict(re.findall(r'type="checkbox" name="source" value="([^"]+)"( checked)?', page))
    assert boxes["Ticked"] == boxes["library"] == " checked"
    assert boxes["wikipedia"] == ""
    form = {"question": "Who lit the lamp of Skerry?", "source": ["Ticked", "library"]}
    reply = reader.post("/ask", data=form)
    run = finished(reader, reply.headers["location"].rpartition("/")[2])
    assert run["sources"] == ["Ticked", "library"]
    assert "Ada Moffat" in run["answer"]["answer"]
    assert "Ticked + Library" in reader.get(reply.headers["location"]).text


def test_sizes_are_said_as_people_say_them() -> None:
    assert (amount(50_000_000), amount(1_000)) == ("50 MB", "1,000 bytes")
