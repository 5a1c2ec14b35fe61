"""Step 2, on a machine with a GPU: training; minutes. On a CPU `--steps 2 --workers 0` runs the same code.

    python -m training.verifier.train --prepared PREPARED.json.xz --start src/wellread/ranking/weights/evaluator.onnx --output RUN

Writes the averaged weights in float16 without the table of words, which stays as it was, and what they say of the sentences set
aside, now and then, in the log.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from training.evaluator.minilm import read_minilm
from training.evaluator.model import Evaluator, Packed, State
from training.evaluator.tokens import load_tokenizer
from training.evaluator.train import Average, rate_at
from training.evaluator.weights import load_weights, save_weights
from training.verifier.batches import Batch, Builder
from training.verifier.cases import MIXES, Drawer, Prepared, load, people_said, set_aside
from training.verifier.claims import Case
from training.verifier.curves import area, curve
from training.verifier.network import WORDS, deepened, initial, losses, total, verify
from training.verifier.prepare import FIT

from training import mpnet

ROOT = Path(__file__).resolve().parents[2]
MINILM = ROOT / "src/wellread/embedding/weights/all-minilm-l6-v2"
TOKENIZER = MINILM / "tokenizer.json"
STEADY = {WORDS, mpnet.BIAS}


@dataclass(frozen=True, slots=True)
class Recipe:
    seconds: float = 170.0
    steps: int | None = None
    rate: float = 3e-4
    warm_up: float = 0.05
    decay: float = 0.05
    dropout: float = 0.15
    average: float = 0.998
    seed: int = 1
    workers: int = 5
    shrink: int = 1  # divides the cases in a step
    mix: str = "even"
    leave: int = FIT  # the fold of labelled claims that is not trained on; 0: all are but those for the report


class Batches(IterableDataset[Batch]):
    """Each worker draws its own."""

    def __init__(self, prepared: Prepared, recipe: Recipe) -> None:
        self._prepared, self._recipe = prepared, recipe
        self._mix = {kind: max(1, count // recipe.shrink) for kind, count in MIXES[recipe.mix].items()}

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        drawer = Drawer(self._prepared, self._recipe.seed * 1000 + (worker.id if worker else 0), self._recipe.leave)
        builder = Builder(load_tokenizer(TOKENIZER))
        for _ in itertools.count():
            yield builder.batch(drawer.step(self._mix))


def optimizer_for(model: Evaluator, recipe: Recipe) -> torch.optim.AdamW:
    values = {name.replace("|", "."): value for name, value in model.values.items()}
    for name in STEADY & values.keys():
        values.pop(name).requires_grad_(False)
    plain = [value for name, value in values.items() if value.ndim < 2 or "embeddings" in name]
    matrices = [value for name, value in values.items() if value.ndim >= 2 and "embeddings" not in name]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), eps=1e-6, fused=matrices[0].is_cuda)


@torch.no_grad()
def said_of(state: State, cases: Sequence[Case], builder: Builder, device: torch.device) -> NDArray[np.float32]:
    """For each claim its logit and the highest of its words that are not carried."""
    found: list[NDArray[np.float32]] = []
    for start in range(0, len(cases), 64):
        batch = builder.batch(cases[start : start + 64])
        packed = Packed.of(batch.ids, batch.claim_lengths, device)
        said = verify(state, packed)
        inside = (packed.places > 0) & (packed.places < packed.question_lengths[packed.rows] - 1)
        words = packed.padded(said.astray.masked_fill(~inside, -20.0), -20.0).amax(1)
        found.append(torch.stack([said.carried, words], 1).float().cpu().numpy())
    return np.concatenate(found)


def agreement(
    state: State, people: Mapping[str, Sequence[Case]], builder: Builder, device: torch.device
) -> dict[str, tuple[float, float]]:
    """By labelled set: the area under the curve, and the best balanced accuracy that any threshold gives."""
    found: dict[str, tuple[float, float]] = {}
    for name, cases in people.items():
        scores = said_of(state, cases, builder, device)[:, 0]
        carried = np.array([case.claims[0].carried for case in cases])
        kept, flagged = ((scores[part][:, None] >= scores[None, :]).mean(0) for part in (carried, ~carried))
        found[name] = (round(area(scores[carried], scores[~carried]), 3), round(float((kept + 1 - flagged).max() / 2), 3))
    return found


def started(path: Path) -> State:
    """The encoder to begin with: an ONNX file of this project, or the teacher's own file."""
    if path.suffix == ".safetensors":
        return mpnet.read_mpnet(path)
    return {name: torch.from_numpy(np.array(value)) for name, value in read_minilm(path).items()}


def train(
    model: Evaluator, prepared: Prepared, recipe: Recipe, device: torch.device, every: float, teacher: State | None = None
) -> State:
    optimizer, average = optimizer_for(model, recipe), Average(model, recipe.average)
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    batches = Batches(prepared, recipe)
    loader = DataLoader(batches, None, num_workers=recipe.workers, prefetch_factor=4 if recipe.workers else None)
    aside, builder = set_aside(prepared), Builder(load_tokenizer(TOKENIZER))
    people = people_said(prepared, recipe.leave or FIT)
    begun = looked = time.monotonic()
    rows = 0
    for step, batch in enumerate(loader):
        done = step / recipe.steps if recipe.steps else (time.monotonic() - begun) / recipe.seconds
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * rate_at(done, recipe.warm_up)
        packed = Packed.of(batch.ids, batch.claim_lengths, device)
        with torch.no_grad():
            taught = None if teacher is None else verify(teacher, packed).carried
        parts = losses(verify(model.working_copy(kind), packed, recipe.dropout), packed, batch, device, taught)
        optimizer.zero_grad(set_to_none=True)
        total(parts).backward()
        nn.utils.clip_grad_norm_([value for value in model.parameters() if value.requires_grad], 1.0)
        optimizer.step()
        average.update(model)
        rows += len(batch.ids)
        if step == 0 or time.monotonic() - looked >= every:
            looked = time.monotonic()
            shown = {name: round(value.item(), 3) for name, value in parts.items()}
            said = said_of({name: value.to(kind) for name, value in average.state().items()}, aside, builder, device)
            by_people = agreement({name: value.to(kind) for name, value in average.state().items()}, people, builder, device)
            head = f"{looked - begun:.0f} s, step {step}, {rows} rows, {shown}, {by_people}"
            print(head, json.dumps(curve(aside, said[:, 0])), flush=True)
    said = said_of({name: value.to(kind) for name, value in average.state().items()}, aside, builder, device)
    for name, score in (("carried", said[:, 0]), ("words", -said[:, 1]), ("both", said[:, 0] - said[:, 1])):
        print(f"end, {rows} rows, {name}", json.dumps(curve(aside, score)), flush=True)
    return average.state()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="an ONNX file of this project, or the teacher's safetensors")
    parser.add_argument("--words", type=Path, help="whose table of words is shared; the start's own by default")
    parser.add_argument(
        "--teacher", type=Path, nargs=2, metavar=("START", "RUN"), help="a larger run whose opinion is learned, too"
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=170.0)
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two looks at what was set aside")
    for name, kind in (
        ("steps", int),
        ("rate", float),
        ("dropout", float),
        ("seed", int),
        ("workers", int),
        ("shrink", int),
        ("leave", int),
    ):
        parser.add_argument(f"--{name}", type=kind)
    parser.add_argument("--mix", choices=MIXES, help="what a step is made of")
    parser.add_argument("--deepen", type=int, default=1, help="how often each layer of the start stands in the model")
    options = parser.parse_args(arguments)
    given = {name: getattr(options, name) for name in ("steps", "rate", "dropout", "seed", "workers", "shrink", "leave", "mix")}
    recipe = replace(Recipe(seconds=options.seconds), **{name: value for name, value in given.items() if value is not None})
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    state = started(options.start)
    if options.words:
        state[WORDS] = torch.from_numpy(read_minilm(options.words)[WORDS])
    model = Evaluator(initial(deepened(state, options.deepen), seed=1)).to(device)  # the same in all runs: so these have a mean
    teacher: State | None = None
    if options.teacher:
        start, run = options.teacher
        learned = {name: torch.from_numpy(value) for name, value in load_weights(run).items()}
        kind = torch.bfloat16 if device.type == "cuda" else torch.float32
        teacher = {name: value.to(device, kind) for name, value in (started(start) | learned).items()}
    trained = train(model, load(options.prepared), recipe, device, options.every, teacher)
    kept = {name: value.float().cpu().numpy() for name, value in trained.items() if name not in STEADY}
    save_weights(kept, options.output)


if __name__ == "__main__":
    main()
