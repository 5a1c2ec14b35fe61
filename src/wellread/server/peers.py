"""Whose a connection on this machine is. Loopback is open to every user of it; the kernel knows who holds the other end."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from wellread.net.address import is_loopback

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
Ends = tuple[tuple[str, int], tuple[str, int]]  # of a connection: the client's and ours


def is_owner(ends: Ends | None) -> bool:
    """Whether it comes from this machine and this user, or root; where the system does not tell, from this machine."""
    if ends is None or not is_loopback(ends[0][0]):
        return False
    tables = [rows for path in _TABLES if (rows := _rows(path)) is not None]
    return not tables or _user(ends, tables) in (os.geteuid(), 0)


def _rows(table: Path) -> list[list[str]] | None:
    try:
        return [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return None


def _user(ends: Ends, tables: Sequence[list[list[str]]]) -> int | None:
    """Who holds the client's end. It is told by both ends, and while it is held: a port can have other connections, and the
    kernel writes root for one that was closed."""
    (client, port), (server, own) = ends
    wanted = {(f"{a}:{port:04X}", f"{b}:{own:04X}", _ESTABLISHED) for a, b in product(_forms(client), _forms(server))}
    return next((int(row[7]) for rows in tables for row in rows if tuple(row[1:4]) in wanted), None)


def _forms(host: str) -> tuple[str, ...]:
    """An address as the kernel writes it: words of four bytes, each in the machine's own order."""
    address = ipaddress.ip_address(host)
    packed = address.packed
    words = "".join(packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4))
    return (words, f"0000000000000000FFFF0000{words}") if address.version == 4 else (words,)
