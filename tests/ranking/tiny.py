"""An evaluator small enough to check by hand: what it says of a row follows from single words that it knows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from wellread.ranking.evaluator import MODEL, SHIPPED
from wellread.ranking.inputs import CLS, DOT, PAD, SEP

UNKNOWN, FIRST = 1, 2000
KNOWS = 9.0  # the logit of what it is sure of


def tiny_evaluator(folder: Path, first: str, last: str, languages: Sequence[str]) -> Path:
    """A folder with an evaluator whose answers begin with one word and end with another, wherever these stand."""
    vocabulary = {"[PAD]": PAD, "[UNK]": UNKNOWN, "[CLS]": CLS, "[SEP]": SEP, ".": DOT, first: FIRST, last: FIRST + 1}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    onnx.save(_model(), folder / MODEL)
    fitted = json.loads((SHIPPED / "calibration.json").read_text(encoding="utf-8"))
    own = {"weights": fitted["weights"], "answers": fitted["answers"], "languages": list(languages)}
    (folder / "calibration.json").write_text(json.dumps(own), encoding="utf-8")
    return folder


def _model() -> onnx.ModelProto:
    starts, ends = (np.full(FIRST + 2, -KNOWS, np.float32) for _ in range(2))
    starts[FIRST] = ends[FIRST + 1] = KNOWS
    kinds = np.array([[-KNOWS, KNOWS, -KNOWS, -KNOWS, -KNOWS]], np.float32)  # none, span, yes, no, told
    constants = {
        "starts of": starts,
        "ends of": ends,
        "a span": kinds,
        "tokens": np.array([1], np.int64),
        "rows": np.array([0], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["starts of", "input_ids"], ["starts"]),
        helper.make_node("Gather", ["ends of", "input_ids"], ["ends"]),
        helper.make_node("ReduceMax", ["starts", "tokens"], ["relevance"], keepdims=0),
        helper.make_node("Add", ["relevance", "floor"], ["early"]),
        helper.make_node("Equal", ["relevance", "relevance"], ["all"]),  # every row is read on
        helper.make_node("NonZero", ["all"], ["numbers"]),
        helper.make_node("Squeeze", ["numbers", "rows"], ["going on"]),
        helper.make_node("Cast", ["going on"], ["kept"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["relevance", "tokens"], ["column"]),
        helper.make_node("Sub", ["column", "column"], ["nothing"]),
        helper.make_node("Add", ["nothing", "a span"], ["kinds"]),
        helper.make_node("Identity", ["starts"], ["evidence"]),
        helper.make_node("Identity", ["token_type_ids"], ["types"]),
        helper.make_node("Identity", ["attention_mask"], ["mask"]),
    ]
    row = ["batch", "tokens"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, row) for name in ("input_ids", "token_type_ids", "attention_mask")
    ]
    inputs.append(helper.make_tensor_value_info("floor", TensorProto.FLOAT, []))
    shapes = {
        "early": ["batch"],
        "kept": ["batch"],
        "relevance": ["batch"],
        "kinds": ["batch", 5],
        "starts": row,
        "ends": row,
        "evidence": row,
    }
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs += [helper.make_tensor_value_info(name, TensorProto.INT64, row) for name in ("types", "mask")]
    known = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
