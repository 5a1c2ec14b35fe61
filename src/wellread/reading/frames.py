"""How a reading process and its parent speak: a value each, packed, its length in front.

Nothing but the fields of that value can come of a frame. The parent reads what a process says that has parsed a stranger's
document, so there is nothing here that could build other objects, and the size is known before anything is read.
"""

from __future__ import annotations

import socket
import struct

from wellread import codec

_LENGTH = struct.Struct("!I")
_CHUNK = 1024 * 1024


class BrokenFrame(Exception):
    """The other side is gone, or says what no frame says."""


def pack(value: object) -> bytes:
    data = codec.pack(value)
    return _LENGTH.pack(len(data)) + data


def size_of(head: bytes) -> int:
    """How many bytes follow the four of the head."""
    return _LENGTH.unpack(head)[0]


def receive(channel: socket.socket) -> bytearray | None:
    """What follows the head of one frame; None where the other side has ended."""
    head = _bytes(channel, _LENGTH.size)
    return _bytes(channel, size_of(bytes(head))) if head else None


def _bytes(channel: socket.socket, count: int) -> bytearray | None:
    data = bytearray(count)
    filled, view = 0, memoryview(data)
    while filled < count:
        got = channel.recv_into(view[filled : filled + _CHUNK])
        if not got:
            return None
        filled += got
    return data
