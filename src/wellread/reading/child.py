"""One reading process (sandbox, inter-process communication): the parent's side of it, and how the two speak: a value each,
packed, its length in front.

Nothing but the fields of that value can come of a frame. The parent reads what a process says that has parsed a stranger's
document, so there is nothing here that could build other objects, and the size is known before anything is read.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from wellread.core import codec
from wellread.core.safe_imports import safe_path

_LOOK = 0.05  # seconds between two looks at a child's memory
_CHUNK = 1024 * 1024
_LENGTH = struct.Struct("!I")
_START = "import sys; sys.path[:] = sys.argv[1:]; from wellread.reading.worker import main; main(recognising={})"
KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL")  # no keys, no settings


class Child:
    """One process and the socket to it; one that recognises reads scans, too."""

    def __init__(self, *, recognising: bool = False) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START.format(recognising), *safe_path()],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ},
                process_group=0,  # Ctrl-C is for the parent
            )
        self.pid = self._process.pid
        self.used = time.monotonic()
        self.most = 0  # bytes of memory it was seen to have

    def send(self, frame: bytes, deadline: float) -> None:
        self.most = 0
        self._channel.settimeout(max(deadline - time.monotonic(), 0.001))
        self._channel.sendall(frame)

    def receive(self, count: int, deadline: float) -> bytearray:
        """So many bytes; `TimeoutError` after the deadline, `BrokenFrame` when the child has ended."""
        data = bytearray()
        while len(data) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._channel.settimeout(min(left, _LOOK))
            try:
                part = self._channel.recv(min(count - len(data), _CHUNK))
            except TimeoutError:
                self.most = max(self.most, self._memory())
                continue
            if not part:
                raise BrokenFrame("the child has ended")
            data += part
        self.used = time.monotonic()
        return data

    def kill(self) -> None:
        """From any thread; whoever waits for the child then sees that it has ended."""
        self._process.kill()

    def end(self) -> int:
        """How it ended, or by which signal (negative)."""
        self._channel.close()
        self._process.kill()
        return self._process.wait()

    def _memory(self) -> int:
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0


class BrokenFrame(Exception):
    """The other side is gone, or says what no frame says."""


def pack(value: object) -> bytes:
    data = codec.pack(value)
    return _LENGTH.pack(len(data)) + data


def size_of(head: bytes) -> int:
    """How many bytes follow the four of the head."""
    return _LENGTH.unpack(head)[0]


def receive(channel: socket.socket) -> bytearray | None:
    """The body of one frame; None where the other side has ended."""
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
