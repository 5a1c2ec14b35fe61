"""Lists and sketches on a CUDA device against the processor's: PYTHONPATH=src python -m benchmarks gpu [--rows 4000000]

Needs numpy and torch, nothing else of the project's dependencies. Rows are mixtures of random vectors; both ways read the same
file and write a file of sketches, as a build does. Prints seconds, rows a second and how many lists and bits agree.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from wellread.index import lists
from wellread.index.rows import RowFile

DIM, PARTS, CHUNK = 1024, 60_000, 50_000


def write_rows(path: Path, rows: int, scale: np.ndarray) -> RowFile:
    """Mixtures of pairs with noise, made on the device in chunks."""
    torch = lists.cuda_torch()
    torch.manual_seed(1)
    spread = torch.linspace(3, 0.05, DIM, device="cuda")  # embeddings differ in some directions more than in others
    parts = torch.nn.functional.normalize(torch.randn(PARTS, DIM, device="cuda") * spread)
    with path.open("wb") as out:
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            a, b = (parts[torch.randint(PARTS, (count,), device="cuda")] for _ in range(2))
            w = torch.rand(count, 1, device="cuda") * 0.6 + 0.2
            mixed = torch.nn.functional.normalize(w * a + (1 - w) * b + torch.randn(count, DIM, device="cuda") * 0.01)
            out.write((mixed / scale[0]).round().clamp(-127, 127).to(torch.int8).cpu().numpy().tobytes())
    return RowFile(path, rows, DIM)


def timed(rows: RowFile, scale: np.ndarray, out: Path, device: str) -> dict[str, object]:
    begun = time.perf_counter()
    found = lists.train(rows, scale, lists.nearest_on_gpu) if device == "cuda" else lists.train(rows, scale)
    trained = time.perf_counter()
    scaled = found.scaled(scale)
    with out.open("wb") as file:
        labels = lists.encode_all(rows, lists.GpuEncoder(scaled) if device == "cuda" else scaled.encode, file, lambda _: None)
    encoded = time.perf_counter() - trained
    return {"train": round(trained - begun, 2), "rows_per_second": round(len(rows) / encoded), "labels": labels, "lists": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    wanted = parser.parse_args().rows
    scale = np.full(DIM, 6 / np.sqrt(DIM) / 127, np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write_rows(folder / "rows", wanted, scale)
        lists.nearest_on_gpu(np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32))  # the device's start is not its speed
        here = timed(rows, scale, folder / "here", "cpu")
        there = timed(rows, scale, folder / "there", "cuda")
        same = here["labels"] == there["labels"]
        gap = np.abs(here["lists"].centres - there["lists"].centres).max()
        # The trainings differ in the last digits, which k-means carries on: for the bits one training serves both.
        block = rows.block(0, 200_000)
        scaled = here["lists"].scaled(scale)
        (labels, bits), (found, sketched) = scaled.encode(block), lists.GpuEncoder(scaled)(block)
        agree = labels == found
        equal = np.unpackbits(bits[agree] ^ sketched[agree]).mean()
    result = {
        "rows": wanted,
        "lists": int(here["lists"].count),
        "cores": os.cpu_count(),
        "device": lists.cuda_torch().cuda.get_device_name(),
    }
    for where, figures in (("cpu", here), ("cuda", there)):
        result |= {f"{where}_train_seconds": figures["train"], f"{where}_encode_rows_per_second": figures["rows_per_second"]}
    result |= {"same_lists_after_own_training": round(float(same.mean()), 6), "largest_gap_of_centres": float(gap)}
    result |= {"same_lists": round(float(agree.mean()), 6), "differing_bits": float(equal)}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
