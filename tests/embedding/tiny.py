"""Embedding models small enough to check by hand: every word has a fixed vector, the model looks it up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "query", "passage", ":"]
TABLE = np.random.default_rng(3).normal(size=(len(WORDS), 4)).astype(np.float32)
TABLE[0] = 99  # padding that gets into a vector is noticed


def unit(*words: str) -> np.ndarray:
    """What mean pooling makes of these words between [CLS] and [SEP]."""
    mean = TABLE[[WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]].mean(axis=0)
    return mean / np.linalg.norm(mean)


def tiny_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_padding(length=32)  # what some published files contain, and nobody wants
    return tokenizer


def tiny_model(
    folder: Path,
    *,
    file: str = "model.onnx",
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    kind: int = TensorProto.INT64,
    output: str = "last_hidden_state",
    pooled: bool = False,
    files: Mapping[str, object] | None = None,
) -> Path:
    """A folder with a model, its tokenizer and, in `files`, whatever JSON a real one has beside them."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    if pooled:  # the second position's vector: not what any pooling would give
        nodes.append(helper.make_node("Gather", ["states", "second"], [output], axis=1))
    else:
        nodes.append(helper.make_node("Identity", ["states"], [output]))
    for name in inputs[1:]:  # a model that is fed nothing for an input it declares fails
        nodes.append(helper.make_node("Identity", [name], [f"{name}_seen"]))
    shape = ["batch", 4] if pooled else ["batch", "tokens", 4]
    seen = [helper.make_tensor_value_info(f"{name}_seen", kind, ["batch", "tokens"]) for name in inputs[1:]]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, ["batch", "tokens"]) for name in inputs],
        [*seen, helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(TABLE, "table"), numpy_helper.from_array(np.array(1), "second")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), folder / file)
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder
