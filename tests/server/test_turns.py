"""Threads that compute give the event loop its turn soon, as long as a server runs."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.server.stage import engine, running


def test_a_thread_keeps_the_interpreter_for_a_millisecond_while_a_server_runs(tmp_path: Path) -> None:
    before = sys.getswitchinterval()
    with running(engine(), tmp_path):
        assert sys.getswitchinterval() <= 0.001 < before
    assert sys.getswitchinterval() == before
