"""How long the first answer takes: `wellread --help` and `wellread ask`, against `import numpy`.

    python benchmarks/start.py [--quick]

All three start cold processes, interleaved, so that a busy machine slows them alike; the ratios are of
medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

WELLREAD = str(Path(sys.executable).parent / "wellread")
COMMANDS = {
    "numpy": [sys.executable, "-c", "import numpy"],
    "help": [WELLREAD, "--help"],
    "ask": [WELLREAD, "ask", "Who wrote Hamlet?", "--effort", "low", "--strategy", "quote"],
}


def seconds(command: list[str]) -> float:
    """Wall time of one cold process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="7 rounds instead of 25")
    rounds = 7 if parser.parse_args().quick else 25
    for command in COMMANDS.values():  # byte code and disk caches are not what we measure
        seconds(command)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, median in medians.items():
        print(f"{name:<6} {median * 1000:6.0f} ms   {median / medians['numpy']:.1f} × import numpy")
    print(json.dumps({f"{name}_ratio": round(medians[name] / medians["numpy"], 2) for name in ("help", "ask")}))


if __name__ == "__main__":
    main()
