"""Step 2b, on the same machine: of several runs and the mean of their weights, the one that agrees best with people.

    python -m training.verifier.choose --prepared PREPARED.json.xz --start START.onnx --runs RUN RUN --output CHOSEN

Chosen on the labelled claims that are kept to choose and to fit on, by the mean of the areas under the sets' curves.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from training.evaluator.minilm import read_minilm
from training.evaluator.tokens import load_tokenizer
from training.evaluator.weights import load_weights, save_weights
from training.verifier.batches import Builder
from training.verifier.cases import load, people_said, set_aside
from training.verifier.curves import curve
from training.verifier.export import mean
from training.verifier.network import WORDS
from training.verifier.prepare import FIT
from training.verifier.train import TOKENIZER, agreement, said_of


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("prepared", "start", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    options = parser.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    words = torch.from_numpy(read_minilm(options.start)[WORDS]).to(device, kind)
    runs = {path.name: load_weights(path) for path in options.runs}
    tried = {**runs, "mean": mean([*runs.values()])} if len(runs) > 1 else runs
    prepared, builder = load(options.prepared), Builder(load_tokenizer(TOKENIZER))
    people, aside = people_said(prepared, FIT), set_aside(prepared)
    worth: dict[str, float] = {}
    for name, weights in tried.items():
        state = {key: torch.from_numpy(value).to(device, kind) for key, value in weights.items()} | {WORDS: words}
        agreed = agreement(state, people, builder, device)
        worth[name] = float(np.mean([area for area, _ in agreed.values()]))
        print(name, agreed, curve(aside, said_of(state, aside, builder, device)[:, 0]), flush=True)
    best = max(worth, key=lambda name: worth[name])
    print(f"chosen: {best}", flush=True)
    save_weights(tried[best], options.output)


if __name__ == "__main__":
    main()
