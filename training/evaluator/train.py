"""Step 2, on a machine with a GPU: negatives, training, evaluation; minutes.

    python -m training.evaluator.train --prepared training/prepared --output RUN --seconds 400

Writes the averaged weights in float16 (`weights-*.npz`, in parts), the log and what `evaluate` found. On a
CPU `--steps 2 --questions 4 --quick` runs the same code on a handful of questions.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from training.evaluator.batches import Batch, Stream
from training.evaluator.evaluate import evaluate, in_training
from training.evaluator.losses import Outputs, Targets, grouped_logsumexp, losses, total
from training.evaluator.minilm import read_minilm
from training.evaluator.model import Evaluator, Packed, State, initial_state, judge, widened
from training.evaluator.prepare import load_lists
from training.evaluator.sources import MINILM, Prepared, load_prepared, neighbours, real_sources, say, synthetic_sources
from training.evaluator.weights import load_weights, save_weights

STEADY = "embeddings.word_embeddings.weight"  # is not trained: the verifier shares it
# Questions in a batch: first mostly synthetic ones, then mostly real ones.
MIXES: tuple[Mapping[str, int], ...] = (
    {"cloze": 72, "claim": 12, "bridge": 16, "composed": 6, "hotpotqa": 6, "2wiki": 4, "squad": 8, "nq_open_oracle": 3},
    {"cloze": 8, "claim": 3, "bridge": 2, "composed": 3, "hotpotqa": 13, "2wiki": 10, "squad": 13, "nq_open_oracle": 4}
    | {"gnome_help": 1, "libreoffice_help": 3, "kde_handbooks": 2, "gimp_help": 1, "docs_faq": 5, "manuals": 12}
    | {"written": 64, "statements": 12}
    | {"medquad": 4, "covid_faq": 2, "contracts": 1, "mtrag": 1, "tatqa": 5, "doqa": 9, "clapnq": 2, "squad2_en_part": 5}
    | {"qasper_evidence": 5, "covidqa": 5, "pubmedqa": 4},
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The figures of a training run. `seconds` or `steps` says how long it is."""

    seconds: float = 400.0
    steps: int | None = None
    synthetic: float = 0.15  # the share of the run that is mostly synthetic questions
    rate: float = 1.8e-4
    warm_up: float = 0.04
    decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.1
    average: float = 0.998  # of the weights that are kept
    seed: int = 1
    synthetic_passages: int = 45_000
    workers: int = 5  # each touches, and so copies, much of the memory it shares
    shrink: int = 1  # divides the questions in a batch


class Batches(IterableDataset[Batch]):
    """The stream for data-loader workers; each draws its own batches, of the mix that `phase` says at the moment."""

    def __init__(self, stream: Stream, shrink: int, phase: Synchronized[int]) -> None:
        self._stream, self._phase = stream, phase
        self._mixes = [{name: max(1, count // shrink) for name, count in mix.items() if name in stream.sources} for mix in MIXES]

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        number = worker.id if worker else 0
        stream = Stream(self._stream.sources, self._stream.table, self._stream.seed * 1000 + number)
        for step in itertools.count():
            yield stream.batch(self._mixes[self._phase.value], step)


def forward(state: State, batch: Batch, device: torch.device, dropout: float) -> tuple[Outputs, Targets]:
    """Judge a batch; outputs and targets by item."""
    packed = Packed.of(batch.ids, batch.question_lengths, device)
    judged = judge(state, packed, dropout)
    fields = (batch.relevant, batch.kinds, batch.lists, batch.judged, batch.weights, batch.evidence, batch.spans)
    *targets, spans = (torch.from_numpy(field).to(device, non_blocking=True) for field in fields)
    at = judged.starts[spans[:, 0], spans[:, 1]] + judged.ends[spans[:, 0], spans[:, 2]]
    correct = grouped_logsumexp(at, spans[:, 0], len(batch.kinds))
    everything = judged.starts.logsumexp(1), judged.ends.logsumexp(1)
    outputs = Outputs(judged.early, judged.relevance, judged.kinds, correct, *everything, judged.evidence, packed.rows)
    return outputs, Targets(*targets)


class Average:
    """A running mean of the weights, short at first."""

    def __init__(self, model: Evaluator, decay: float) -> None:
        self._decay, self._steps = decay, 0
        self._values = {name: value.clone() for name, value in model.state().items()}

    @torch.no_grad()
    def update(self, model: Evaluator) -> None:
        self._steps += 1
        keep = min(self._decay, self._steps / (self._steps + 10))
        new = model.state()
        torch._foreach_lerp_(list(self._values.values()), [new[name] for name in self._values], 1 - keep)

    def state(self) -> State:
        return dict(self._values)


def optimizer_for(model: Evaluator, recipe: Recipe) -> torch.optim.AdamW:
    steady = STEADY.replace(".", "|")
    model.values[steady].requires_grad_(False)
    learned = {name: value for name, value in model.values.items() if name != steady}
    plain = [value for name, value in learned.items() if value.ndim < 2 or "embeddings" in name]
    matrices = [value for name, value in learned.items() if value.ndim >= 2 and "embeddings" not in name]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": plain, "weight_decay": 0.0}]
    fused = next(iter(model.values.values())).is_cuda
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), eps=1e-6, fused=fused)


def rate_at(done: float, warm_up: float) -> float:
    """Linear up, linear down to nothing."""
    return min(done / warm_up, 1.0) * max(0.0, (1 - done) / (1 - warm_up)) if done < 1 else 0.0


def train(model: Evaluator, stream: Stream, recipe: Recipe, device: torch.device, started: float) -> State:
    """Run both phases; returns the averaged weights."""
    optimizer, average = optimizer_for(model, recipe), Average(model, recipe.average)
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    phase: Synchronized[int] = multiprocessing.Value("i", 0)
    batches = Batches(stream, recipe.shrink, phase)
    loader = DataLoader(batches, None, num_workers=recipe.workers, prefetch_factor=2 if recipe.workers else None)
    begun, tokens = time.monotonic(), 0
    for step, batch in enumerate(loader):
        done = step / recipe.steps if recipe.steps else (time.monotonic() - begun) / recipe.seconds
        if done >= 1:
            break
        phase.value = int(done >= recipe.synthetic)
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * rate_at(done, recipe.warm_up)
        outputs, targets = forward(model.working_copy(kind), batch, device, recipe.dropout)
        parts = losses(outputs, targets)
        optimizer.zero_grad(set_to_none=True)
        total(parts).backward()
        nn.utils.clip_grad_norm_([value for value in model.parameters() if value.requires_grad], recipe.clip)
        optimizer.step()
        average.update(model)
        tokens += batch.tokens
        if step % 100 == 0:
            shown = {name: round(value.item(), 3) for name, value in parts.items()}
            pace = tokens / (time.monotonic() - begun) / 1e6
            say(started, f"step {step} done {done:.3f} {tokens / 1e6:.0f} M tokens, {pace:.2f} M/s, {shown}")
    return average.state()


def stream_from(prepared: Prepared, recipe: Recipe, started: float) -> Stream:
    """All sources with their negatives."""
    lists = load_lists(prepared.folder, prepared.collection)
    near = neighbours(prepared)
    sources = real_sources(prepared, lists, near)
    say(started, "negatives found")
    sources |= synthetic_sources(prepared, lists, near, recipe.synthetic_passages, recipe.seed)
    say(started, f"questions: { {name: len(source.questions) for name, source in sources.items()} }")
    return Stream(sources, prepared.table, recipe.seed)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--minilm", type=Path, default=MINILM)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=400.0, help="length of the training itself")
    parser.add_argument("--steps", type=int, help="count steps instead of seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--start", type=Path, help="weights of an earlier run, or an ONNX file, to go on from: no synthetic phase"
    )
    parser.add_argument("--base", type=Path, help="an ONNX file whose encoder is the start; MiniLM's by default")
    parser.add_argument("--rate", type=float, help="the highest; 1.2e-4 with --start, 1.8e-4 without")
    parser.add_argument("--shrink", type=int, default=1, help="divides the questions in a batch")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--questions", type=int, help="of each set in the evaluation; all by default, none with 0")
    parser.add_argument("--quick", action="store_true", help="few synthetic questions, no workers, a short evaluation")
    options = parser.parse_args(arguments)
    # Millions of small objects live to the end; looking for garbage among them costs minutes, in every worker again.
    gc.disable()
    started = time.monotonic()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    recipe = Recipe(seconds=options.seconds, steps=options.steps, seed=options.seed, workers=options.workers)
    recipe = replace(recipe, shrink=options.shrink, rate=options.rate or recipe.rate, dropout=options.dropout)
    if options.start:
        recipe = replace(recipe, synthetic=0.0, rate=options.rate or 1.2e-4, synthetic_passages=12_000)
    if options.quick:
        recipe = replace(recipe, synthetic_passages=200, workers=0, shrink=24)
    prepared = load_prepared(options.prepared, options.minilm, device, started)
    stream = stream_from(prepared, recipe, started)
    if options.start:
        earlier = read_minilm(options.start) if options.start.is_file() else load_weights(options.start)
        if STEADY not in earlier:  # a table that models share has a file of its own
            earlier[STEADY] = read_minilm(options.base or options.minilm / "model.onnx")[STEADY]
        initial = widened({name: torch.tensor(value) for name, value in earlier.items()})
    else:
        initial = initial_state(read_minilm(options.base or options.minilm / "model.onnx"), recipe.seed)
    model = Evaluator(initial).to(device)
    state = train(model, stream, recipe, device, started)
    kept = {name: value.float().cpu().numpy() for name, value in state.items() if name != STEADY}
    save_weights(kept, options.output)
    say(started, f"trained and saved: {json.dumps(asdict(recipe))}")
    if options.questions == 0:
        return
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    working = {name: value.to(kind) for name, value in state.items()}
    evaluate(in_training(working, prepared, options.questions, quick=options.quick), prepared, options.output, started)


if __name__ == "__main__":
    main()
