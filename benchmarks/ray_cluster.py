"""A real Ray cluster on this machine: several raylets that do not share memory, each of which can be killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ.setdefault("RAY_health_check_period_ms", "500")  # a dead node is noticed within seconds, not half a minute
os.environ.setdefault("RAY_health_check_timeout_ms", "500")
os.environ.setdefault("RAY_health_check_failure_threshold", "3")
os.environ.setdefault("RAY_health_check_initial_delay_ms", "2000")
_killed: set[str] = set()  # by the names of their sockets
_SMALL = {"object_store_memory": 80_000_000, "num_cpus": 2}


@contextmanager
def running(nodes: int) -> Iterator[Any]:
    """A cluster with this process connected to it; the head is the first node."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**_SMALL, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(wait=False, **_SMALL)
        cluster.wait_for_nodes(120)
        ray.init(address=cluster.address, namespace="wellread", log_to_driver=False, configure_logging=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def repaired(cluster: Any, nodes: int) -> Any:
    """With new nodes for those that were killed."""
    import ray

    for node in [node for node in cluster.worker_nodes if node.raylet_socket_name in _killed]:
        cluster.remove_node(node, allow_graceful=False)
    for _ in range(nodes - 1 - len(cluster.worker_nodes)):
        cluster.add_node(wait=True, **_SMALL)
    deadline = time.monotonic() + 60  # until the cluster has noticed, too
    while {n["RayletSocketName"] for n in ray.nodes() if n["Alive"]} & _killed and time.monotonic() < deadline:
        time.sleep(0.2)
    _each_node_works(ray)
    return cluster


def _each_node_works(ray: Any) -> None:
    """A node that is known may still be thought to have nothing: then what wants to go there goes elsewhere."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def here() -> None: ...

    for node in ray.nodes():
        if node["Alive"]:
            pinned = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ray.get(ray.remote(here).options(num_cpus=0, scheduling_strategy=pinned).remote(), timeout=120)


def kill(node: Any) -> None:
    """End a node's processes at once, as a machine that loses its power would."""
    _killed.add(node.raylet_socket_name)
    for pid in processes(node):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def processes(node: Any) -> list[int]:
    """All that run on a node: Ray's own, and its workers."""
    own = [info.process.pid for infos in node.all_processes.values() for info in infos]
    return list(dict.fromkeys(pid for one in own for pid in (one, *_children(one))))


def processor_seconds(cluster: Any) -> float:
    """What all of them have used so far."""
    ticks = 0
    for pid in {pid for node in cluster.list_all_nodes() for pid in processes(node)}:
        with suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat") as told:
            fields = told.read().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # user and system
    return ticks / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return found
    for task in tasks:
        with open(f"/proc/{pid}/task/{task}/children") as listed:
            for child in map(int, listed.read().split()):
                found.extend([child, *_children(child)])
    return found
