"""Fits `….by_tensor.npz`, which say how the package's models run with int8 products over whole layers.

    python scripts/fit_arithmetic.py DATA [--texts 250] [--only embedder|evaluator|verifier]

DATA holds folders with `corpus.jsonl.gz` and `questions.jsonl.gz`. Every second passage (by a hash of its id) is read; the
others are for measuring (`benchmarks/arithmetic.py`). What is written are ranges of activations, channel by channel: no text.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper

from wellread.embedding.arithmetic import FIT
from wellread.embedding.forms import FITTED_TO, Fit, Floats, dense_weight, layer_of
from wellread.embedding.onnx import SHIPPED as EMBEDDER
from wellread.embedding.onnx import OnnxEmbedder, Options
from wellread.embedding.onnx_file import Node, read_graph
from wellread.ranking import verifier
from wellread.ranking.evaluator import MODEL, TOKENIZER
from wellread.ranking.evaluator import SHIPPED as EVALUATOR
from wellread.ranking.judge import Chain, Judge, opened
from wellread.text.sentences import statements
from wellread.types import Passage

Row = dict[str, Any]


def fitted(ranges: Mapping[str, tuple[Floats, Floats]], nodes: Sequence[Node], constants: Mapping[str, NDArray[Any]]) -> Fit:
    """A fit for these dense layers, from the lowest and highest value of each channel of what they read."""
    out: dict[str, NDArray[Any]] = {}
    for node in nodes:
        name, weight = layer_of(node), dense_weight(node, constants)
        lowest, highest = ranges[name]
        out |= {f"{name}.{part}": value for part, value in _fitted_layer(name, weight, lowest, highest).items()}
    return out


APART = 32  # channels of a feed-forward layer that are computed in float32
_EVEN, _EVEN_INNER = 0.85, 0.3  # how far ranges are evened out: 0 not at all, 1 entirely


def _fitted_layer(name: str, weight: Floats, lowest: Floats, highest: Floats) -> dict[str, NDArray[Any]]:
    inner = name.endswith(".output.dense") and ".attention." not in name
    shift = np.zeros_like(lowest) if inner else (lowest + highest) / 2
    reach = np.maximum(np.maximum(highest - shift, shift - lowest), np.float32(1e-2))
    largest = np.abs(weight).max(axis=0)
    level = reach**_EVEN_INNER if inner else reach**_EVEN / largest ** (1 - _EVEN)
    apart = np.argsort(-(reach * largest))[:APART] if inner else np.array([], np.int64)
    rest = np.setdiff1d(np.arange(len(reach)), apart)
    level = (level / np.exp(np.log(level[rest]).mean())).astype(np.float16).astype(np.float32)
    shift = shift.astype(np.float16).astype(np.float32)
    low, high = (((edge - shift) / level)[rest] for edge in (lowest, highest))
    bottom, top = min(float(low.min()), 0.0), max(float(high.max()), 0.0)
    scale = np.float32((top - bottom) / 255)
    parts = {"shift": shift, "level": level, "scale": scale, "zero": np.uint8(round(-bottom / float(scale)))}
    if inner:
        parts["apart"] = np.sort(apart).astype(np.int16)
    if name.endswith(".qkv"):
        parts["passed"] = np.uint8(1)
    return {part: np.asarray(value) for part, value in parts.items()}


def rows(folder: Path, name: str, held_out: bool) -> list[Row]:
    """One half of a set's rows, shuffled the same way each time."""
    path = folder / f"{name}.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    chosen = [row for row in found if zlib.crc32(str(row["id"]).encode()) % 2 == int(held_out)]
    random.Random(1).shuffle(chosen)
    return chosen


def sets(data: Path) -> list[Path]:
    return sorted(path.parent for path in data.glob("*/corpus.jsonl.gz"))


def passages(data: Path, count: int, *, held_out: bool) -> list[Passage]:
    """`count` passages of every set."""
    return [one for folder in sets(data) for one in passages_of(folder, count, held_out=held_out)]


def passages_of(folder: Path, count: int, *, held_out: bool) -> list[Passage]:
    chosen = rows(folder, "corpus", held_out)[:count]
    return [Passage(str(row["id"]), str(row["text"]), str(row.get("title") or "")) for row in chosen]


def jobs(data: Path, count: int, *, held_out: bool) -> list[tuple[str, list[Chain]]]:
    """Questions of every set with passages of the same set, alone and in pairs."""
    out: list[tuple[str, list[Chain]]] = []
    for folder in sets(data):
        whole = {row["id"]: row for row in [*rows(folder, "corpus", False), *rows(folder, "corpus", True)]}
        others = list(whole)
        for number, question in enumerate(rows(folder, "questions", held_out)[:count]):
            ids = [*(i for i in question["gold"] if i in whole), *others[number * 5 : number * 5 + 5]][:5]
            made = [Passage(str(i), str(whole[i]["text"]), str(whole[i].get("title") or "")) for i in ids]
            chains: list[Chain] = [*((one,) for one in made), *((made[0], other) for other in made[1:3])]
            out.append((str(question["question"]), chains))
    return out


def claims(data: Path, count: int) -> list[tuple[str, list[Passage]]]:
    """Sentences of every set's passages, each beside its own passage, alone or among others."""
    out: list[tuple[str, list[Passage]]] = []
    for folder in sets(data):
        found = passages_of(folder, count, held_out=False)
        for number, one in enumerate(found):
            start, end = random.Random(number).choice(statements(one.text) or [(0, len(one.text))])
            out.append((one.text[start:end], [*found[number + 1 : number + 3], one] if number % 2 else [one]))
    return out


class Watched:
    """A model's session that notes the range of each channel that its dense layers read."""

    def __init__(self, model: Path) -> None:
        self._fit = model.with_suffix(FIT)
        content = model.read_bytes()
        self.checksum = hashlib.sha256(content).hexdigest()
        self.graph = read_graph(content)
        self.nodes = [node for node in self.graph.nodes if node.kind == "MatMulNBits"]
        loaded = onnx.load(str(model))
        for name in dict.fromkeys(node.inputs[0] for node in self.nodes):
            loaded.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
        self._session = onnxruntime.InferenceSession(loaded.SerializeToString(), providers=["CPUExecutionProvider"])
        self.ranges: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}

    def get_inputs(self) -> Any:
        return self._session.get_inputs()

    def get_outputs(self) -> Any:
        return self._session.get_outputs()

    def run(self, names: list[str], feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        read = [node.inputs[0] for node in self.nodes]
        out = self._session.run([*names, *dict.fromkeys(read)], feed)
        seen = dict(zip(dict.fromkeys(read), out[len(names) :], strict=True))
        there = feed["attention_mask"].astype(bool)
        for node in self.nodes:
            values = seen[node.inputs[0]]
            values = values[there] if values.ndim == 3 else values
            low, high = values.min(axis=0), values.max(axis=0)
            before = self.ranges.get(layer_of(node), (low, high))
            self.ranges[layer_of(node)] = np.minimum(low, before[0]), np.maximum(high, before[1])
        return out[: len(names)]

    def save(self) -> None:
        layers = [node for node in self.nodes if ".layer." in layer_of(node)]
        fit = {**fitted(self.ranges, layers, self.graph.constants), FITTED_TO: np.array(self.checksum)}
        np.savez_compressed(self._fit, **fit)
        print(f"{self._fit}: {len(layers)} layers, {self._fit.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=250, help="passages of every set")
    parser.add_argument("--only", choices=("embedder", "evaluator", "verifier"))
    options = parser.parse_args()
    if options.only in (None, "embedder"):
        watched = Watched(EMBEDDER / "model.onnx")
        embedder = OnnxEmbedder(options=Options(arithmetic="block"))
        embedder.load()._session = watched  # pyright: ignore[reportPrivateUsage]
        texts = [f"{p.title}. {p.text}" for p in passages(options.data, options.texts, held_out=False)]
        embedder.embed_now(texts, kind="query")
        watched.save()
    if options.only in (None, "evaluator"):
        watched = Watched(EVALUATOR / MODEL)
        judge = Judge(EVALUATOR / MODEL, TOKENIZER, 1)
        _, tokenizer = judge._open()  # pyright: ignore[reportPrivateUsage]
        judge._opened = watched, tokenizer  # pyright: ignore[reportPrivateUsage]
        for question, chains in jobs(options.data, max(1, options.texts // 7), held_out=False):
            judge.judge(question, chains)
        watched.save()
    if options.only in (None, "verifier"):
        watched = Watched(verifier.SHIPPED / verifier.MODEL)
        reader = verifier.Verifier(threads=1)
        reader._opened = watched, opened(verifier.SHIPPED / verifier.MODEL, TOKENIZER)[1]  # pyright: ignore
        for claim, cited in claims(options.data, max(1, options.texts // 12)):
            reader.weigh(claim, cited)
        watched.save()


if __name__ == "__main__":
    main()
