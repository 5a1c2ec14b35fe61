"""The script that made the weights, and what it left behind."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import onnx
import pytest
from tokenizers import Tokenizer

from wellread.embedding.onnx import SHIPPED

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    found = importlib.util.spec_from_file_location("convert_embedder", ROOT / "scripts" / "convert_embedder.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_other_weights_are_refused(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="expected one model"):
        script.original_weights(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(SystemExit, match="sha256 differs"):
        script.original_weights(tmp_path)


def test_the_library_has_sentences_enough(script: ModuleType) -> None:
    sentences = script.library_sentences()
    assert len(set(sentences)) == 200
    assert not any("[[" in sentence or "\n" in sentence for sentence in sentences)


def test_the_tokenizer_neither_pads_nor_cuts(script: ModuleType, tmp_path: Path) -> None:
    shipped = (SHIPPED / "tokenizer.json").read_text(encoding="utf-8")
    padded = json.loads(shipped) | {"padding": {"strategy": {"Fixed": 128}}, "truncation": {"max_length": 128}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(padded), encoding="utf-8")
    assert script.plain_tokenizer(tmp_path / "tokenizer.json") == shipped
    assert len(Tokenizer.from_str(shipped).encode("word " * 300).ids) == 302


def test_the_graph_runs_on_any_processor() -> None:
    model = onnx.load(SHIPPED / "model.onnx")
    assert {(node.domain, node.op_type) for node in model.graph.node if node.domain} == {("com.microsoft", "MatMulNBits")}
    assert [value.name for value in model.graph.input] == ["input_ids", "attention_mask"]
    assert [value.name for value in model.graph.output] == ["embedding"]


def test_the_card_names_origin_licence_and_checksums(script: ModuleType) -> None:
    card = (SHIPPED / "MODEL_CARD.md").read_text(encoding="utf-8")
    sums = json.loads((SHIPPED / "config.json").read_text(encoding="utf-8"))["sha256"]
    for word in ("sentence-transformers/all-MiniLM-L6-v2", "Apache-2.0", script.ORIGINAL_SHA256, *sums.values()):
        assert word in card
