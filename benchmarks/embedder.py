"""Speed and start of the embedder in the package, as ratios measured in one run.

    python benchmarks/embedder.py [--quick] [--float32 FILE]

`start_ratio`: a process that loads the model and embeds one question, against one that imports numpy (processor time).
With the float32 model (`scripts/convert_embedder.py … --float32 FILE`) also `float32_ratio`: texts a second
against it, one thread each; `second_thread_ratio`: two threads against one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from wellread.embedding.onnx import SHIPPED, OnnxEmbedder, Options

ROOT = Path(__file__).parents[1]
EMBED = "from wellread.embedding.onnx import OnnxEmbedder as E; E().embed_now(['Which planet has the most moons?'], kind='query')"


def processor_seconds(code: str) -> float:
    """User and system time of a Python process."""
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def start_ratio(rounds: int) -> float:
    pairs = [(processor_seconds(EMBED), processor_seconds("import numpy")) for _ in range(rounds)]
    return min(a for a, _ in pairs) / min(b for _, b in pairs)


def passages(count: int) -> list[str]:
    """Paragraphs of the library's articles."""
    texts: list[str] = []
    for path in sorted((ROOT / "src/wellread/library/articles").glob("*.md")):
        texts += path.read_text(encoding="utf-8").split("\n\n")[1:]
    return texts[:count]


def best(embedder: OnnxEmbedder, texts: list[str], clock: str) -> float:
    now = time.process_time if clock == "processor" else time.perf_counter
    start = now()
    embedder.embed_now(texts, kind="passage")
    return now() - start


def float32_folder(model: Path, folder: Path) -> Path:
    """The shipped folder with the other model in it."""
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(SHIPPED / name, folder)
    (folder / "model.onnx").symlink_to(model.resolve())
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--float32", type=Path)
    options = parser.parse_args()
    rounds, texts = (2, passages(24)) if options.quick else (5, passages(64))
    one, two = OnnxEmbedder(options=Options(threads=1)), OnnxEmbedder(options=Options(threads=2))
    one.load(), two.load()
    walls = [(best(one, texts, "wall"), best(two, texts, "wall")) for _ in range(rounds)]
    found: dict[str, float] = {
        "start_ratio": start_ratio(rounds + 2),
        "second_thread_ratio": min(a for a, _ in walls) / min(b for _, b in walls),
        "texts_per_second": len(texts) / min(a for a, _ in walls),
        "tokens_per_text": float(np.mean([len(ids) for ids in one.load().tokens(texts)])),
    }
    if options.float32:
        with tempfile.TemporaryDirectory() as folder:
            full = OnnxEmbedder(float32_folder(options.float32, Path(folder)), options=Options(threads=1))
            full.load()
            pairs = [(best(full, texts, "processor"), best(one, texts, "processor")) for _ in range(rounds)]
        found["float32_ratio"] = min(a for a, _ in pairs) / min(b for _, b in pairs)
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
