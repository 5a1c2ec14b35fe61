"""Cross-encoders: tiny ONNX graphs made here, with the real tokenizer of the package."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import wellread
from wellread.errors import DamagedFile, EmbedderError, UsageError
from wellread.parts import Parts
from wellread.plugins import parse_spec
from wellread.ranking.cross_encoder import CrossEncoder, Options, from_spec
from wellread.settings import Settings
from wellread.types import Passage

pytestmark = pytest.mark.anyio
TOKENIZER = Path(wellread.__file__).parent / "embedding" / "weights" / "all-minilm-l6-v2" / "tokenizer.json"


def graph(outputs: int, sign: float = 1.0, name: str = "attention_mask") -> Any:
    """Scores a pair by its number of tokens: easy to predict, sees padding if masks are wrong."""
    nodes = [
        helper.make_node("Cast", [name], ["m"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["m", "axis"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "sign"], ["one"]),
        helper.make_node("Neg", ["one"], ["minus"]),
        helper.make_node("Concat", ["minus", "one", "one"][-outputs:] if outputs != 2 else ["minus", "one"], ["logits"], axis=1),
        helper.make_node("Shape", ["input_ids"], ["unused"]),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "w"]) for n in dict.fromkeys(("input_ids", name))]
    constants = [
        helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        helper.make_tensor("sign", TensorProto.FLOAT, [1], [sign]),
    ]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", outputs])
    made = helper.make_model(
        helper.make_graph(nodes, "g", inputs, [out], constants), opset_imports=[helper.make_opsetid("", 20)], ir_version=10
    )
    onnx.checker.check_model(made)
    return made


def folder(path: Path, **kwargs: Any) -> Path:
    path.mkdir(exist_ok=True)
    onnx.save(graph(**kwargs), path / "model.onnx")
    shutil.copy(TOKENIZER, path / "tokenizer.json")
    return path


def kit() -> Parts:
    return Parts(Settings(), environ={})


PASSAGES = [Passage(str(n), "moon " * n, title="t") for n in (3, 1, 40, 2)]


@pytest.mark.parametrize("outputs", [1, 2])
async def test_scores_come_in_the_order_of_the_passages(tmp_path: Path, outputs: int) -> None:
    encoder = from_spec(parse_spec(f"onnx:{folder(tmp_path, outputs=outputs)}"), kit())
    scores = await encoder.rerank("moon?", PASSAGES)
    assert sorted(range(4), key=lambda n: -scores[n]) == [2, 0, 3, 1]
    assert scores[0] - scores[1] == (2 if outputs == 1 else 4)  # two tokens more, padding not counted


async def test_long_passages_are_cut_not_the_question(tmp_path: Path) -> None:
    encoder = from_spec(parse_spec(f"onnx:{folder(tmp_path, outputs=1)}?max_tokens=16"), kit())
    assert await encoder.rerank("moon?", [Passage("x", "moon " * 500)]) == [16.0]
    assert await encoder.rerank("moon?", []) == []


async def test_the_kit_hands_it_out(tmp_path: Path) -> None:
    path = folder(tmp_path, outputs=1)
    assert isinstance(kit().reranker(f"onnx:{path / 'model.onnx'}"), CrossEncoder)


async def test_what_is_no_reranker_is_said(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="3 outputs"):
        await from_spec(parse_spec(f"onnx:{folder(tmp_path / 'a', outputs=3)}"), kit()).rerank("q", PASSAGES)
    with pytest.raises(EmbedderError, match="does not know: odd"):
        await from_spec(parse_spec(f"onnx:{folder(tmp_path / 'b', outputs=1, name='odd')}"), kit()).rerank("q", PASSAGES)
    with pytest.raises(UsageError, match="needs a folder"):
        from_spec(parse_spec("onnx"), kit())
    with pytest.raises(UsageError, match="at least 8"):
        from_spec(parse_spec(f"onnx:{tmp_path / 'a'}?max_tokens=1"), kit())


async def test_damaged_files_are_said(tmp_path: Path) -> None:
    path = folder(tmp_path, outputs=1)
    (path / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(DamagedFile, match="tokenizer"):
        await CrossEncoder(path / "model.onnx", path / "tokenizer.json", Options()).rerank("q", PASSAGES)
    (path / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(DamagedFile, match="loaded"):
        await CrossEncoder(path / "model.onnx", path / "tokenizer.json").rerank("q", PASSAGES)
