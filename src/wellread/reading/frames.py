"""How a reading process and its parent speak: fields of bytes, their lengths in front.

Nothing but bytes can come of a frame. The parent reads what a process says that has parsed a stranger's
document, so there is nothing here that could build objects, and the size is known before a field is read.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

_LENGTH = struct.Struct("!I")
_CHUNK = 1024 * 1024


class BrokenFrame(Exception):
    """The other side is gone, or says what no frame says."""


def pack(fields: Sequence[bytes]) -> bytes:
    lengths = struct.pack(f"!{len(fields)}I", *map(len, fields))
    size = len(lengths) + sum(map(len, fields))
    return b"".join((_LENGTH.pack(size), _LENGTH.pack(len(fields)), lengths, *fields))


def unpack(frame: memoryview) -> list[bytes]:
    """The fields again, from all that follows the size."""
    if len(frame) < _LENGTH.size:
        raise BrokenFrame("a frame without a head")
    (count,) = _LENGTH.unpack_from(frame)
    begun = _LENGTH.size * (1 + count)
    if begun > len(frame):
        raise BrokenFrame("more fields than a frame holds")
    lengths = struct.unpack_from(f"!{count}I", frame, _LENGTH.size)
    if begun + sum(lengths) != len(frame):
        raise BrokenFrame("the lengths of the fields are not that of the frame")
    fields: list[bytes] = []
    for length in lengths:
        fields.append(bytes(frame[begun : begun + length]))
        begun += length
    return fields


def size_of(head: bytes) -> int:
    """How many bytes follow the four of the head."""
    return _LENGTH.unpack(head)[0] + _LENGTH.size


def receive(channel: socket.socket) -> list[bytes] | None:
    """One frame; None where the other side has ended."""
    head = _bytes(channel, _LENGTH.size)
    frame = _bytes(channel, size_of(bytes(head))) if head else None
    return unpack(memoryview(frame)) if frame else None


def _bytes(channel: socket.socket, count: int) -> bytearray | None:
    data = bytearray(count)
    filled, view = 0, memoryview(data)
    while filled < count:
        got = channel.recv_into(view[filled : filled + _CHUNK])
        if not got:
            return None
        filled += got
    return data
