"""The client all web sources share, against a real server on loopback."""

from __future__ import annotations

import asyncio
import gzip
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, cast

import pytest
from tests.sources.kit import TestKit
from tests.wire.loopback import Asked, Loopback, Reply

from wellread.core.private_files import cache_folder
from wellread.errors import SourceBusy, SourceError, UsageError
from wellread.net.address import address, is_loopback, mail_address, name_and_address, user_agent
from wellread.net.payload import Payload, complaint
from wellread.net.service import Http, Manners, Refused, retry_after
from wellread.sources.web import Brave
from wellread.types import Spec

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
QUICK = Manners(timeout=5, back_off=0.01, patience=2)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(lambda asked: Reply({"n": 1})).serving() as running:
        yield running


def client(manners: Manners = QUICK, keys: dict[str, str] | None = None, kit: TestKit | None = None) -> Http:
    return Http("testing", cast("Any", kit or TestKit()), manners, keys or {})


async def test_json_in_json_out(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply({"got": asked.json if asked.method == "POST" else dict(asked.params)})
    assert (await http.get(f"{server.url}/x?a=1", {"q": "ä & b"})).at("got").value == {"a": "1", "q": "ä & b"}
    assert (await http.post(f"{server.url}/x", {"q": "ä"})).text("got", "q") == "ä"
    assert server.asked[0].headers["user-agent"].startswith("wellread/")
    await http.aclose()


async def test_it_tries_again_until_the_service_is_well(server: Loopback) -> None:
    http = client()
    replies = [Reply({"message": "overloaded"}, 503), Reply({"message": "overloaded"}, 502), Reply({"n": 3})]
    server.answer = lambda asked: replies[len(server.asked) - 1]
    assert (await http.get(server.url)).number("n") == 3
    await http.aclose()


async def test_it_gives_up_after_its_attempts(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply({"message": "overloaded"}, 503)
    with pytest.raises(SourceBusy, match=r"testing: overloaded \(HTTP 503\)"):
        await http.get(server.url)
    assert len(server.asked) == 3
    await http.aclose()


async def test_it_waits_as_long_as_retry_after_says(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply({}, 429, {"Retry-After": "1"}) if len(server.asked) == 1 else Reply({"n": 2})
    assert (await http.get(server.url)).number("n") == 2
    assert server.asked[1].at - server.asked[0].at >= 0.95
    await http.aclose()


async def test_others_wait_too_when_one_was_told_to(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply({}, 429, {"Retry-After": "1"}) if len(server.asked) == 1 else Reply({})
    first = asyncio.create_task(http.get(server.url))
    assert await asyncio.to_thread(server.arrived.wait, 30)
    await asyncio.sleep(0.2)
    await asyncio.gather(first, http.get(f"{server.url}/other"))
    assert all(asked.at - server.asked[0].at >= 0.9 for asked in server.asked[1:])
    await http.aclose()


async def test_errors_that_will_not_pass_are_not_repeated(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply({"error": {"reason": "no such index"}}, 404)
    with pytest.raises(Refused, match="no such index") as caught:
        await http.get(server.url)
    assert caught.value.status == 404
    assert len(server.asked) == 1
    await http.aclose()


async def test_a_broken_connection_is_tried_again(server: Loopback) -> None:
    def answer(asked: Asked) -> Reply:
        if len(server.asked) == 1:
            raise ConnectionAbortedError  # the handler dies, the connection with it
        return Reply({"n": 2})

    server.answer = answer
    http = client()
    assert (await http.get(server.url)).number("n") == 2
    await http.aclose()


async def test_a_slow_service_is_left_after_the_timeout(server: Loopback) -> None:
    http = client(Manners(timeout=0.3, back_off=0.01))
    server.answer = lambda asked: Reply({}, delay=1.5)
    begun = time.monotonic()
    with pytest.raises(SourceError, match=r"no answer within 0.3 s"):
        await http.get(server.url)
    assert time.monotonic() - begun < 1.2
    await http.aclose()


async def test_requests_keep_their_distance(server: Loopback) -> None:
    http = client(Manners(interval=0.15))
    await asyncio.gather(*(http.get(f"{server.url}/{n}") for n in range(4)))
    times = sorted(asked.at for asked in server.asked)
    assert times[-1] - times[0] > 0.35  # three times 0.15, less what a busy machine blurs
    await http.aclose()


async def test_only_so_many_at_once(server: Loopback) -> None:
    http = client(Manners(concurrency=3))
    server.answer = lambda asked: Reply({}, delay=0.05)
    await asyncio.gather(*(http.get(f"{server.url}/{n}") for n in range(12)))
    assert server.most_at_once == 3
    await http.aclose()


@pytest.mark.parametrize("packed", [False, True])
async def test_too_much_is_cut_off(server: Loopback, packed: bool) -> None:
    body = b'"' + b"x" * 3_000_000 + b'"'
    headers = {"Content-Encoding": "gzip"} if packed else {}
    server.answer = lambda asked: Reply(gzip.compress(body) if packed else body, headers=headers)
    http = client(Manners(max_bytes=1_000_000))
    with pytest.raises(SourceError, match="more than 1,000,000 bytes"):
        await http.get(server.url)
    await http.aclose()


async def test_redirects_stay_on_the_host(server: Loopback) -> None:
    http = client(keys={"X-Key": "very-secret"})
    server.answer = lambda asked: Reply({"n": 5}) if asked.path == "/new" else Reply("", 301, {"Location": "/new"})
    assert (await http.get(f"{server.url}/old")).number("n") == 5
    server.answer = lambda asked: Reply("", 302, {"Location": "/old"})
    with pytest.raises(SourceError, match="in a circle"):
        await http.get(f"{server.url}/old")
    await http.aclose()


async def test_a_redirect_elsewhere_is_not_followed_and_gets_no_key(server: Loopback) -> None:
    with Loopback(lambda asked: Reply({"n": 1})).serving() as trap:
        for target in (trap.url, "http://169.254.169.254/latest", "file:///etc/passwd", "//evil.example/x"):
            server.answer = lambda asked, target=target: Reply("", 302, {"Location": target})
            http = client(keys={"X-Key": "very-secret"})
            with pytest.raises(SourceError, match="redirects to"):
                await http.get(server.url)
            await http.aclose()
        assert not trap.asked


async def test_cached_answers_obey_cache_control(server: Loopback, tmp_path: Path) -> None:
    kit = TestKit({"WELLREAD_CACHE_DIR": str(tmp_path)}, cache=True)
    server.answer = lambda asked: Reply(
        {"n": len(server.asked)}, headers={"Cache-Control": "max-age=60" if asked.path == "/keep" else "no-store"}
    )
    for path, expected in (("/keep", [1.0, 1.0]), ("/never", [2.0, 3.0])):
        seen: list[float | None] = []
        for _ in range(2):  # a fresh client each time: the cache is on disk
            http = client(kit=kit)
            seen.append((await http.get(f"{server.url}{path}")).number("n"))
            await http.aclose()
        assert seen == expected


async def test_a_stale_answer_is_checked_with_the_service(server: Loopback, tmp_path: Path) -> None:
    kit = TestKit({"WELLREAD_CACHE_DIR": str(tmp_path)}, cache=True)

    def answer(asked: Asked) -> Reply:
        if asked.headers.get("if-none-match") == '"v1"':
            return Reply(b"", 304, {"ETag": '"v1"'})
        return Reply({"n": 1}, headers={"ETag": '"v1"', "Cache-Control": "max-age=0"})

    server.answer = answer
    http = client(kit=kit)
    assert [(await http.get(server.url)).number("n") for _ in range(2)] == [1, 1]
    assert "if-none-match" in server.asked[1].headers
    await http.aclose()


async def test_without_cache_nothing_is_written(server: Loopback, tmp_path: Path) -> None:
    server.answer = lambda asked: Reply({"n": len(server.asked)}, headers={"Cache-Control": "max-age=60"})
    http = client(kit=TestKit({"WELLREAD_CACHE_DIR": str(tmp_path)}, cache=False))
    assert [(await http.get(server.url)).number("n") for _ in range(2)] == [1, 2]
    await http.aclose()
    assert not os.listdir(tmp_path)


async def test_keys_are_not_in_the_cache_and_do_not_share_it(server: Loopback, tmp_path: Path) -> None:
    kit = TestKit({"WELLREAD_CACHE_DIR": str(tmp_path)}, cache=True)
    server.answer = lambda asked: Reply({"who": asked.headers["x-key"][-1]}, headers={"Cache-Control": "max-age=60"})
    for secret in ("very-secret-a", "very-secret-b", "very-secret-a"):
        http = client(keys={"X-Key": secret}, kit=kit)
        assert (await http.get(server.url)).text("who") == secret[-1]
        await http.aclose()
    assert len(server.asked) == 2
    database = sqlite3.connect(tmp_path / "http" / "http.db")
    stored = b"".join(bytes(row[0]) for row in database.execute("select data from entries"))
    database.close()
    assert stored
    assert b"very-secret" not in stored


async def test_a_place_that_cannot_be_written_means_no_cache(server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    http = client(kit=TestKit({"WELLREAD_CACHE_DIR": str(tmp_path / "file" / "cache")}, cache=True))
    assert (await http.get(server.url)).number("n") == 1
    await http.aclose()


async def test_keys_never_show_in_errors(server: Loopback) -> None:
    http = client(keys={"Authorization": "Bearer very-secret"})
    server.answer = lambda asked: Reply({"message": f"bad: {asked.headers['authorization']}, very-secret"}, 400)
    with pytest.raises(SourceError) as caught:
        await http.get(server.url)
    assert "secret" not in str(caught.value)
    await http.aclose()
    http = client(keys={"Authorization": "Basic YW5uOnRvcCBzZWNyZXQh"})  # ann:top secret!
    server.answer = lambda _: Reply({"message": "not ann:top secret!, not top secret!, nor top%20secret%21"}, 401)
    with pytest.raises(SourceError) as caught:
        await http.get(server.url)
    assert "not ***, not ***, nor ***" in str(caught.value)
    await http.aclose()


async def test_messages_are_one_short_line(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply({"message": "a\x1b[31m\n" + "b" * 5000}, 400)
    with pytest.raises(SourceError) as caught:
        await http.get(server.url)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    await http.aclose()


def test_retry_after_in_all_its_forms() -> None:
    later = datetime.now(UTC) + timedelta(seconds=30)
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after": "Mon, 01 Jan 2024 00:00:00 GMT"}) == 0
    assert 25 < (retry_after({"retry-after": format_datetime(later, usegmt=True)}) or 0) < 31
    for nonsense in ("", "soon", "-5", "1e9", "Thu, 99 Foo 2023"):
        assert retry_after({"retry-after": nonsense}) is None
    assert retry_after({}) is None


def test_addresses_are_checked_and_logins_taken_out() -> None:
    found = address("http://me:pass%20word@127.0.0.1:9200/index/", "elasticsearch", "…")
    assert (found.url, found.host) == ("http://127.0.0.1:9200/index", "127.0.0.1:9200")
    assert found.keys["Authorization"].startswith("Basic ")
    for wrong in ("", "localhost:8080", "ftp://example.org", "http://", "file:///etc/passwd", "http://[::1"):
        with pytest.raises(UsageError, match="needs the address"):
            address(wrong, "searxng", "http://127.0.0.1:8080")


def test_what_is_this_machine() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST.", "a.localhost")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "10.0.0.1", "example.org", "localhost.example.org", "notlocalhost")))


def test_a_name_and_its_address_come_apart() -> None:
    assert name_and_address("a/b:c@http://127.0.0.1:1/v1") == ("a/b:c", "http://127.0.0.1:1/v1")
    assert name_and_address("a@b") == ("a@b", "")


def test_a_missing_key_says_which_variable() -> None:
    assert Brave(Spec("brave"), cast("Any", TestKit({"BRAVE_SEARCH_API_KEY": " x "}))).http.keys == {"X-Subscription-Token": "x"}
    with pytest.raises(UsageError, match="brave needs a key: set BRAVE_API_KEY"):
        Brave(Spec("brave"), cast("Any", TestKit({"BRAVE_API_KEY": " "})))


def test_the_user_agent_can_carry_a_contact() -> None:
    assert "me@example.org" in user_agent({"WELLREAD_CONTACT": "me@example.org\r\nX: y"})
    assert "\r" not in user_agent({"WELLREAD_CONTACT": "a\r\nb"})
    assert mail_address({"WELLREAD_CONTACT": "mailto:me@example.org"}) == "me@example.org"
    assert mail_address({"WELLREAD_CONTACT": "https://example.org/@me"}) is None


def test_xml_is_read_as_a_payload_and_fetches_nothing() -> None:
    said = Payload.parse_xml(b'<a><b id="1">x <i>y</i></b><b>z</b></a>')
    assert (said.text("b"), said.text("b", "@id"), [one.text() for one in said.items("b")]) == ("x y", "1", ["x y", "z"])
    bomb = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    assert Payload.parse_xml(bomb).text() == "&x;"
    for wrong in (b"", b"<a>", b"[1]", b"<a>" * 200 + b"</a>" * 200):
        with pytest.raises(ValueError, match=r"XML|deep"):
            Payload.parse_xml(wrong)


def test_complaints_of_many_services() -> None:
    assert complaint(Payload({"error": {"info": "too slow"}})) == "too slow"
    assert complaint(Payload({"detail": {"error": "no credits"}})) == "no credits"
    assert complaint(Payload({"error": {"root_cause": [{"reason": "no index"}]}})) == "no index"
    assert complaint(Payload({"ok": False, "error": "SQL interrupted"})) == "SQL interrupted"
    assert complaint(Payload({"error": {"message": "bad input", "type": "t", "code": None}})) == "bad input"  # OpenAI
    assert complaint(Payload({"error": "model not found"})) == "model not found"  # Ollama
    assert complaint(Payload({"detail": [{"loc": ["body"], "msg": "field required"}]})) == "field required"  # FastAPI
    assert complaint(Payload({"error": "Bad Request", "message": "no such field"})) == "no such field"
    assert complaint(Payload(" plain words ")) == "plain words"
    for nothing in ([1, 2], {}, None, 5, {"error": {"code": 5}}):
        assert complaint(Payload(nothing)) == ""
    deep: object = "words"
    for _ in range(10_000):
        deep = {"error": deep}
    assert complaint(Payload(deep)) == ""


async def test_proxies_are_used_but_not_for_loopback(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    server.answer = lambda asked: Reply({"host": asked.headers["host"]})
    http = client()
    assert (await http.get("http://service.example/x")).text("host") == "service.example"
    monkeypatch.setenv("no_proxy", "private.example")
    with Loopback(lambda asked: Reply({"n": 7})).serving() as direct:
        assert (await http.get(direct.url)).number("n") == 7
    await http.aclose()
    assert len(server.asked) == 1


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder("http", {"WELLREAD_CACHE_DIR": "/a"}) == Path("/a/http")
    assert cache_folder("http", {"XDG_CACHE_HOME": "/b"}) == Path("/b/wellread/http")
    assert cache_folder("http", {}).parts[-2:] == ("wellread", "http")


async def test_a_page_is_read_whatever_charset_it_names(server: Loopback) -> None:
    http = client()
    for charset in ("latin-1", "utf-8", "no-such-charset", "punycode", "idna", "undefined", "unicode_escape"):
        server.answer = lambda asked, charset=charset: Reply(
            "<link>é \\N{BULLET}".encode(), headers={"Content-Type": f"text/html; charset={charset}"}
        )
        assert await http.text(server.url) == "<link>é \\N{BULLET}"
    await http.aclose()


async def test_answers_of_very_many_values(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply(b"[" + b"{}," * 600_000 + b"{}]")
    with pytest.raises(SourceError, match="did not answer with JSON"):
        await http.get(server.url)
    await http.aclose()


async def test_endless_numbers_are_not_read_as_such(server: Loopback) -> None:
    server.answer = lambda asked: Reply(b"[" + b",".join([b"9" * 40, b"9" * 41, b"9" * 4_300]) + b"]")
    async with aclosing(client()) as http:
        read = [one.value for one in (await http.get(server.url)).items()]
    assert read == [10**40 - 1, 1e41, float("inf")]
    assert [type(one) for one in read] == [int, float, float], "reading one takes time with the square of its digits"


async def test_a_long_complaint_takes_no_time(server: Loopback) -> None:
    http = client()
    server.answer = lambda asked: Reply({"message": "a b " * 10_000}, 400)
    with pytest.raises(SourceError, match=r"^.{200,400}$"):
        await http.get(server.url)
    long = b'{"message": "' + b"a b " * 4_000_000 + b'"}'
    server.answer = lambda asked: Reply(long, 400)
    before = time.thread_time()
    with pytest.raises(SourceError, match="answered with HTTP 400"):
        await http.get(server.url)
    took = time.thread_time() - before
    await http.aclose()
    assert took < 0.3
