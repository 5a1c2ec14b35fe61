"""There is no telemetry: connections and look-ups beyond this machine fail, in the tests' process and in those they start."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

ATTEMPTS = {
    "a connection": "import socket\nwith socket.socket() as s: s.connect(('192.0.2.1', 80))",
    "a datagram": "import socket\nwith socket.socket(type=socket.SOCK_DGRAM) as s: s.sendto(b'x', ('192.0.2.1', 53))",
    "a look-up": "import socket; socket.getaddrinfo('telemetry.vendor.io', 443)",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_process_that_a_test_starts_is_watched(attempt: str) -> None:
    done = subprocess.run([sys.executable, "-c", ATTEMPTS[attempt]], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "only loopback is allowed" in done.stderr


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_so_is_this_one(attempt: str) -> None:
    with pytest.raises(RuntimeError, match="only loopback is allowed"):
        exec(ATTEMPTS[attempt], {})


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
    assert socket.getaddrinfo("localhost", 80)
