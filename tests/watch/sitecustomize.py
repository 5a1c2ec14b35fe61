"""Python starts with this where the folder is on its path: nothing that tests start reaches anything but this machine.

It watches what programs connect to, and the names they ask for: without a network a connection fails before it is tried.
"""

from __future__ import annotations

import ipaddress
import socket
import sys

# names that cannot exist (RFC 2606, RFC 6761), which tests ask for on purpose
_NOBODYS = (".example", ".invalid", ".test", ".local", ".localhost", "example.org", "example.com", "example.net")


def is_here(host: object) -> bool:
    """Whether it is this machine."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else host
    if name in ("localhost", "", None):
        return True
    try:
        address = ipaddress.ip_address(str(name).split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or (not address.is_multicast and _is_own(address))


def _is_own(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether a network card of this machine has it: nodes of a cluster reach each other by such addresses."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def only_loopback(event: str, args: tuple[object, ...]) -> None:
    """An audit hook sees every connection, whoever opens it."""
    if event in ("socket.connect", "socket.sendto"):
        address = args[-1]
        if isinstance(address, tuple) and not is_here(address[0]):
            raise RuntimeError(f"a test tried to reach {address!r}; only loopback is allowed")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = str(args[0].decode("ascii", "replace") if isinstance(args[0], bytes | bytearray) else args[0])
        numeric = host.replace(".", "").replace(":", "").isalnum() and _is_address(host)
        if not is_here(args[0]) and not numeric and not host.rstrip(".").lower().endswith(_NOBODYS):
            raise RuntimeError(f"a test asked for the address of {host!r}; only loopback is allowed")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    return True


sys.addaudithook(only_loopback)
