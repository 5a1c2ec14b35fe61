"""Growth: how the cost of a search, a look at the history, a list of collections and an answer grows with what there is.

    python -m benchmarks growth [--quick]

Printed is the slope of each with logarithmic axes, by least squares: 0 costs the same at every size, 1 grows with it.

    index_slope         a search by meaning, by processor time (best of rounds), 10,000 to 10,000,000 rows (--quick: to 100,000)
    history_slope       a page of the history, by processor time, 100 to 100,000 runs (--quick: 10,000)
    collections_slope   the list of all collections, by processor time, 10 to 1,000 of them
    clients_slope       the server's processor time an answer, by `iterative`, 1 to 64 clients at once
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from benchmarks import history, index, server
from wellread.server.collections import Collections
from wellread.server.history import History, Record
from wellread.server.options import ServerOptions

DIM, ROUNDS, TIMED, TIMES = 384, 3, 10, 20


def slope(costs: Mapping[int, float]) -> float:
    sizes, seconds = np.log(list(costs)), np.log(list(costs.values()))
    return round(float(np.polyfit(sizes, seconds, 1)[0]), 3)


def processor_seconds(work: Callable[[], object], times: int = TIMES) -> float:
    begun = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begun) / times


async def history_costs(sizes: list[int]) -> dict[int, float]:
    """Of the page that is shown first, without the words of a search."""
    costs: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        kept = await History.open(Path(folder) / "history.sqlite")
        there = 0
        for size in sizes:
            for number in range(there, size):
                name = f"run{number}"
                record = Record(
                    name, name, None, f"What is item {number}?", "quote", None, ("library",), "running", float(number)
                )
                await kept.add(record)
                await kept.finish(name, "done", history.ANSWER, (0, '{"event": "ended"}'))
            there = size
            begun = time.process_time()
            for _ in range(TIMES):
                await kept.list()
            costs[size] = (time.process_time() - begun) / TIMES
        await kept.aclose()
    return costs


def collections_costs(sizes: list[int]) -> dict[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Collections(Path(folder), ServerOptions(max_collections=sizes[-1], collections=True))
        costs: dict[int, float] = {}
        for size in sizes:
            for number in range(len(shelf.everything()), size):
                shelf._make(f"Papers {number}", None)  # `create` looks at all the others first
            costs[size] = processor_seconds(shelf.everything)
        return costs


async def clients_costs(bench: server.Bench, sizes: list[int], answers: int) -> dict[int, float]:
    costs: dict[int, float] = {}
    await asyncio.gather(*(bench.ask(number, "iterative") for number in range(5)))
    for size in sizes:
        gate, used = asyncio.Semaphore(size), bench.cpu()

        async def one(number: int, gate: asyncio.Semaphore = gate) -> None:
            async with gate:
                await bench.ask(number, "iterative")

        await asyncio.gather(*(one(number) for number in range(max(answers, size))))
        costs[size] = (bench.cpu() - used) / max(answers, size)
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    costs = {
        "history": asyncio.run(history_costs([100, 1_000, 10_000] if quick else [100, 1_000, 10_000, 100_000])),
        "collections": collections_costs([10, 100, 1_000]),
    }
    with server.served() as bench:
        costs["clients"] = asyncio.run(clients_costs(bench, [2, 8, 32] if quick else [1, 4, 16, 64], 8 if quick else 32))
    rows = [10_000, 100_000] if quick else [10_000, 100_000, 1_000_000, 10_000_000]
    costs["index"] = {count: index.default_time(count, DIM, ROUNDS, TIMED) for count in rows}
    for name, found in costs.items():
        print(name, {size: f"{1000 * seconds:.3f} ms" for size, seconds in found.items()}, file=sys.stderr)
    print(json.dumps({f"{name}_slope": slope(found) for name, found in costs.items()}))


if __name__ == "__main__":
    main()
