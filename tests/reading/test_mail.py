"""Mail from anybody: what a header says is decoded, what it does to others is nothing."""

from __future__ import annotations

import time

import pytest
from tests.reading.given_bytes import read_bytes

from wellread.reading import mail
from wellread.reading.allowance import Allowance
from wellread.types import Page


def mailbox(*messages: bytes) -> bytes:
    return b"".join(b"From x\n" + one + b"\n" for one in messages)


def letter(subject: str, more: str = "", body: str = "Fill it.") -> bytes:
    return f"From: Ada <ada@a.example>\nSubject: {subject}\n{more}\n{body}\n".encode()


def stumbling(text: str, url: str) -> Page:
    raise IndexError(f"{url}: {len(text)}")


def read(body: bytes, name: str = "a.eml") -> Page:
    return read_bytes(body, f"file:///{name}", name=name)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("=?utf-8?q?=C3=96l?= und Docht", "Öl und Docht"),
        ("=?iso-8859-1?q?=D6l?=", "Öl"),
        ("=?UTF-8?B?w5Y=?=\n =?UTF-8?B?bA==?=", "Öl"),
        ("=?utf-8?q?=C3?= =?utf-8?q?=96l?=", "Öl"),  # a letter cut in two
        ("=?punycode?q?l-eka?=", "l-eka"),  # a codec that takes quadratic time is not for strangers to choose
        ("=?no-such?q?oil?=", "oil"),
        ("=?utf-8?b?a?=", "=?utf-8?b?a?="),
        ("Öl", "Öl"),
        ("a" * 3_000, "a" * 500),
    ],
)
def test_a_subject_is_decoded(written: str, meant: str) -> None:
    assert read(letter(written)).title == meant


@pytest.mark.parametrize(
    "header",
    [
        "To: " + "(" * 50_000,
        "To: " + '"' * 50_000,
        "Date: " + "(" * 50_000,
        "Content-Type: text/plain" + ";" * 50_000,
        "Content-Type: text/plain; charset*=punycode''" + "ab9" * 20_000,
        "Content-Disposition: " + "a;" * 50_000,
    ],
)
def test_an_odd_header_takes_nothing_from_the_letter(header: str) -> None:
    assert read(letter("On oil", f"{header}\n")).passages[-1] == "Fill it."


def test_one_broken_letter_does_not_take_the_others_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "extract", stumbling)
    page = read(mailbox(letter("On oil"), letter("Odd", "Content-Type: text/html\n"), letter("On wicks")), "a.mbox")
    assert [block.text for block in page.blocks if block.kind == "heading"] == ["On oil", "On wicks"]
    assert page.notice == "1 of its 3 messages could not be read"


@pytest.mark.parametrize("depth", [400, 2_000])
def test_parts_in_parts_take_no_more_time_than_those_that_are_read(depth: int) -> None:
    nested = "".join(f"--b{n}\nContent-Type: multipart/mixed; boundary=b{n + 1}\n\n" for n in range(depth))
    deep = letter("Deep", "Content-Type: multipart/mixed; boundary=b0\n", nested + "x\n" * 50_000)
    begun = time.process_time()
    page = read(mailbox(letter("On oil"), deep, letter("On wicks")), "a.mbox")
    assert time.process_time() - begun < 2
    assert [block.text for block in page.blocks if block.kind == "heading"] == ["On oil", "Deep", "On wicks"]
    assert page.notice is None


def test_letters_that_are_left_out_are_told() -> None:
    late = mail.read_mbox(mailbox(letter("On oil"), letter("On wicks")), "file:///a", "a", Allowance(seconds=0))
    assert late.notice == "only the first 0 of its 2 messages were read"


def test_of_alternatives_the_plain_one_is_read_wherever_it_is() -> None:
    inner = (
        '--i\nContent-Type: text/html\n\n<p>In colour.</p>\n--i\nContent-Disposition: attachment; filename="a.txt"\n\nNo.\n--i--'
    )
    body = f"--o\nContent-Type: multipart/related; boundary=i\n\n{inner}\n--o\n\nPlain.\n--o--"
    kind = 'Content-Type: multipart/alternative; boundary="o"\n'
    assert read(letter("x", kind, body)).passages[-1] == "Plain."
    assert read(letter("x", kind, body.replace("Plain.", "").replace("--o\n\n", ""))).passages[-1] == "In colour."
