"""Nothing that a stranger writes into a URL or a DNS answer reaches this machine or its network."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from ipaddress import IPv4Address, IPv6Address, ip_address

import httpcore2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.net.conftest import Site, Trap
from tests.reading.hostile import HOSTILE, NOT_PUBLIC, PUBLIC

from wellread.errors import Blocked, ReadError
from wellread.net.fetch import Fetcher, PageLimits
from wellread.net.guard import Guard, is_public, resolve
from wellread.net.transport import GuardedNetwork
from wellread.reading.reader import WebReader

pytestmark = pytest.mark.anyio


def fixed(*answers: str) -> object:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return answers

    return resolver


async def test_there_are_enough_of_them() -> None:
    assert len(set(HOSTILE)) + len(set(NOT_PUBLIC)) >= 150


async def test_no_hostile_spelling_reaches_the_trap(trap: Trap) -> None:
    reader = WebReader(Fetcher(Guard(ports={trap.port, 80, 443}), ignore_robots=True, limits=PageLimits(seconds=5)))
    for template in HOSTILE:
        with pytest.raises(Blocked):
            await reader.read(template.replace("{p}", str(trap.port)))
    await reader.aclose()
    assert trap.caught == 0


@pytest.mark.parametrize("address", NOT_PUBLIC)
async def test_no_private_dns_answer_is_connected_to(trap: Trap, address: str) -> None:
    for answers in ((address,), ("93.184.216.34", address), (address, "93.184.216.34")):
        reader = WebReader(Fetcher(Guard(ports={trap.port}, resolver=fixed(*answers)), ignore_robots=True))
        with pytest.raises(Blocked, match="public"):
            await reader.read(f"http://harmless.example:{trap.port}/")
        await reader.aclose()
    assert trap.caught == 0


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_private_literals_are_blocked(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Blocked):
        Guard().check(f"http://{host}/")
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_literals_pass(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    assert str(Guard().check(f"https://{host}/a?b#c")).endswith("/a?b#c")


@pytest.mark.parametrize(
    "url",
    ["http://example.com", "https://example.com:8443/x?y=1&z=%20#f", "http://bücher.example/ß", "http://xn--bcher-kva.example/",
     "https://en.wikipedia.org/wiki/C++_(x)?a=b@c", "http://a_b.example.com/", "https://example.com./"],
)  # fmt: skip
def test_ordinary_addresses_pass(url: str) -> None:
    Guard().check(url)


@pytest.mark.parametrize("answer", ["", "not an address", "127.1", "localhost", "0x7f000001"])
async def test_answers_that_are_no_addresses_are_refused(trap: Trap, answer: str) -> None:
    with pytest.raises(Blocked):
        await Guard(ports={trap.port}, resolver=fixed(answer)).addresses("harmless.example", trap.port)


async def test_no_answer_at_all_is_refused() -> None:
    with pytest.raises(Blocked, match="no address"):
        await Guard(resolver=fixed()).addresses("harmless.example", 80)


class Recorder(httpcore2.AsyncNetworkBackend):
    """A network that goes nowhere and remembers where it was sent."""

    def __init__(self) -> None:
        self.to: list[str] = []

    async def connect_tcp(self, host: str, port: int, *args: object, **kwargs: object) -> httpcore2.AsyncNetworkStream:
        self.to.append(host)
        raise httpcore2.ConnectError("nowhere")


async def test_a_rebound_name_is_looked_up_once_and_the_checked_address_is_the_one_connected_to() -> None:
    """The name is public when it is checked and private at any time after."""
    lookups = 0

    async def resolver(host: str, port: int) -> Sequence[str]:
        nonlocal lookups
        lookups += 1
        return ["93.184.216.34"] if lookups == 1 else ["127.0.0.1"]

    network = Recorder()
    guarded = GuardedNetwork(Guard(resolver=resolver), network)
    with pytest.raises(httpcore2.ConnectError):
        await guarded.connect_tcp("rebound.example", 80)
    assert network.to == ["93.184.216.34"]
    with pytest.raises(Blocked):
        await guarded.connect_tcp("rebound.example", 80)
    assert network.to == ["93.184.216.34"]


async def test_every_public_address_of_a_name_is_tried() -> None:
    network = Recorder()
    guarded = GuardedNetwork(Guard(resolver=fixed("1.1.1.1", "1.0.0.1", "1.1.1.1")), network)
    with pytest.raises(httpcore2.ConnectError):
        await guarded.connect_tcp("many.example", 80)
    assert network.to == ["1.1.1.1", "1.0.0.1"]


class Connected(httpcore2.AsyncNetworkBackend, httpcore2.AsyncNetworkStream):
    """A network on which this machine is at one address, whoever it talks to."""

    def __init__(self, own: str) -> None:
        self.own, self.closed = own, False

    async def connect_tcp(self, host: str, port: int, *args: object, **kwargs: object) -> httpcore2.AsyncNetworkStream:
        return self

    def get_extra_info(self, info: str) -> object:
        return (self.own, 50_000) if info == "client_addr" else None

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("own", "there", "near"),
    [
        ("2a01:4f8:1:2::5", "2a01:4f8:1:2::5", True),  # this machine
        ("2a01:4f8:1:2::5", "2a01:4f8:1:2:aaaa::9", True),  # a neighbour behind the same router
        ("2a01:4f8:1:2::5", "2a01:4f8:1:3::9", False),
        ("93.184.216.34", "93.184.216.34", True),
        ("93.184.216.34", "93.184.216.35", False),
        ("10.0.0.7", "93.184.216.34", False),
    ],
)
async def test_public_addresses_of_the_own_network_are_not_read(own: str, there: str, near: bool) -> None:
    network = Connected(own)
    for guard, blocked in ((Guard(resolver=fixed(there)), near), (Guard(["own.example"], resolver=fixed(there)), False)):
        with pytest.raises(Blocked, match="own network") if blocked else nullcontext():
            await GuardedNetwork(guard, network).connect_tcp("own.example", 80)
    assert network.closed == near


REDIRECTS = [
    "http://127.0.0.1:{p}/", "http://localhost:{p}/", "//127.0.0.1:{p}/", "http://[::1]:{p}/", "http://2130706433:{p}/",
    "http://0x7f.1:{p}/", "http://[::ffff:127.0.0.1]:{p}/", "http://trapped.example:{p}/", "http://169.254.169.254/latest/",
    "file:///etc/passwd", "ftp://127.0.0.1:{p}/", "http://u:p@127.0.0.1:{p}/", "\\\\127.0.0.1:{p}\\", "http://10.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("target", REDIRECTS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_into_private_space_end_there(site: Site, trap: Trap, target: str, status: int) -> None:
    """The first server is allowed, as the operator's own; that opens no way to its neighbours."""
    site.page("/", status=status, headers={"Location": target.replace("{p}", str(trap.port))})

    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    guard = Guard([f"127.0.0.1:{site.port}"], ports={80, trap.port}, resolver=resolver)
    reader = WebReader(Fetcher(guard, ignore_robots=True))
    with pytest.raises((Blocked, ReadError)):
        await reader.read(site.base + "/")
    await reader.aclose()
    assert trap.caught == 0


async def test_a_robots_file_that_redirects_inside_is_not_followed(site: Site, trap: Trap) -> None:
    site.page("/robots.txt", status=302, headers={"Location": f"http://127.0.0.1:{trap.port}/robots.txt"})
    site.page("/", "<p>" + "words of a page that may be read " * 5)
    reader = WebReader(Fetcher(Guard([f"127.0.0.1:{site.port}"], ports={trap.port})))
    assert (await reader.read(site.base + "/")).passages
    await reader.aclose()
    assert trap.caught == 0


async def test_own_hosts_are_allowed_by_name_and_by_port(site: Site) -> None:
    site.page("/", "<p>" + "words of a page that may be read " * 5)
    for allowed, passes in (
        ("127.0.0.1", True),
        (f"127.0.0.1:{site.port}", True),
        ("127.0.0.1:1", False),
        ("127.0.0.2", False),
        ("localhost", False),
    ):
        reader = WebReader(Fetcher(Guard([allowed])))
        if passes:
            assert (await reader.read(site.base + "/")).passages
        else:
            with pytest.raises(Blocked, match="allow_hosts"):
                await reader.read(site.base + "/")
        await reader.aclose()


@pytest.mark.slow
@given(st.one_of(st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(0, 2**128 - 1).map(IPv6Address)))
@settings(max_examples=500)
def test_what_the_library_calls_private_is_never_public(address: IPv4Address | IPv6Address) -> None:
    private = (
        address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
        or address.is_reserved or address.is_unspecified
    )  # fmt: skip
    in_nat64 = isinstance(address, IPv6Address) and int(address) >> 32 == 0x64FF9B << 64
    assert not (private and is_public(address)) or in_nat64


@pytest.mark.slow
@given(st.sampled_from([address for address in NOT_PUBLIC if ":" not in address]), st.data())
@settings(max_examples=300)
def test_no_numeric_spelling_of_a_private_address_passes(address: str, data: st.DataObject) -> None:
    """Each part decimal, octal or hexadecimal, with zeros in front, the last parts folded into one number."""
    value = int(IPv4Address(address))
    parts = data.draw(st.integers(1, 4))
    numbers = [value >> (24 - 8 * place) & 255 for place in range(parts - 1)] + [value & (2 ** (8 * (5 - parts)) - 1)]
    zeros = "0" * data.draw(st.integers(0, 3))
    forms = [str, lambda n: f"0{n:o}", lambda n: f"0x{zeros}{n:x}", lambda n: f"0X{n:X}", lambda n: f"0{zeros}{n:o}"]
    host = ".".join(data.draw(st.sampled_from(forms))(number) for number in numbers) + data.draw(st.sampled_from(["", "."]))
    with pytest.raises(Blocked):
        Guard().check(f"http://{host}/")


@pytest.mark.slow
@given(st.text(max_size=60), st.sampled_from(["http://{}", "http://{}/", "https://{}:443/x", "{}", "http://a@{}/"]))
@settings(max_examples=500)
def test_any_text_either_passes_as_a_public_name_or_is_blocked(text: str, form: str) -> None:
    try:
        url = Guard().check(form.format(text))
    except Blocked:
        return
    host = url.raw_host.decode("ascii")
    assert url.scheme in {"http", "https"}
    assert not url.userinfo
    try:
        assert is_public(ip_address(host))
    except ValueError:
        assert "." in host.strip(".")
        assert not host.rstrip(".").rpartition(".")[2].isdigit()


@given(st.integers(0, 2**32 - 1), st.sampled_from(["::ffff:0:0", "::", "2002::", "64:ff9b::", "2001::", "fe80::"]))
@settings(max_examples=300)
def test_addresses_inside_addresses_are_seen_through(value: int, prefix: str) -> None:
    shift = 80 if prefix == "2002::" else 0
    address = IPv6Address(int(IPv6Address(prefix)) | value << shift)
    if is_public(address):
        assert prefix == "64:ff9b::"
        assert is_public(IPv4Address(value))


async def test_lookups_can_be_cancelled() -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        await asyncio.sleep(30)
        return []

    reader = WebReader(Fetcher(Guard(resolver=resolver), ignore_robots=True, limits=PageLimits(seconds=0.2)))
    with pytest.raises(ReadError, match="longer than"):
        await reader.read("http://slow.example/")
    await reader.aclose()


async def test_names_whose_servers_never_answer_hold_no_thread_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def silent(*_: object, **__: object) -> list[object]:
        answered.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    looking = [asyncio.ensure_future(resolve(f"{number}.example.org", 80)) for number in range(50)]
    try:
        await asyncio.sleep(0.1)
        assert await asyncio.wait_for(asyncio.to_thread(lambda: 1), timeout=10) == 1
    finally:
        answered.set()
        await asyncio.gather(*looking)
