"""Step 3b, on any machine, without torch: the mean of a run's weights and those it started from.

    python -m training.evaluator.mix --weights RUN --start src/wellread/ranking/weights/evaluator.onnx --share 0.6 --output MIX

A run that goes on from an earlier model on other data gains there and loses a little where it came from. The weights in between
keep most of both. Outputs that the earlier model does not have are the run's.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from training.evaluator.minilm import read_minilm
from training.evaluator.weights import Arrays, load_weights, save_weights


def mixed(run: Arrays, start: Arrays, share: float) -> Arrays:
    """`share` of the run; rows that the start lacks are the run's alone."""
    result = {name: np.array(value, np.float32) for name, value in run.items()}
    for name, value in result.items():
        rows = len(start.get(name, ()))
        if rows:
            value[:rows] = share * value[:rows] + (1 - share) * start[name]
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="weights of a run, or an ONNX file")
    parser.add_argument("--share", type=float, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    start = read_minilm(options.start) if options.start.is_file() else load_weights(options.start)
    save_weights(mixed(load_weights(options.weights), start, options.share), options.output)


if __name__ == "__main__":
    main()
