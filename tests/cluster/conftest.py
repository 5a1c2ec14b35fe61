"""One Ray cluster for all tests of a process: starting three nodes takes longer than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def whole_cluster() -> Iterator[Any]:
    from benchmarks.ray_cluster import running
    from tests.services.swift import credentials

    with pytest.MonkeyPatch.context() as patched:
        for name, value in credentials().items():  # nodes have the keys of the store; tests that use none do not notice
            patched.setenv(name, value)
        with running(3) as started:
            yield started


@pytest.fixture
def cluster(whole_cluster: Any) -> Any:
    """Three nodes, also where a test has killed one."""
    from benchmarks.ray_cluster import repaired

    return repaired(whole_cluster, 3)
