"""The package's models in each arithmetic this machine offers, against the shipped form, in one run.

    python benchmarks/arithmetic.py [--quick] [--data DIR] [--float32 FILE]

Embedder: passages a second (`tensor_ratio`, `bf16_ratio`: processor time on one core, the forms taking turns, best of the
rounds) and the cosine of every vector to the float32 model's (FILE: `scripts/convert_embedder.py … --float32 FILE`), else to
the shipped form's. Evaluator: pairs a second likewise (`…_pairs_ratio`), how far probabilities of relevance are from the shipped
form's, and how many first answers differ. With DATA (folders as in `scripts/fit_arithmetic.py`) all passages and questions come
from the half that was not fitted on; without it, from the library. `vectors_ratio` and `vectors_cosine` are of the form that is
chosen here, on the library's texts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scripts.fit_arithmetic import jobs
from scripts.fit_arithmetic import passages as held_out_passages

from benchmarks.embedder import float32_folder, passages
from wellread.embedding.arithmetic import Arithmetic, best_here, has_openvino
from wellread.embedding.onnx import OnnxEmbedder, Options
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.judge import Chain
from wellread.ranking.paths import log_probability
from wellread.types import Passage

ROOT = Path(__file__).parents[1]

Floats = NDArray[np.float32]
Job = tuple[str, list[Chain]]


def forms() -> list[Arithmetic]:
    """What can run here, the shipped form first."""
    found: list[Arithmetic] = ["block"]
    if best_here() != "block":
        found += ["tensor", "bf16"] if has_openvino() else ["tensor"]
    return found


def ratios(works: dict[Arithmetic, Callable[[str], object]], rounds: int) -> dict[Arithmetic, float]:
    """How many times as fast as the shipped form, by processor time. Work gets a mark that makes the texts of each round
    new: what was read before is remembered."""
    times: dict[Arithmetic, list[float]] = {form: [] for form in works}
    for number in range(rounds + 1):
        for form, work in works.items():
            begun = time.process_time()
            work(f"{number}. ")
            times[form].append(time.process_time() - begun)
    best = {form: min(values[1:]) for form, values in times.items()}
    return {form: best["block"] / best[form] for form in works}


def reference(float32: Path | None, texts: Sequence[str], folder: Path) -> Floats | None:
    if float32 is None:
        return None
    folder.mkdir()
    return OnnxEmbedder(float32_folder(float32, folder), options=Options(arithmetic="block")).embed_now(texts, kind="query")


def embedding(texts: Sequence[str], timed: int, rounds: int, float32: Path | None) -> dict[str, float]:
    import tempfile

    made = {form: OnnxEmbedder(options=Options(threads=1, arithmetic=form)) for form in forms()}
    vectors = {form: embedder.embed_now(texts, kind="passage") for form, embedder in made.items()}
    with tempfile.TemporaryDirectory() as folder:
        full = reference(float32, texts, Path(folder) / "model")
    full = vectors["block"] if full is None else full
    some = sorted(texts, key=len)[:: max(1, len(texts) // timed)]
    works = {
        form: (lambda mark, e=embedder: e.embed_now([mark + one for one in some], kind="passage"))
        for form, embedder in made.items()
    }
    out: dict[str, float] = {f"{form}_ratio": ratio for form, ratio in ratios(works, rounds).items()}
    for form, found in vectors.items():
        cosines = (found * full).sum(axis=1)
        out |= {f"{form}_cosine_mean": float(cosines.mean()), f"{form}_cosine_min": float(cosines.min())}
        out[f"{form}_below_0.998"] = float((cosines < 0.998).mean())
    return out


def vectors(rounds: int = 3) -> dict[str, float]:
    """Passages a second of the form that this machine chooses against the shipped form's; lowest cosine to float32."""
    stored = np.load(ROOT / "tests/embedding/reference.npz")
    texts, full = [str(text) for text in stored["sentences"]], stored["vectors"].astype(np.float32)
    made = {form: OnnxEmbedder(options=Options(threads=1, arithmetic=form)) for form in ("block", best_here())}
    some = passages(24)
    works = {
        form: (lambda mark, e=embedder: e.embed_now([mark + one for one in some], kind="passage"))
        for form, embedder in made.items()
    }
    found = made[best_here()].embed_now(texts, kind="passage")
    cosines = (found * full).sum(axis=1) / np.linalg.norm(full, axis=1)
    return {"vectors_ratio": ratios(works, rounds)[best_here()], "vectors_cosine": float(cosines.min())}


def judging(work: Sequence[Job], timed: int, rounds: int) -> dict[str, float]:
    made = {form: Evaluator(threads=1, arithmetic=form) for form in forms()}
    works = {
        form: (lambda mark, e=one: [asyncio.run(e.judge(mark + asked, chains)) for asked, chains in work[:timed]])
        for form, one in made.items()
    }
    out = {f"{form}_pairs_ratio": ratio for form, ratio in ratios(works, rounds).items()}
    verdicts = {form: [asyncio.run(one.judge(*job)) for job in work] for form, one in made.items()}
    weights = made["block"].weights
    sure = {
        form: np.array([math.exp(log_probability(verdict.relevance, weights)) for job in found for verdict in job])
        for form, found in verdicts.items()
    }
    firsts = {form: [max(job, key=lambda verdict: verdict.relevance).text for job in found] for form, found in verdicts.items()}
    for form in forms()[1:]:
        gap = np.abs(sure[form] - sure["block"])
        out |= {f"{form}_probability_gap_mean": float(gap.mean()), f"{form}_probability_gap_max": float(gap.max())}
        changed = sum(a != b for a, b in zip(firsts[form], firsts["block"], strict=True))
        out |= {f"{form}_answers_changed": changed, "questions": len(work)}
    return out


def from_library() -> tuple[list[str], list[Job]]:
    texts = passages(200)
    alone: list[Chain] = [(Passage(str(n), text),) for n, text in enumerate(texts[:12])]
    return texts, [(question, alone) for question in ("Which planet has rings?", "Who wrote Hamlet?")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--float32", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    count, rounds = (2, 2) if options.quick else (9, 4)
    texts, work = from_library()
    if options.data:
        texts = [f"{p.title}. {p.text}" for p in held_out_passages(options.data, 2 * count, held_out=True)]
        work = jobs(options.data, count, held_out=True)
    found = vectors(rounds) | embedding(texts, 24, rounds, options.float32)
    print(json.dumps(found), file=sys.stderr)
    found |= judging(work, 4, rounds)
    print(json.dumps({name: round(value, 5) for name, value in found.items()}))


if __name__ == "__main__":
    main()
