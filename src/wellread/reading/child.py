"""The parent's side of one reading process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from wellread.reading.frames import BrokenFrame
from wellread.safe_imports import safe_path

_LOOK = 0.05  # seconds between two looks at a child's memory
_CHUNK = 1024 * 1024
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
