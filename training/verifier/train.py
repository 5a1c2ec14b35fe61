"""Step 2, on a machine with a GPU: claims made while the model learns, minutes.

    python -m training.verifier.train --output RUN --seconds 240

Claims are made of the library's articles and of made-up worlds, so that nothing but this repository is needed.
Starts from the evaluator's weights. The model says of a claim and its passages whether they carry it (`relevance`), and of
each token of the claim whether it is what they do not carry (`evidence`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from training.evaluator.minilm import read_minilm
from training.evaluator.model import Evaluator, Packed, State, judge, widened
from training.evaluator.tokens import load_tokenizer
from training.evaluator.train import Average, Recipe, optimizer_for, rate_at
from training.evaluator.weights import save_weights
from training.verifier.claims import Claim, claims
from training.verifier.facts import Sorts, names, sentences_of
from training.verifier.wording import led_in
from training.verifier.worlds import world

from wellread.effort import Windows
from wellread.ranking.inputs import Ids, Tokens, build_row

SHIPPED = Path(__file__).parents[2] / "src/wellread/ranking/weights/evaluator.onnx"
TOKENIZER = Path(__file__).parents[2] / "src/wellread/embedding/weights/all-minilm-l6-v2/tokenizer.json"
DOCS = Path(__file__).parents[2] / "docs"
LIBRARY = Path(__file__).parents[2] / "src/wellread/library/index/segments"
WINDOWS = Windows(question=96, alone=300, known=190, judged=190)
BATCH = 60_000  # tokens
LED_IN = 0.12  # of the claims
SMOOTH = 0.03  # of the labels, which are not all right


class Batch(NamedTuple):
    """Rows of tokens. `true` has the row of the true claim that each was made from; `wrong` marks tokens of claims."""

    ids: list[Ids]
    lengths: list[int]
    carried: NDArray[np.float32]
    true: NDArray[np.int64]
    wrong: NDArray[np.float32]
    weighed: NDArray[np.float32]


class Made(IterableDataset[Batch]):
    """Batches of claims without end; each worker draws its own."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], sorts: Sorts, seed: int, worlds: float) -> None:
        self._rows, self._sorts, self._seed, self._worlds = rows, sorts, seed, worlds
        named = {fact.text for row in rows for fact in names(row["text"])}
        people, places = ([one for one in sorted(named) if sorts.of(one) == sort] for sort in ("person", "place"))
        others = [one for one in sorted(named) if sorts.of(one) == "other" and " " in one]
        self._names = {"PQ": people, "LM": places, "OU": others, "WV": others}

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        number = worker.id if worker else 0
        tokenizer, rng = load_tokenizer(TOKENIZER), random.Random(self._seed * 1000 + number)

        def ids(text: str) -> Ids:
            return np.array(tokenizer.encode(text, add_special_tokens=False).ids, np.int32)

        made: list[_Row] = []
        while True:
            for claim, *chain in self._drawn(rng):
                if rng.random() < LED_IN:
                    claim = claim._replace(true=led_in(claim.true, rng), untrue=tuple(led_in(one, rng) for one in claim.untrue))
                _add(made, claim, [Tokens(ids(title), ids(text)) for title, text in chain], ids)
            if sum(len(row.ids) for row in made) > BATCH:
                yield _batched(made)
                made = []

    def _drawn(self, rng: random.Random) -> Iterator[tuple[Claim, *tuple[tuple[str, str], ...]]]:
        """The claims of one passage, with the passages that they cite."""
        place = rng.randrange(len(self._rows))
        other = (self._rows[place]["title"], self._rows[place]["text"])
        if rng.random() < self._worlds:
            made = world(rng, sentences_of(other[1]), self._names)
            for true, untrue in made.claims:
                yield Claim(true, untrue, -1, -1), (made.title, made.text)
            return
        for claim in claims(place, self._rows, self._sorts, rng.randrange(1 << 30)):
            if claim.beside < 0:
                yield claim, other
                continue
            beside = self._rows[claim.beside]["title"], self._rows[claim.beside]["text"]
            first, second = rng.sample([other, beside], 2)
            yield claim, first, second


class _Row(NamedTuple):
    ids: Ids
    length: int  # of the claim, with [CLS] and [SEP]
    carried: bool
    true: int
    changed: tuple[int, int]


def _add(made: list[_Row], claim: Claim, chain: Sequence[Tokens], ids: Callable[[str], Ids]) -> None:
    first, true = len(made), ids(claim.true)
    for place, text in enumerate((claim.true, *claim.untrue)):
        said = true if not place else ids(text)
        row = build_row(said, chain, WINDOWS)
        made.append(_Row(row.ids, row.question_length, not place, first, _changed(true, said) if place else (0, 0)))


def _changed(true: Ids, said: Ids) -> tuple[int, int]:
    """The tokens of a claim that are not those of the true one."""
    shared = min(len(true), len(said))
    before = next((n for n in range(shared) if true[n] != said[n]), shared)
    behind = next((n for n in range(shared - before) if true[-1 - n] != said[-1 - n]), shared - before)
    return before, max(before + 1, len(said) - behind)


def _batched(made: Sequence[_Row]) -> Batch:
    wrong = [np.zeros(len(row.ids), np.float32) for row in made]
    weighed = [np.zeros(len(row.ids), np.float32) for row in made]
    for n, row in enumerate(made):
        start, end = row.changed
        wrong[n][1 + start : min(1 + end, row.length - 1)] = float(end > 0)
        weighed[n][1 : row.length - 1] = 1.0
    return Batch(
        [row.ids for row in made],
        [row.length for row in made],
        np.array([row.carried for row in made], np.float32),
        np.array([row.true for row in made]),
        np.concatenate(wrong),
        np.concatenate(weighed),
    )


def losses(state: State, batch: Batch, device: torch.device, dropout: float) -> dict[str, torch.Tensor]:
    judged = judge(state, Packed.of(batch.ids, batch.lengths, device), dropout)
    carried, true, wrong, weighed = (
        torch.from_numpy(part).to(device) for part in (batch.carried, batch.true, batch.wrong, batch.weighed)
    )
    plain = functional.binary_cross_entropy_with_logits(judged.relevance, carried * (1 - 2 * SMOOTH) + SMOOTH)
    untrue = carried == 0
    order = functional.softplus(judged.relevance[untrue] - judged.relevance[true[untrue]] + 1.0).mean()
    marked = functional.binary_cross_entropy_with_logits(judged.evidence, wrong, weight=weighed, reduction="sum") / weighed.sum()
    return {"carried": plain, "order": order, "wrong": marked}


def _unchanged(batch: Batch) -> Batch:
    return batch


def train(model: Evaluator, made: Made, recipe: Recipe, device: torch.device) -> State:
    optimizer, average = optimizer_for(model, recipe), Average(model, recipe.average)
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    loader = DataLoader(
        made, None, collate_fn=_unchanged, num_workers=recipe.workers, prefetch_factor=4 if recipe.workers else None
    )
    begun, rows = 0.0, 0
    for step, batch in enumerate(loader):
        begun = begun or time.monotonic()
        done = step / recipe.steps if recipe.steps else (time.monotonic() - begun) / recipe.seconds
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * rate_at(done, recipe.warm_up)
        parts = losses(model.working_copy(kind), batch, device, recipe.dropout)
        optimizer.zero_grad(set_to_none=True)
        (parts["carried"] + 0.5 * parts["order"] + 3.0 * parts["wrong"]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        average.update(model)
        rows += len(batch.ids)
        if step % 200 == 0:
            print(
                f"step {step} done {done:.3f} rows {rows}",
                {name: round(value.item(), 4) for name, value in parts.items()},
                flush=True,
            )
    return average.state()


def library() -> Iterator[dict[str, Any]]:
    """The passages of the library in the package, and the sections of the documentation."""
    for path in sorted(DOCS.rglob("*.md")):
        for section in re.split(r"^#+ ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            title, _, text = section.partition("\n")
            prose = " ".join(line for line in text.splitlines() if re.match(r"[A-Z`*]", line) and "|" not in line)
            if len(prose) > 200:
                yield {"title": title, "text": prose[:1200]}
    for path in LIBRARY.glob("*/texts.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            _, title, text, *_ = json.loads(line)
            yield {"title": title, "text": text}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=float, default=0.5, help="the share of passages that are made up")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240.0)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    options.output.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = list(library())
    sorts = Sorts((row["title"], row["text"]) for row in rows)
    recipe = Recipe(seconds=options.seconds, steps=options.steps, rate=options.rate, workers=options.workers, seed=options.seed)
    model = Evaluator(widened({name: torch.from_numpy(value.copy()) for name, value in read_minilm(SHIPPED).items()})).to(device)
    state = train(model, Made(rows, sorts, recipe.seed, options.worlds), recipe, device)
    save_weights({name: value.float().cpu().numpy() for name, value in state.items()}, options.output)


if __name__ == "__main__":
    main()
