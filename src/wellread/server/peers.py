"""Whose a connection on this machine is. Loopback is open to every user of it; the kernel knows who holds the other end."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

from wellread.net.address import is_loopback

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def is_owner(client: tuple[str, int] | None) -> bool:
    """Whether it comes from this machine and this user, or root; where the system does not tell, from this machine."""
    if client is None or not is_loopback(client[0]):
        return False
    user = _user(*client)
    return user is None or user in (os.geteuid(), 0)


def _user(host: str, port: int) -> int | None:
    wanted = {f"{form}:{port:04X}" for form in _forms(host)}
    for table in _TABLES:
        try:
            rows = [line.split() for line in table.read_text().splitlines()[1:]]
        except OSError:
            continue
        for row in rows:
            if row[1] in wanted:
                return int(row[7])
    return None


def _forms(host: str) -> tuple[str, ...]:
    """An address as the kernel writes it: words of four bytes, each in the machine's own order."""
    address = ipaddress.ip_address(host)
    packed = address.packed
    words = "".join(packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4))
    return (words, f"0000000000000000FFFF0000{words}") if address.version == 4 else (words,)
